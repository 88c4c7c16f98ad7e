package search

import (
	"context"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/highlight"
	"atlas/search/query"
	"atlas/search/words"
)

// Bounds of the highlights of a page.
const (
	// MaxHighlightBytes is the maximum number of bytes of the highlighted texts of a row.
	MaxHighlightBytes = 2_000
	// highlightedFirms is the maximum number of a record's firms whose names are shown.
	highlightedFirms = 3
	// readFirms is the maximum number of a record's firms whose names are read.
	readFirms = 20
)

// FirmsHighlight is the field of highlights that has the names of a project's firms.
const FirmsHighlight = "firms"

// Highlights finds what in rows matches the text of q: in the fields that the rows show,
// and in the names of a project's firms if the rows show these. Errors: Unavailable.
func (e *Engine) Highlights(ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error) {
	records := make([]map[string]jsontext.Value, len(rows))
	for i, row := range rows {
		if err := jsonv2.Unmarshal(row, &records[i]); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "a record could not be read")
		}
	}
	firms, err := e.firmNames(ctx, q.Dataset, records)
	if err != nil && ctx.Err() != nil {
		return nil, err
	} // highlights are optional: the page is complete without them
	q.Words = e.Words
	marker := highlight.New(howRead(q), q.Typos)
	all := make([]highlight.Row, len(rows))
	for i, record := range records {
		all[i] = highlighted(marker, q, record, firms)
	}
	return all, nil
}

// howRead is how the text of q is read: exactly, or in all forms.
func howRead(q query.Query) words.Reading {
	if !q.Exact {
		return tablesOf(q).Read(q.Text, catalog.Fold)
	}
	var r words.Reading
	for _, text := range catalog.Words(catalog.Fold(q.Text)) {
		r.Must = append(r.Must, words.Clause{{{Text: text, Options: []words.Option{{Words: []string{text}}}}}})
	}
	return r
}

// firmNames are the names of the firms of records, by id.
func (e *Engine) firmNames(ctx context.Context, d catalog.Dataset, records []map[string]jsontext.Value) (map[string]string, error) {
	f, has := catalog.FirmsField(d)
	if !has {
		return nil, nil
	}
	var ids []string
	for _, record := range records {
		of := stringsIn(record[f.Name])
		ids = append(ids, of[:min(len(of), readFirms)]...)
	}
	slices.Sort(ids)
	return e.namesOf(ctx, slices.Compact(ids))
}

// highlighted is what matches in a record, up to MaxHighlightBytes.
func highlighted(m *highlight.Marker, q query.Query, record map[string]jsontext.Value, firms map[string]string) highlight.Row {
	row := highlight.Row{Fields: map[string][]highlight.Fragment{}}
	_ = jsonv2.Unmarshal(record["id"], &row.ID) // every row has its id
	left := MaxHighlightBytes
	add := func(field, text string) {
		for _, f := range m.Fragments(text) {
			if left -= len(f.Text); left >= 0 {
				row.Fields[field] = append(row.Fields[field], f)
			}
		}
	}
	fields := catalog.Fields(q.Dataset)
	if q.Base.Kind == catalog.Book && !q.Exact {
		fields = slices.Concat(fields, catalog.OverlayFields(q.Dataset))
	}
	for _, f := range fields {
		switch {
		case q.Exact && !f.Query:
		case f.FirmNames:
			of := stringsIn(record[f.Name])
			for _, id := range of[:min(len(of), readFirms)] {
				if len(row.Fields[FirmsHighlight]) < highlightedFirms {
					add(FirmsHighlight, firms[id])
				}
			}
		case !f.InWords():
		case f.Vocabulary != nil:
			for _, value := range stringsIn(record[f.Name]) {
				add(f.Name, f.Vocabulary.Label(value))
			}
		default:
			for _, text := range stringsIn(record[f.Name]) {
				add(f.Name, text)
			}
		}
	}
	return row
}
