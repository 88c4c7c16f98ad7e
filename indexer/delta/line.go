package delta

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/journal"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/document"
)

// deletedKey distinguishes a deletion from a record.
const deletedKey = "deleted"

// parseLine parses a line of a dataset: a record or a merge, as in a load, or a deletion,
// {"id": …, "deleted": true} with or without updated_at. With problems the entry is zero.
func parseLine(d catalog.Dataset, line []byte) (entry, []document.Problem) {
	if m, is, problems := document.ParseMerge(d, line); is {
		return mergeEntry(m, problems)
	}
	if !bytes.Contains(line, []byte(`"`+deletedKey+`"`)) {
		return parseRecord(d, line)
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil {
		// Parsing it as a record finds the problems; the key is not one of them.
		e, problems := parseRecord(d, line)
		return e, slices.DeleteFunc(problems, func(p document.Problem) bool { return p.Field == deletedKey })
	}
	mark, marked := members[deletedKey]
	switch {
	case !marked: // the key occurs within a text
		return parseRecord(d, line)
	case mark.Kind() == 'f':
		delete(members, deletedKey)
		rest, err := json.Marshal(members)
		if err != nil {
			return entry{}, []document.Problem{{Reason: "not a JSON object"}}
		}
		return parseRecord(d, rest)
	case mark.Kind() != 't':
		return entry{}, []document.Problem{{Field: deletedKey, Reason: "must be true or false"}}
	}
	return parseDeletion(line)
}

func mergeEntry(m document.Merge, problems []document.Problem) (entry, []document.Problem) {
	if len(problems) > 0 {
		return entry{}, problems
	}
	e := entry{id: document.IDBytes(m.ID), deleted: true, into: document.IDBytes(m.Into), updated: noTime.UnixMilli()}
	if m.Updated != nil {
		e.updated = *m.Updated
	}
	return e, nil
}

func parseRecord(d catalog.Dataset, line []byte) (entry, []document.Problem) {
	record, problems := document.Parse(d, line, noTime)
	if len(problems) > 0 {
		return entry{}, problems
	}
	return entry{id: document.IDBytes(record.ID()), record: record}, nil
}

// parseDeletion parses an object with "deleted": true. Other keys are problems: it can be a
// record in which that key means something else.
func parseDeletion(line []byte) (entry, []document.Problem) {
	e := entry{deleted: true, updated: noTime.UnixMilli()}
	var problems []document.Problem
	fail := func(field, reason string) {
		problems = append(problems, document.Problem{Field: field, Reason: reason})
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(line))
	_, _ = decoder.ReadToken() // an object, already checked
	known := false
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return entry{}, []document.Problem{{Reason: err.Error()}}
		}
		field := name.String()
		value, err := decoder.ReadValue()
		if err != nil && !errors.Is(err, io.EOF) {
			return entry{}, []document.Problem{{Reason: err.Error()}}
		}
		var text string
		isText := value.Kind() == '"' && json.Unmarshal(value, &text) == nil
		switch {
		case field == deletedKey:
		case field == "id":
			id, ok := input.ParseUUID(text)
			if known = true; !isText || !ok {
				fail("id", "is not a UUID")
				continue
			}
			e.id = document.IDBytes(id)
		case field == "updated_at" && value.Kind() == 'n':
		case field == "updated_at":
			t, ok := catalog.ParseInstant(text)
			if !ok {
				t, ok = catalog.ParseDay(text)
			}
			if !isText || !ok {
				fail("updated_at", "is not a date (YYYY-MM-DD or RFC 3339)")
				continue
			}
			e.updated = t.UnixMilli()
		default:
			fail(field, "unknown key of a deletion: it has id, deleted and updated_at")
		}
	}
	if !known {
		fail("id", "required")
	}
	return e, problems
}

// parseDeadLetter returns the line in a dead letter; known is false for any other object. With
// a problem, corrected is the whole dead letter, so that nothing is lost: the new dead letter
// then contains the old one, and is parsed as the old one when it comes back.
func parseDeadLetter(line []byte) (d catalog.Dataset, corrected []byte, known bool, problems []document.Problem) {
	var l journal.DeadLetter
	if err := json.Unmarshal(line, &l); err != nil {
		return "", line, false, []document.Problem{{Reason: "not a line of a file of what was left out: " + err.Error()}}
	}
	corrected = l.Record
	if len(corrected) == 0 {
		corrected = []byte(l.Text)
	}
	switch {
	case l.Dataset == "" && len(corrected) > 0:
		d, corrected, _, problems = parseDeadLetter(corrected)
		return d, corrected, true, problems
	case !catalog.IsDataset(string(l.Dataset)):
		return "", line, len(corrected) > 0, []document.Problem{{Field: "dataset", Reason: "is none of accounts, contacts, projects, signals"}}
	case len(corrected) == 0:
		return "", line, true, []document.Problem{{Reason: "neither a record nor a text"}}
	default:
		return l.Dataset, corrected, true, nil
	}
}
