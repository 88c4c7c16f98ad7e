package query

import (
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of a request for suggestions.
const (
	MaxSuggestions     = 20
	DefaultSuggestions = 10
	MaxSuggestPrefix   = 100 // characters
)

// SuggestRequest requests names and values of dynamic enums as a user types (docs/api.md,
// "Suggestions").
type SuggestRequest struct {
	// Query selects the records by filters.
	Query
	// Fields are the fields whose values are suggested.
	Fields []*catalog.Field
	// Prefix has the words that a suggestion must have, at least one.
	Prefix string
	// Typed are these words in the form of the index. Package search sets them.
	Typed []catalog.TypedWord
	Limit int
	// Workspace is the caller's. A server limits how many of its requests are counted at
	// once.
	Workspace string
}

// Suggestion is a name of a record, or a value of a dynamic enum.
type Suggestion struct {
	Field string `json:"field"`
	// Value is the name, or the most frequent spelling of the value.
	Value string `json:"value"`
	// ID is the record with the name, empty for a value.
	ID string `json:"id,omitzero"`
	// Count is the SuggestCount of the record, or how many records have the value.
	Count int64 `json:"count"`
}

// SuggestRule reads the body of a request for suggestions: the Dataset and Where of its
// Query.
func SuggestRule(d catalog.Dataset) rule.Rule[SuggestRequest] { return suggestRules[d] }

var suggestRules = byDataset(suggestRule)

// suggestRequest is a SuggestRequest while it is read.
type suggestRequest struct {
	request
	field *catalog.Field
	typed string
	limit int
}

func suggestRule(d catalog.Dataset) rule.Rule[SuggestRequest] {
	suggested := suggestFields(d)
	typed := rule.Text(1, MaxSuggestPrefix).
		Example("gar").
		Described("What the user has typed. Each of its words must begin a word of the suggestion, case, accents and typos aside.").
		Check(func(text string) bool { return len(catalog.Words(catalog.Fold(text))) > 0 }, fault.Custom, "has no letter and no digit")
	body := rule.Object(
		rule.Optional(
			"field",
			fieldRule(suggested, ofField(d, catalog.Data, "a field whose values are not suggested")).Described(
				"Suggests only values of this field. By default all names and dynamic enums.",
			),
			func(r *suggestRequest) **catalog.Field { return &r.field },
		),
		rule.Required("prefix", typed, func(r *suggestRequest) *string { return &r.typed }),
		rule.Within(
			rule.OptionalFunc("filters", filtersRule(d, catalog.Data), (*request).add),
			func(r *suggestRequest) *request { return &r.request },
		),
		rule.Optional(
			"limit",
			rule.Integer(1, MaxSuggestions).Default(DefaultSuggestions),
			func(r *suggestRequest) *int { return &r.limit },
		),
		rule.Within(boundTerms, func(r *suggestRequest) *request { return &r.request }),
	)
	return rule.New(schema.Named(
		d.Title()+"SuggestRequest", body.Schema,
	), input.Object, "an object", func(issues *input.Issues, v input.Value, path []string) (SuggestRequest, bool) {
		v = refusePrivate(issues, v, path)
		before := len(*issues)
		read := body.Read(issues, v, path...)
		out := SuggestRequest{Query: Query{Dataset: d, Where: read.where}, Fields: suggested, Prefix: read.typed, Limit: read.limit}
		if read.field != nil {
			out.Fields = []*catalog.Field{read.field}
		}
		return out, len(*issues) == before
	})
}

// suggestFields are the name, if the dataset has a SuggestCount, and the dynamic enums.
func suggestFields(d catalog.Dataset) []*catalog.Field {
	if _, counted := catalog.SuggestCount(d); !counted {
		return DynamicFields(d)
	}
	f := catalog.Headline(d)
	return append([]*catalog.Field{&f}, DynamicFields(d)...)
}

// DynamicFields lists the dynamic enums of a dataset. The list is shared: it must not be
// changed.
func DynamicFields(d catalog.Dataset) []*catalog.Field { return dynamicFields[d] }

var dynamicFields = func() map[catalog.Dataset][]*catalog.Field {
	all := map[catalog.Dataset][]*catalog.Field{}
	for _, d := range catalog.Datasets {
		fields := catalog.FilterFields(d, catalog.Data)
		for i := range fields {
			if fields[i].Dynamic() {
				all[d] = append(all[d], &fields[i])
			}
		}
	}
	return all
}()
