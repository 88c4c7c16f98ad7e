package book

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/workspace"
)

// RecordID is the id of a public record.
func RecordID(public jsontext.Value) (uuid.UUID, error) {
	values, err := pick(public, []string{"id"})
	if err != nil {
		return uuid.UUID{}, err
	}
	text, err := jsontext.AppendUnquote(nil, values[0])
	if err != nil {
		return uuid.UUID{}, unreadable(err)
	}
	id, err := workspace.ParseUUID(string(text))
	if err != nil {
		return uuid.UUID{}, unreadable(err)
	}
	return id, nil
}

// RecordIDs are the ids of public records.
func RecordIDs(public []jsontext.Value) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(public))
	for i, record := range public {
		id, err := RecordID(record)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// pick returns the members of a public record with these names, null for a missing
// one. They share the record's bytes. It stops reading at the last of them: a page has
// many records, and rows show a small part of each.
func pick(public jsontext.Value, names []string) ([]jsontext.Value, error) {
	values := make([]jsontext.Value, len(names))
	if err := scan.Pick(public, names, func(i int, value jsontext.Value) { values[i] = value }); err != nil {
		return nil, unreadable(err)
	}
	for i, v := range values {
		if v == nil {
			values[i] = jsontext.Value("null")
		}
	}
	return values, nil
}

func unreadable(cause error) error {
	return fault.Wrap(cause, fault.Internal, "a global record is unreadable")
}
