package workspace

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/query"
)

// RowShape is which members a row has (docs/api.md, "The book").
type RowShape uint8

// The shapes.
const (
	// BookRecord is a record of the book, as upserts and gets answer it.
	BookRecord RowShape = iota
	// BookRow is a BookRecord in search results: it tells updated_at too.
	BookRow
)

// globalMembers are those of the global record, before the workspace's own.
var globalMembers = map[query.Dataset][]string{
	query.Accounts: {"id", "name", "account_types", "domains", "website"},
	query.Projects: {"id", "name", "city", "state", "stage", "primary_use", "residential_units", "last_signal_at"},
	query.Contacts: {"id", "name", "title", "email", "account_id"},
}

// Row renders a global record with what the workspace says of it.
func Row(d query.Dataset, shape RowShape, public jsontext.Value, o *Overlay) (jsontext.Value, error) {
	values, err := pick(public, globalMembers[d])
	if err != nil {
		return nil, err
	}
	b := make(jsontext.Value, 0, 512)
	for i, name := range globalMembers[d] {
		b = append(member(b, name), values[i]...)
	}
	if d == query.Accounts {
		b = appendText(member(b, "icp_tier"), o.ICPTier)
	}
	b = appendText(member(b, "workspace_status"), o.Status)
	b = appendText(member(b, "notes"), o.Notes)
	b = member(b, "tags")
	for i, tag := range o.Tags {
		b = appendText(append(b, "[,"[min(i, 1)]), &tag)
	}
	if len(o.Tags) == 0 {
		b = append(b, '[')
	}
	b = append(b, ']')
	if d == query.Accounts {
		b = strconv.AppendInt(member(b, "atlas_score"), int64(o.Score), 10)
		b = appendText(member(b, "atlas_trend"), &o.Trend)
	}
	if shape == BookRow {
		b = append(member(b, "updated_at"), '"')
		b = append(o.UpdatedAt.UTC().AppendFormat(b, TimeFormat), '"')
	}
	return append(b, '}'), nil
}

func member(b jsontext.Value, name string) jsontext.Value {
	if len(b) == 0 {
		b = append(b, '{')
	} else {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendText(b jsontext.Value, s *string) jsontext.Value {
	if s == nil {
		return append(b, "null"...)
	}
	// Stored texts are valid UTF-8, so quoting cannot fail.
	b, _ = jsontext.AppendQuote(b, *s)
	return b
}
