package book

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/query"
)

// layout lists the members of a row, in order.
type layout struct {
	global  []string // members of the global record
	overlay []query.Field
}

var layouts = func() map[query.Rows]map[query.Dataset]layout {
	all := map[query.Rows]map[query.Dataset]layout{query.BookRecord: {}, query.BookRow: {}, query.ViewRow: {}}
	for row, byDataset := range all {
		for _, d := range query.Held {
			var l layout
			for _, f := range query.RowFields(d, row) {
				if f.Overlay {
					l.overlay = append(l.overlay, f)
				} else {
					l.global = append(l.global, f.Name)
				}
			}
			byDataset[d] = l
		}
	}
	return all
}()

// Row renders a global record with the workspace's overlay: row is one of query.Rows
// (docs/api.md, "The book" and "View records"). If o is nil, the record is not in the
// book and all overlay members are null.
func Row(d query.Dataset, row query.Rows, public jsontext.Value, o *Overlay) (jsontext.Value, error) {
	l := layouts[row][d]
	values, err := pick(public, l.global)
	if err != nil {
		return nil, err
	}
	b := make(jsontext.Value, 0, 512)
	for i, name := range l.global {
		b = append(member(b, name), values[i]...)
	}
	for i := range l.overlay {
		f := &l.overlay[i]
		b = member(b, f.Name)
		if o == nil {
			b = append(b, "null"...)
			continue
		}
		value := o.Value(f)
		if list, ok := value.([]string); ok && row == query.ViewRow {
			if b, err = appendHTMLSafe(b, list); err != nil {
				return nil, err
			}
			continue
		}
		b = query.AppendValue(b, f, value)
	}
	return append(b, '}'), nil
}

// appendHTMLSafe escapes <, > and &. Rows of Views escape them in lists, rows of the
// book do not.
func appendHTMLSafe(b jsontext.Value, list []string) (jsontext.Value, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "stored tags are unreadable")
	}
	return append(b, text...), nil
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
