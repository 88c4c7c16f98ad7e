package book

import (
	"strconv"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
)

// Input is one upsert of the book.
type Input struct {
	// Record is the id, "" if Match identifies the record.
	Record string
	// Match is the folded domain of an account or e-mail address of a contact.
	Match  string
	Change OverlayChange
	// Expected, when not nil, must be met when the change is made.
	Expected *Expectation
}

// foldMatch returns the form in which values of a match field are compared.
func foldMatch(f catalog.Field, value string) string {
	if f.Domains {
		return catalog.Domain(value)
	}
	return workspace.FoldEmail(value)
}

// IDKey is the key of a record's id in bodies and batch results.
func IDKey(d catalog.Dataset) string { return d.Singular() + "_id" }

// UpsertRule reads the body of an upsert (docs/api.md, "The book").
func UpsertRule(d catalog.Dataset) rule.Rule[Input] {
	key, text := IDKey(d), "What is left out stays as it is."
	id := rule.Map(rule.UUID[uuid.UUID](), uuid.UUID.String)
	record := func(in *Input) *string { return &in.Record }
	target := rule.Required(key, id, record)
	if by, matchable := catalog.MatchField(d); matchable {
		target = rule.Either(
			rule.Optional(key, id, record),
			rule.Optional("match", matchRule(by).Named(d.Title()+"Match"), func(in *Input) *string { return &in.Match }),
		)
		text += " Exactly one of `" + key + "` and `match` says which record."
	}
	fields := []rule.Field[Input]{target}
	for _, f := range catalog.OverlayFields(d) {
		if f.Written {
			fields = append(fields, rule.OptionalFunc(f.Name, overlayRule(f), func(in *Input, value any) {
				if in.Change == nil {
					in.Change = OverlayChange{}
				}
				in.Change[f.Name] = value
			}))
		}
	}
	fields = append(fields, rule.OptionalFunc("expected", expectationRule(d), func(in *Input, e Expectation) { in.Expected = &e }))
	fields = append(fields, rule.Elsewhere[Input](func(m input.Member) string {
		if _, global := catalog.FieldNamed(d, m.Name); global && m.Name != "id" {
			return "a value of the global record, which nobody changes"
		}
		return ""
	}))
	return rule.Object(fields...).Instead(func(v input.Value) string {
		if v.Kind != input.String {
			return ""
		}
		return input.Wrapped(`{"`+key+`":`, v, "}")
	}).Described(text).Named("Workspace" + d.Title() + "Upsert")
}

// expectationRule reads the expectation of a change.
func expectationRule(d catalog.Dataset) rule.Rule[Expectation] {
	fields := []rule.Field[Expectation]{
		rule.Optional("in_book", rule.Boolean().Default(true).Described("False: the record must not be in the book, and no value is expected."),
			func(e *Expectation) *bool { return &e.InBook }),
	}
	for _, f := range catalog.OverlayFields(d) {
		if f.Written {
			fields = append(fields, rule.OptionalFunc(f.Name, valueRule(f), func(e *Expectation, value any) {
				if e.Values == nil {
					e.Values = OverlayChange{}
				}
				e.Values[f.Name] = value
			}))
		}
	}
	return rule.Object(fields...).
		Check(func(e Expectation) bool { return e.InBook || len(e.Values) == 0 }, fault.Custom, "a record outside the book has no values").
		Named("Workspace" + d.Title() + "Expectation").
		Described("What the change is made on: if something else is there, nothing changes, and the error `revision_conflict` has what is there " +
			"as `current`. Values that are left out may be anything.")
}

// DeletionsRule reads the expectations of a batch of deletions, by record id.
func DeletionsRule(d catalog.Dataset, most int) rule.Rule[map[uuid.UUID]Expectation] {
	id := rule.Map(rule.UUID[uuid.UUID](), uuid.UUID.String)
	byID := rule.ByKey("what is expected, by id", id, expectationRule(d), most)
	return rule.Map(byID, func(by map[string]Expectation) map[uuid.UUID]Expectation {
		all := make(map[uuid.UUID]Expectation, len(by))
		for id, e := range by {
			if id, ok := input.ReadUUID(id); ok { // others have an issue
				all[id] = e
			}
		}
		return all
	})
}

// matchRule reads the match value of a record, in the form of foldMatch.
func matchRule(by catalog.Field) rule.Rule[string] {
	value := rule.Text(1, by.MaxChars)
	if by.Domains {
		value = value.As(schema.Domain(by.MaxChars)).Example("bow-valley-builders.example").
			Described("With or without scheme, `www.`, path, port and final dot, in Unicode or ASCII.")
	} else {
		value = value.Example("ada@example.com").Described("Without regard to case.")
	}
	fold := func(text string) string { return foldMatch(by, text) }
	found := func(text string) bool { return text == "" || fold(text) != "" } // "" has an issue already
	return rule.Map(rule.Only(by.Match, value).Check(found, fault.InvalidFormat, "there is no "+by.Match+" in it", by.Match), fold)
}

// overlayRule reads a value to write in the form of Values, nil for null.
func overlayRule(f catalog.Field) rule.Rule[any] {
	r, note := valueRule(f), "Null clears."
	if f.Type == catalog.Strings {
		note = "Replaces all; `[]` clears. Of " + f.Name + " that are equal when folded, as searches compare texts, the first spelling stays, in NFC."
	}
	if f.WriteNote != "" {
		note += " " + f.WriteNote
	}
	if r = r.Described(note); f.Example != nil {
		r = r.Example(f.Example)
	}
	return r
}

// valueRule reads a value in the form of Values, nil for null.
func valueRule(f catalog.Field) rule.Rule[any] {
	switch {
	case f.Type == catalog.Strings:
		return rule.Map(distinctRule(f), func(list []string) any { return list })
	case f.Vocabulary != nil:
		return clearable(f.Vocabulary.Rule())
	case f.Type == catalog.Time:
		return clearable(dateRule)
	case f.Type == catalog.Integer, f.Type == catalog.Double:
		return clearable(numberRule(f)).As(f.Schema())
	default:
		return clearable(rule.Text(f.MinChars, f.MaxChars).Advise(fault.TooSmall, "null clears it"))
	}
}

// clearable is the rule of a value that null clears.
func clearable[T any](r rule.Rule[T]) rule.Rule[any] {
	return rule.Map(rule.Nullable(r), func(value *T) any {
		if value == nil {
			return nil
		}
		return *value
	})
}

// dateRule reads a day or an instant, in milliseconds since 1970.
var dateRule = rule.New(
	schema.DayOrInstant(), input.String, "a string",
	func(issues *input.Issues, v input.Value, path []string) (int64, bool) {
		t, ok := catalog.ParseInstant(v.Text)
		if !ok {
			t, ok = catalog.ParseDay(v.Text)
		}
		if !ok {
			issues.Add(fault.InvalidFormat, path, "%s", query.DateProblem(v.Text))
		}
		return t.UnixMilli(), ok
	},
)

// numberRule reads an int64 or a float64, by the field's type.
func numberRule(f catalog.Field) rule.Rule[any] {
	bounded := f.Min != 0 || f.Max != 0
	return rule.New(f.Schema(), input.Number, "a number", func(issues *input.Issues, v input.Value, path []string) (any, bool) {
		number, err := strconv.ParseFloat(v.Text, 64)
		whole, isWhole, within := query.ParseInteger(v.Text)
		switch {
		case f.Type == catalog.Integer && !isWhole:
			issues.Add(fault.InvalidType, path, "must be an integer")
		case bounded && number < float64(f.Min):
			issues.Add(fault.TooSmall, path, "must be at least %d", f.Min)
		case bounded && number > float64(f.Max), err != nil, f.Type == catalog.Integer && !within:
			issues.Add(fault.TooBig, path, "the number is out of range")
		case f.Type == catalog.Integer:
			return whole, true
		default:
			return number, true
		}
		return nil, false
	})
}
