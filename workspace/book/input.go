package book

import (
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
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
}

// foldMatch returns the form in which values of a match field are compared.
func foldMatch(f query.Field, value string) string {
	if f.Domains {
		return query.Domain(value)
	}
	return workspace.FoldEmail(value)
}

// IDKey is the key of a record's id in bodies and batch results.
func IDKey(d query.Dataset) string { return d.Singular() + "_id" }

// ParseUpsert reads the body of an upsert (docs/api.md, "The book"). Its error,
// fault.InvalidInput, lists the given issues and its own.
func ParseUpsert(v input.Value, d query.Dataset, issues input.Issues) (Input, error) {
	var in Input
	r := issues.Object(v)
	if !r.Ok() {
		return in, issues.Err()
	}
	readTarget(&issues, r, d, &in)
	in.Change = OverlayChange{}
	for _, f := range query.OverlayFields(d) {
		if !f.Written {
			continue
		}
		if v := r.Take(f.Name); v.Kind != input.Absent {
			in.Change[f.Name] = readOverlayValue(&issues, v, f, r.Path(f.Name))
		}
	}
	r.Done()
	return in, issues.Err()
}

func readTarget(issues *input.Issues, r *input.Reader, d query.Dataset, in *Input) {
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

// readOverlayValue reads a value in the form of Values. It returns nil for null, and
// for an invalid value, which also adds an issue.
func readOverlayValue(issues *input.Issues, v input.Value, f query.Field, path []string) any {
	switch {
	case f.Type == query.Strings:
		return readDistinct(issues, v, f, path)
	case v.Kind == input.Null:
	case f.Vocabulary != nil:
		if v.Kind == input.String && f.Vocabulary.Has(v.Text) {
			return v.Text
		}
		issues.OutsideVocabulary(path, append(f.Vocabulary.Values(), "null"))
	case f.Type == query.Integer, f.Type == query.Double:
		return readNumber(issues, v, f, path)
	case v.Kind != input.String:
		issues.WrongType(path, "a string or null", v)
	case f.Type == query.Time:
		t, ok := query.ParseInstant(v.Text)
		if !ok {
			t, ok = query.ParseDay(v.Text)
		}
		if ok {
			return t.UnixMilli()
		}
		issues.Add(fault.InvalidFormat, path, "must be a date: YYYY-MM-DD or RFC 3339")
	default:
		if text, ok := issues.String(v, input.Text{Min: f.MinChars, Max: f.MaxChars}, path...); ok {
			return text
		}
	}
	return nil
}

func readNumber(issues *input.Issues, v input.Value, f query.Field, path []string) any {
	if v.Kind != input.Number {
		issues.WrongType(path, "a number or null", v)
		return nil
	}
	number, err := strconv.ParseFloat(v.Text, 64)
	whole, isWhole, within := query.ParseInteger(v.Text)
	bounded := f.Min != 0 || f.Max != 0
	switch {
	case f.Type == query.Integer && !isWhole:
		issues.Add(fault.InvalidType, path, "must be an integer")
	case bounded && number < float64(f.Min):
		issues.Add(fault.TooSmall, path, "must be at least %d", f.Min)
	case bounded && number > float64(f.Max), err != nil, f.Type == query.Integer && !within:
		issues.Add(fault.TooBig, path, "the number is out of range")
	case f.Type == query.Integer:
		return whole
	default:
		return number
	}
	return nil
}
