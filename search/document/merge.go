package document

import (
	"bytes"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/input"
	"atlas/search/catalog"
)

// mergedInto is the key of a line that merges a record into another.
const mergedInto = "merged_into"

// Merge is a line that merges a record into another: {"id": …, "merged_into": …} with or
// without updated_at (docs/data.md, "Merges").
type Merge struct {
	// ID and Into are UUIDs of the same dataset.
	ID, Into string
	// Updated is the line's updated_at in milliseconds, nil without one.
	Updated *int64
}

// ParseMerge parses a line that merges a record into another. is is false for any other
// line. Fields of the record are ignored: a line may have its last values.
func ParseMerge(d catalog.Dataset, line []byte) (m Merge, is bool, problems []Problem) {
	if !bytes.Contains(line, []byte(`"`+mergedInto+`"`)) {
		return m, false, nil
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil || members[mergedInto] == nil || members[mergedInto].Kind() == 'n' {
		return m, false, nil // not JSON, a text with the key, or a record
	}
	p := lineParser{schema: schemas[d]}
	id := func(key string) string {
		text, isText := stringOf(members[key])
		id, ok := input.ParseUUID(text)
		if !isText || !ok {
			p.fail(key, "is not a UUID")
		}
		return id
	}
	for key, value := range members {
		_, known := p.schema.index[key]
		switch {
		case key == mergedInto:
			m.Into = id(key)
		case key == "id":
			m.ID = id(key)
		case key == "updated_at":
			ms, ok := updatedAt(value)
			if !ok {
				p.fail(key, "is not a date (YYYY-MM-DD or RFC 3339)")
			}
			m.Updated = ms
		case !known:
			p.fail(key, "unknown key")
		}
	}
	switch {
	case members["id"] == nil:
		p.fail("id", "required")
	case m.ID == m.Into && m.ID != "":
		p.fail(mergedInto, "is the record itself")
	case m.Into == uuid.Nil.String(): // the zero UUID stands for no record
		p.fail(mergedInto, "is the id of no record")
	}
	return m, true, p.problems
}

// LineTime reads the updated_at of a line in milliseconds, nil without one, whatever else is wrong
// with the line. ok is false if it is no time, or if the line is no JSON object in which each member
// stands once.
func LineTime(line []byte) (updated *int64, ok bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, false
	}
	return updatedAt(members["updated_at"])
}

func updatedAt(value jsontext.Value) (ms *int64, ok bool) {
	if len(value) == 0 || value.Kind() == 'n' {
		return nil, true
	}
	text, isText := stringOf(value)
	t, ok := catalog.ParseInstant(text)
	if !ok {
		t, ok = catalog.ParseDay(text)
	}
	if !isText || !ok {
		return nil, false
	}
	return new(t.UnixMilli()), true
}

func stringOf(value jsontext.Value) (text string, ok bool) {
	ok = value.Kind() == '"' && json.Unmarshal(value, &text) == nil
	return strings.TrimSpace(text), ok
}

// AppendLine appends the merge as a line.
func (m Merge) AppendLine(b []byte) []byte {
	b = append(append(b, `{"id":"`...), m.ID...)
	b = append(append(append(b, `","`+mergedInto+`":"`...), m.Into...), '"')
	if m.Updated != nil {
		b = time.UnixMilli(*m.Updated).UTC().AppendFormat(append(b, `,"updated_at":"`...), time.RFC3339Nano)
		b = append(b, '"')
	}
	return append(b, '}')
}

// AppendMergeBinary appends a merge in a form that can stand among those of AppendBinary.
func AppendMergeBinary(b []byte, into [16]byte) []byte {
	return append(append(b, 0, 0, 0, 0), into[:]...) // a record has an id, so it begins with another number
}

// AppendSuppressedBinary appends a merge into nothing, in the place of a suppressed record, with
// the suppressions that its id is to be added to.
func AppendSuppressedBinary(b []byte, by ...uuid.UUID) []byte {
	b = AppendMergeBinary(b, [16]byte{})
	for _, id := range by {
		b = append(b, id[:]...)
	}
	return b
}

// DecodeMergeBinary reads the form of AppendMergeBinary; is is false for a record, and into
// is zero for a suppressed one.
func DecodeMergeBinary(b []byte) (into [16]byte, is bool) {
	if len(b) < 20 || !bytes.Equal(b[:4], make([]byte, 4)) {
		return into, false
	}
	return [16]byte(b[4:]), true
}

// DecodeSuppressedBinary reads the suppressions of AppendSuppressedBinary.
func DecodeSuppressedBinary(b []byte) (by []uuid.UUID) {
	for b = b[min(20, len(b)):]; len(b) >= 16; b = b[16:] {
		by = append(by, uuid.UUID(b[:16]))
	}
	return by
}
