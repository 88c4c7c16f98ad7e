package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Record is one global record. Its values are in the order of catalog.Fields: nil if
// unknown, else a string, []string, int64, float64, or, for a time, an int64 of
// milliseconds since 1970.
type Record struct {
	Dataset catalog.Dataset
	// Folding is that of the index for which the document is built.
	Folding catalog.Folding
	// Firms are the present names of the accounts in FirmIDs, in that order.
	Firms  []string
	values []any
}

// Problem is a reason why a line is not a valid record.
type Problem struct {
	Field  string `json:"field,omitempty"` // empty if it concerns the whole line
	Reason string `json:"reason"`
}

func (p Problem) Error() string {
	if p.Field == "" {
		return p.Reason
	}
	return p.Field + ": " + p.Reason
}

// schema is the catalog of a dataset, indexed by name.
type schema struct {
	fields []catalog.Field
	index  map[string]int
	// latitude and longitude are positions, 0 in datasets without a catalog.Location.
	latitude, longitude int
}

var schemas = func() map[catalog.Dataset]schema {
	all := map[catalog.Dataset]schema{}
	for _, d := range catalog.Datasets {
		s := schema{fields: catalog.Fields(d), index: map[string]int{}}
		for i, f := range s.fields {
			s.index[f.Name] = i
		}
		s.latitude, s.longitude = s.index[catalog.Latitude], s.index[catalog.Longitude]
		all[d] = s
	}
	return all
}()

// Parse reads one line of a dataset's file (docs/data.md) and returns all its problems. A
// line with a problem is not a record. Missing times default to loadedAt. Derived fields
// are ignored, because Build computes them.
func Parse(d catalog.Dataset, line []byte, loadedAt time.Time) (Record, []Problem) {
	return parse(d, line, loadedAt, false)
}

// FromPublic reads a public record in the form of AppendPublic, including its derived
// fields.
func FromPublic(d catalog.Dataset, public []byte) (Record, error) {
	r, problems := parse(d, public, time.Time{}, true)
	if len(problems) > 0 {
		return Record{}, problems[0]
	}
	return r, nil
}

func parse(d catalog.Dataset, line []byte, loadedAt time.Time, derived bool) (Record, []Problem) {
	s := schemas[d]
	r := Record{Dataset: d, values: make([]any, len(s.fields))}
	p := lineParser{schema: s, derived: derived}
	if !p.scan(line, r.values) || len(p.problems) > 0 {
		return p.decode(r, line, loadedAt)
	}
	return p.finish(r, loadedAt)
}

// decode reads any line with the JSON decoder.
func (p *lineParser) decode(r Record, line []byte, loadedAt time.Time) (Record, []Problem) {
	clear(r.values)
	p.problems, p.json = nil, jsontext.NewDecoder(bytes.NewBuffer(line))
	if err := p.object(r.values); err != nil {
		return Record{}, append(p.problems, Problem{Reason: reason(err)})
	}
	return p.finish(r, loadedAt)
}

// finish reports missing required fields and sets defaults.
func (p *lineParser) finish(r Record, loadedAt time.Time) (Record, []Problem) {
	for i := range p.schema.fields {
		switch f := &p.schema.fields[i]; {
		case r.values[i] != nil || p.failed(f.Name):
		case f.Required:
			p.fail(f.Name, "required")
		case f.LoadTime:
			r.values[i] = loadedAt.UnixMilli()
		}
	}
	if len(p.problems) > 0 {
		return Record{}, p.problems
	}
	return r, nil
}

func reason(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON ends too early"
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a key is given twice"
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.Err != nil {
		return fmt.Sprintf("not valid JSON at byte %d: %v", s.ByteOffset, s.Err)
	}
	return err.Error()
}

type lineParser struct {
	json     *jsontext.Decoder
	schema   schema
	derived  bool // read derived fields instead of ignoring them
	problems []Problem
}

func (p *lineParser) fail(field, format string, args ...any) {
	p.problems = append(p.problems, Problem{field, fmt.Sprintf(format, args...)})
}

func (p *lineParser) failed(field string) bool {
	return slices.ContainsFunc(p.problems, func(problem Problem) bool { return problem.Field == field })
}

func (p *lineParser) object(values []any) error {
	if p.json.PeekKind() != '{' {
		if _, err := p.json.ReadToken(); err != nil {
			return err
		}
		return errors.New("not a JSON object")
	}
	p.json.ReadToken() // #nosec G104 -- a token that was peeked at
	for p.json.PeekKind() != '}' {
		token, err := p.json.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		i, known := p.schema.index[name]
		if !known || p.schema.fields[i].Derive != nil && !p.derived {
			if !known && (name != mergedInto || p.json.PeekKind() != 'n') {
				p.fail(name, "unknown key")
			}
			if err := p.json.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if values[i], err = p.value(&p.schema.fields[i]); err != nil {
			return err
		}
	}
	if _, err := p.json.ReadToken(); err != nil {
		return err
	}
	if _, err := p.json.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON object")
	}
	return nil
}

// value reads the value of a field. The error is for invalid JSON only. A value of the
// wrong type is a problem, and reading continues after it.
func (p *lineParser) value(f *catalog.Field) (any, error) {
	kind := p.json.PeekKind()
	switch {
	case kind == 'n':
		_, err := p.json.ReadToken()
		return nil, err
	case f.List() && kind == '[':
		return p.list(f)
	case !f.List() && kind == '"':
		token, err := p.json.ReadToken()
		if err != nil {
			return nil, err
		}
		return p.text(f, token.String()), nil
	case kind == '0' && (f.Type == catalog.Integer || f.Type == catalog.Double):
		token, err := p.json.ReadToken()
		if err != nil {
			return nil, err
		}
		return p.number(f, token.String()), nil
	default:
		return nil, p.skip(f)
	}
}

// skip skips a value of the wrong type. It fails only on invalid JSON.
func (p *lineParser) skip(f *catalog.Field) error {
	err := p.json.SkipValue()
	if err == nil {
		p.fail(f.Name, "must be %s", typeName[f.Type])
	}
	return err
}

var typeName = map[catalog.Type]string{
	catalog.String: "a string", catalog.Strings: "an array of strings", catalog.Integer: "an integer", catalog.Double: "a number",
	catalog.Time: "a date", catalog.UUID: "a UUID", catalog.UUIDs: "an array of UUIDs",
}

func (p *lineParser) list(f *catalog.Field) (any, error) {
	p.json.ReadToken() // #nosec G104 -- a token that was peeked at
	list := []string{}
	for p.json.PeekKind() != ']' {
		if p.json.PeekKind() != '"' {
			if err := p.skip(f); err != nil {
				return nil, err
			}
			continue
		}
		token, err := p.json.ReadToken()
		if err != nil {
			return nil, err
		}
		if s, ok := p.text(f, token.String()).(string); ok {
			list = append(list, s)
		}
	}
	if len(list) > catalog.MaxList {
		p.fail(f.Name, "has %d elements, at most %d are allowed", len(list), catalog.MaxList)
	}
	_, err := p.json.ReadToken()
	if len(list) == 0 {
		return nil, err // like an absent value, so that both yield the same document
	}
	return list, err
}

// text parses a string by the field's type. An empty string is an unknown value.
func (p *lineParser) text(f *catalog.Field, s string) any {
	switch f.Type {
	case catalog.UUID, catalog.UUIDs:
		id, ok := input.ParseUUID(s)
		if !ok {
			p.fail(f.Name, "%q is not a UUID", clip(s))
			return nil
		}
		return id
	case catalog.Time:
		t, ok := catalog.ParseInstant(s)
		if !ok {
			if t, ok = catalog.ParseDay(s); !ok {
				p.fail(f.Name, "%q is not a date (YYYY-MM-DD or RFC 3339)", clip(s))
				return nil
			}
		}
		return t.UnixMilli()
	case catalog.Integer, catalog.Double:
		p.fail(f.Name, "must be %s", typeName[f.Type])
		return nil
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return nil
	case strings.IndexByte(s, 0) >= 0:
		p.fail(f.Name, "contains a NUL character")
	case f.Vocabulary != nil && !f.Vocabulary.Has(s):
		p.fail(f.Name, "%q is none of: %s", clip(s), strings.Join(f.Vocabulary.Values(), ", "))
	case f.MaxChars > 0 && len(s) > f.MaxChars && utf8.RuneCountInString(s) > f.MaxChars:
		p.fail(f.Name, "has %d characters, at most %d are allowed", utf8.RuneCountInString(s), f.MaxChars)
	default:
		return s
	}
	return nil
}

func (p *lineParser) number(f *catalog.Field, literal string) any {
	n, err := strconv.ParseFloat(literal, 64)
	switch {
	case err != nil || math.IsInf(n, 0):
		p.fail(f.Name, "%s is out of range", clip(literal))
		return nil
	case f.Type == catalog.Double:
		return n
	}
	switch whole, isWhole, within := query.ParseInteger(literal); {
	case !isWhole:
		p.fail(f.Name, "%s is not an integer", clip(literal))
	case !within:
		p.fail(f.Name, "%s is out of range", clip(literal))
	default:
		return whole
	}
	return nil
}

// clip shortens long values in reports.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// Value returns a field's value, nil if it is unknown.
func (r Record) Value(name string) any {
	if i, ok := schemas[r.Dataset].index[name]; ok {
		return r.values[i]
	}
	return nil
}

// SetMillis sets a time field, in milliseconds since 1970, in place.
func (r Record) SetMillis(name string, ms int64) { r.set(name, ms) }

func (r Record) set(name string, value any) { r.values[schemas[r.Dataset].index[name]] = value }

// ID is the record's id.
func (r Record) ID() string { return r.values[0].(string) }

// Millis returns a time field in milliseconds since 1970, 0 if unknown.
func (r Record) Millis(name string) int64 {
	ms, _ := r.Value(name).(int64)
	return ms
}

// Parents returns the distinct ids that the record links to by a relation.
func (r Record) Parents(rel catalog.Relation) []string {
	switch v := r.Value(rel.Link).(type) {
	case string:
		return []string{v}
	case []string:
		unique := v[:0:0]
		seen := make(map[string]bool, len(v))
		for _, id := range v {
			if !seen[id] {
				seen[id] = true
				unique = append(unique, id)
			}
		}
		return unique
	}
	return nil
}

// FirmIDs are the distinct ids of the accounts whose names are among the words of the
// record, in their order.
func (r Record) FirmIDs() []string {
	f, has := catalog.FirmsField(r.Dataset)
	if !has {
		return nil
	}
	ids, _ := r.Value(f.Name).([]string)
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// SetFirms sets Firms from the names of accounts by id. Accounts that are missing in names
// get no name.
func (r *Record) SetFirms(names map[string]string) {
	r.Firms = nil
	for _, id := range r.FirmIDs() {
		if name, there := names[id]; there {
			r.Firms = append(r.Firms, name)
		}
	}
}

// ReadFirms reads the names of the accounts of records, by id. It calls lookup with at most
// 1,000 ids.
func ReadFirms(records []Record, lookup func(ids []string) (map[string]jsontext.Value, error)) (map[string]string, error) {
	var ids []string
	for _, r := range records {
		ids = append(ids, r.FirmIDs()...)
	}
	slices.Sort(ids)
	names := map[string]string{}
	for some := range slices.Chunk(slices.Compact(ids), 1_000) {
		found, err := lookup(some)
		if err != nil {
			return nil, err
		}
		for id, public := range found {
			account, err := FromPublic(catalog.Accounts, public)
			if err != nil {
				return nil, err
			}
			names[id], _ = account.Value("name").(string)
		}
	}
	return names, nil
}

// Differences yields the names of the fields whose values differ between two records of a
// dataset, derived ones only with derived. A missing list equals an empty one.
func (r Record) Differences(other Record, derived bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range catalog.Fields(r.Dataset) {
			if f.Derive != nil && !derived {
				continue
			}
			one, two := r.Value(f.Name), other.Value(f.Name)
			same := false
			if f.List() {
				x, _ := one.([]string)
				y, _ := two.([]string)
				same = slices.Equal(x, y)
			} else {
				same = one == two
			}
			if !same && !yield(f.Name) {
				return
			}
		}
	}
}
