package book

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
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

// pick returns the members of a public record with these names, null for a
// missing one. It stops reading at the last of them: a page has many records, and
// rows show a small part of each.
func pick(public jsontext.Value, names []string) ([]jsontext.Value, error) {
	values := make([]jsontext.Value, len(names))
	d := jsontext.NewDecoder(bytes.NewBuffer(public))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, unreadable(err)
	}
	left := len(names)
	for left > 0 && d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, unreadable(err)
		}
		i := slices.Index(names, name.String())
		if i < 0 {
			if err := d.SkipValue(); err != nil {
				return nil, unreadable(err)
			}
			continue
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, unreadable(err)
		}
		values[i] = value.Clone()
		left--
	}
	if left > 0 {
		if token, err := d.ReadToken(); err != nil || token.Kind() != '}' {
			return nil, unreadable(err)
		}
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
