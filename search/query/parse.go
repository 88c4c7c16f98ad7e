package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Parse reads the body of a search request (docs/api.md, "Search requests"). It returns all
// problems as one validation error. It does not check the cursor: only package search can.
func Parse(body input.Value, d catalog.Dataset, base Base) (Query, error) {
	q, err := SearchRule(d, base.Kind).Parse(body)
	q.Base = base
	return q, err
}

// SearchRule is the rule of Parse without the ids of the base.
func SearchRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[Query] {
	return searchRules[base][d]
}

var searchRules = func() map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[Query] {
	all := map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[Query]{catalog.Data: {}, catalog.Book: {}, catalog.View: {}}
	for base, byDataset := range all {
		for _, d := range catalog.Datasets {
			byDataset[d] = searchRule(d, base)
		}
	}
	return all
}()

// byDataset makes the rule of each dataset, once.
func byDataset[T any](make func(catalog.Dataset) rule.Rule[T]) map[catalog.Dataset]rule.Rule[T] {
	all := map[catalog.Dataset]rule.Rule[T]{}
	for _, d := range catalog.Datasets {
		all[d] = make(d)
	}
	return all
}

// request is a search request while it is read.
type request struct {
	Query
	conditions
	inBook, dismissed bool // of a QueueRequest
	join              Join // its Query is not set
}

func searchRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[Query] {
	r := rule.Object(
		slices.Concat(
			conditionFields(d, base, true),
			[]rule.Field[request]{sortField(d, base)},
			pageFields(d, base, MaxLimit),
			textFields(),
		)...,
	)
	r = sortedByRelevance(r, base)
	return rule.Map(r, func(r request) Query {
		r.Query.Dataset, r.Query.Base.Kind, r.Query.Where = d, base, r.where
		return r.Query
	}).Named(baseNames[base] + d.Title() + "SearchRequest")
}

// sortedByRelevance says in the schema of a request that sorting by relevance needs a query.
func sortedByRelevance(r rule.Rule[request], base catalog.BaseKind) rule.Rule[request] {
	if base != catalog.Data {
		return r
	}
	byRelevance := schema.Is("field", RelevanceSort).At("sort")
	byRelevance.Required = []string{"sort"}
	return r.As(r.Schema.When(byRelevance, schema.Requires("query"), nil))
}

// pageFields are the members that select the page of a search, with at most the given
// number of rows.
func pageFields(d catalog.Dataset, base catalog.BaseKind, most int) []rule.Field[request] {
	cursor := schema.Cursor()
	cursor.MinLength = 1
	return []rule.Field[request]{
		rule.Optional(
			"limit",
			rule.Integer(1, most).Default(DefaultLimit).Advise(fault.TooBig, "search_after leads to the next page"),
			func(r *request) *int { return &r.Limit },
		),
		rule.Optional(
			"offset",
			rule.Integer(0, MaxOffset).
				Default(0).
				Described("Does not count beside `search_after`. From 1 on `query` does not search e-mail addresses.").
				Advise(
					fault.TooBig, "search_after leads to any further page: send metadata.search_after of the page before",
				),
			func(r *request) *int { return &r.Offset },
		),
		rule.OptionalFunc("search_after", rule.Nullable(rule.New(
			cursor, input.String, "a cursor, which is metadata.search_after of the page before",
			func(_ *input.Issues, v input.Value, _ []string) (string, bool) { return v.Text, true },
		)).
			Described("`metadata.search_after` of the page before, with the same sort; null: the first page."), (*request).setAfter),
		rule.Optional("fields", fieldsRule(d, base), func(r *request) *catalog.FieldSet { return &r.Fields }),
		rule.Optional("max_bytes", MaxBytesRule, func(r *request) *int { return &r.MaxBytes }),
		rule.Optional(
			"dry_run",
			rule.Boolean().
				Described("Answer how many records match and what this page would cost, with `max_bytes` the most that it can cost, and charge nothing. Such a request must not filter by `email`, and `query` does not search addresses."),
			func(r *request) *bool { return &r.DryRun },
		),
		rule.Step(func(issues *input.Issues, body *input.Reader, r *request) {
			r.WithoutPrivate = r.Offset > 0 && r.Text != "" && catalog.HasPrivate(d)
			r.Hints.withoutPrivate = r.DryRun || r.WithoutPrivate
			for _, name := range []string{"filters", "relations", "any", "none"} {
				if r.DryRun {
					refusePrivate(issues, body.Take(name), body.Path(name))
				}
			}
		}),
		boundTerms,
	}
}

// textFields are the members that say more about the text of a search.
func textFields() []rule.Field[request] {
	return []rule.Field[request]{
		rule.Optional(
			"highlight", rule.Boolean().Described("Add `metadata.highlights`: what of each record matches `query`."),
			func(r *request) *bool { return &r.Highlight },
		),
		rule.Optional(
			"explain", rule.Boolean().Described("With `dry_run`: say how `query` is read."),
			func(r *request) *bool { return &r.Explain },
		),
		rule.Step(func(issues *input.Issues, _ *input.Reader, r *request) {
			if r.Explain && !r.DryRun {
				issues.Add(fault.Custom, []string{"explain"}, "is for a dry run; add \"dry_run\": true")
			}
		}),
	}
}

// MaxBytesRule is the rule of the member that limits the bytes of the records of an
// answer.
var MaxBytesRule = rule.Integer(MinMaxBytes, MaxMaxBytes).
	Described("End the answer before the record that would make the records longer than so many bytes, with one record at least. What is not returned costs nothing.")

// baseNames are the prefixes of the schema names of each base.
var baseNames = map[catalog.BaseKind]string{catalog.Data: "", catalog.Book: "Workspace", catalog.View: "View"}

// conditionFields are the members that select records. private means that `query` also
// searches Private fields.
func conditionFields(d catalog.Dataset, base catalog.BaseKind, private bool) []rule.Field[request] {
	var searched []string
	for _, f := range catalog.Fields(d) {
		if f.Query && (private || !f.Private) {
			searched = append(searched, "`"+f.Name+"`")
		}
	}
	return []rule.Field[request]{
		rule.Optional("query", rule.Text(1, MaxQuery).Example("garage").Instead(joinedTexts).Advise(
			fault.TooSmall, "without query all records match",
		).
			Described("Every word must occur in one of the fields "+strings.Join(searched, ", ")+
				", in the labels of others or as a synonym. Case and accents do not matter. `\"…\"` is a phrase, `OR` stands between alternatives, `-` before what must not occur, `*` after the beginning of a word."),
			func(r *request) *string { return &r.Text }),
		rule.OptionalFunc("words", wordsRule, func(r *request, text string) { r.Exact = text == wordsExact }),
		rule.OptionalFunc("typos", typosRule, func(r *request, text string) { r.Typos = text == typosAuto }),
		rule.OptionalFunc("filters", filtersRule(d, base), (*request).add),
		rule.OptionalFunc("relations", relationsRule(d), (*request).add),
		rule.OptionalFunc("any", groupsRule(d, base).Described("At least one of these groups must match."), (*request).addAny),
		rule.OptionalFunc("none", groupsRule(d, base).Described("None of these groups may match."), (*request).addNone),
		rule.Step(boundGroups),
		rule.Elsewhere[request](outsideRequest(d, base)),
		rule.Step(boundTypos),
		rule.Step(func(issues *input.Issues, body *input.Reader, r *request) {
			if len(*issues) > 0 {
				return // the conditions are not used, and the texts may be as long as the body
			}
			filters, free := body.Take("filters"), !private || body.Take("dry_run").Bool
			r.Hints = Hints{
				d: d, base: base, free: free, withoutPrivate: free, exact: r.Exact, text: body.Take("query").Text,
				filters: filters, dated: []input.Value{filters, body.Take("relations"), body.Take("any"), body.Take("none")},
			}
			r.Hinted = true
		}),
	}
}

// boundTypos refuses texts in which typos would be expensive: Elasticsearch takes up to 20
// ms for a term of eight characters, and more for longer ones.
func boundTypos(issues *input.Issues, _ *input.Reader, r *request) {
	if r.Typos && utf8.RuneCountInString(r.Text) > MaxTyposQuery {
		issues.Add(fault.Custom, []string{"query"}, `must have at most %d characters with "typos": "auto"`, MaxTyposQuery)
	}
}

// boundTerms refuses requests with more than MaxTerms terms.
var boundTerms = rule.Step(func(issues *input.Issues, _ *input.Reader, r *request) {
	if r.terms+countTerms(r.Text) > MaxTerms {
		issues.Add(fault.TooBig, nil, "the texts of the request have more than %d terms in all", MaxTerms)
	}
})

// setAfter stores the cursor, nil for the first page. An empty cursor must be refused and
// not read as the first page.
func (r *request) setAfter(cursor *string) {
	if cursor != nil {
		r.After, r.Offset = cmp.Or(*cursor, "-"), 0
	}
}

// relationsRule reads has_… and without_…: one related record must meet all filters of
// has_…, none may meet all filters of without_….
func relationsRule(d catalog.Dataset) rule.Rule[conditions] {
	return shared("relations", d, catalog.Data, buildRelations)
}

func buildRelations(d catalog.Dataset, _ catalog.BaseKind) rule.Rule[conditions] {
	var members []rule.Field[conditions]
	for _, rel := range catalog.RelationsOf(d) {
		member := func(key, text string, node func(Node) Node) {
			members = append(
				members,
				rule.OptionalFunc(key, filtersRule(rel.Child, catalog.Data).Described(text), func(c *conditions, inner conditions) {
					c.add(conditions{All{node(Nested{rel, inner.where})}, inner.terms})
				}),
			)
		}
		has, without := rel.Keys()
		member(has, "One related "+rel.Singular+" meets all of these; `{}`: there is one.", func(n Node) Node { return n })
		member(without, "No related "+rel.Singular+" meets all of these; `{}`: there is none.", func(n Node) Node { return Not{n} })
	}
	text := "This dataset has no relations."
	if members != nil {
		text = fmt.Sprintf("Conditions on related records, which must all be met. Of each kind the newest %d count.", catalog.MaxChildren)
	}
	members = append(members, rule.Elsewhere[conditions](outsideRelations(d)))
	return rule.Object(members...).Instead(
		func(input.Value) string { return exampleRelations(d) },
	).Described(text).Named(d.Title() + "Relations")
}

// sortField reads { field, order }. Without it the order is DefaultSort, or by
// relevance with a query of global records.
func sortField(d catalog.Dataset, base catalog.BaseKind) rule.Field[request] {
	fields := catalog.SortFields(d, base)
	known, usual, orders := catalog.Names(fields), DefaultSort(d), []string{"asc", "desc"}
	text := "Records without a value come last, ties go by id. By default `" + usual.String() + "`"
	keys := known
	if base == catalog.Data {
		keys = append(slices.Clip(known), RelevanceSort)
		text += ", with a `query` by relevance. `relevance` needs a `query`, and is only `desc`: the best match first"
	}
	s := schema.Object(schema.Required("field", schema.OneOf(keys...)), schema.Required("order", schema.OneOf(orders...)))
	if base == catalog.Data {
		s = s.When(schema.Is("field", RelevanceSort), (&schema.Schema{Const: "desc"}).At("order"), nil)
	}
	s = schema.Named(baseNames[base]+d.Title()+"Sort", s)
	return rule.FieldFunc(schema.Optional("sort", s.Described(text+".")), func(issues *input.Issues, r *input.Reader, into *request) {
		into.Sort = usual
		if into.Text != "" && base == catalog.Data {
			into.Sort = ByRelevance()
		}
		v := r.Take("sort")
		if v.Kind == input.Absent {
			return
		}
		if v.Kind != input.Object {
			issues.WrongTypeInstead(r.Path("sort"), "an object", v, sortOf(v))
			return
		}
		of := issues.Object(v, r.Path("sort")...)
		of.Elsewhere(func(m input.Member) string {
			if len(v.Members) == 1 {
				return "a sort is " + sortOf(v)
			}
			return ""
		})
		field, order := of.Take("field"), of.Take("order")
		of.Done()
		at, allowed := of.Path("field"), orders
		switch i := slices.Index(known, field.Text); {
		case field.Kind != input.String:
			issues.WrongType(at, "a string", field)
		case field.Text == RelevanceSort && base == catalog.Data:
			into.Sort, allowed = ByRelevance(), []string{"desc"}
			if r.Take("query").Kind == input.Absent {
				issues.Add(fault.Custom, at, "sorting by relevance needs a query")
			}
		case i < 0:
			issues.Unrecognized(at, []string{field.Text}, keys, ofField(d, base, "a field that nothing is sorted by"))
		default:
			into.Sort.Field = fields[i]
		}
		switch at := of.Path("order"); {
		case order.Kind == input.Absent:
			issues.WrongType(at, "asc or desc", order)
		case order.Kind != input.String || !slices.Contains(allowed, order.Text):
			issues.OutsideVocabulary(at, order, allowed)
		default:
			into.Sort.Desc = order.Text == "desc"
		}
	})
}
