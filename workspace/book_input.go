package workspace

import (
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// BookInput is one upsert of a record: which one, and what becomes of it.
type BookInput struct {
	// Record is the id, "" when the record is found by Match.
	Record string
	// Match is a domain of an account or the e-mail address of a contact, as it
	// is compared.
	Match  string
	Change OverlayChange
}

// foldMatch is the form in which values of a match field are compared.
func foldMatch(f query.Field, value string) string {
	if f.Domains {
		return query.Domain(value)
	}
	return FoldEmail(value)
}

// IDKey is the key of a record's id in bodies and batch results.
func IDKey(d query.Dataset) string { return d.Singular() + "_id" }

// ParseUpsert reads the body of an upsert (docs/api.md, "The book"), beside
// what is wrong with it already: fault.InvalidInput.
func ParseUpsert(v input.Value, d query.Dataset, issues input.Issues) (BookInput, error) {
	var in BookInput
	r := issues.Object(v)
	if !r.Ok() {
		return in, issues.Err()
	}
	readTarget(&issues, r, d, &in)
	if d == query.Accounts {
		in.Change.ICPTier = tierChange(&issues, r)
	}
	in.Change.Status = textChange(&issues, r, "workspace_status", input.Text{Min: 1, Max: MaxStatus})
	in.Change.Notes = textChange(&issues, r, "notes", input.Text{Max: MaxNotes})
	if tags := r.Take("tags"); tags.Kind != input.Absent {
		in.Change.Tags = readTags(&issues, tags)
	}
	r.Done()
	return in, issues.Err()
}

func readTarget(issues *input.Issues, r *input.Reader, d query.Dataset, in *BookInput) {
	by, matchable := query.MatchField(d)
	id := r.Take(IDKey(d))
	if !matchable {
		in.Record, _ = issues.UUID(id, IDKey(d))
		return
	}
	match := r.Take("match")
	if (id.Kind == input.Absent) == (match.Kind == input.Absent) {
		issues.Add(fault.InvalidUnion, nil, "give exactly one of %s and match", IDKey(d))
		return
	}
	if match.Kind == input.Absent {
		in.Record, _ = issues.UUID(id, IDKey(d))
		return
	}
	m := issues.Object(match, "match")
	if !m.Ok() {
		return
	}
	text := m.RequiredString(by.Match, input.Text{Min: 1, Max: by.MaxChars})
	m.Done()
	if text == "" {
		return
	}
	if in.Match = foldMatch(by, text); in.Match == "" {
		issues.Add(fault.InvalidFormat, m.Path(by.Match), "there is no %s in it", by.Match)
	}
}

func tierChange(issues *input.Issues, r *input.Reader) Change {
	v := r.Take("icp_tier")
	switch {
	case v.Kind == input.Absent:
		return Change{}
	case v.Kind == input.Null:
		return Change{Set: true}
	case v.Kind != input.String || !query.ICPTiers.Has(v.Text):
		issues.OutsideVocabulary(r.Path("icp_tier"), append(query.ICPTiers.Values(), "null"))
		return Change{}
	}
	return Change{true, &v.Text}
}

func textChange(issues *input.Issues, r *input.Reader, name string, bounds input.Text) Change {
	v := r.Take(name)
	switch v.Kind {
	case input.Absent:
		return Change{}
	case input.Null:
		return Change{Set: true}
	case input.String:
	default:
		issues.WrongType(r.Path(name), "a string or null", v)
		return Change{}
	}
	text, ok := issues.String(v, bounds, r.Path(name)...)
	if !ok {
		return Change{}
	}
	return Change{true, &text}
}
