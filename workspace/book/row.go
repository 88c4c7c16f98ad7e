package book

import (
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Layout lists the members of rows, in order.
type Layout struct {
	row     catalog.Rows
	global  []string // members of the global record
	overlay []catalog.Field
}

// LayoutOf is the layout of rows of a kind (docs/api.md, "The book" and "View records").
// chosen has the requested members; all means the default members of such rows.
func LayoutOf(d catalog.Dataset, row catalog.Rows, chosen catalog.FieldSet) Layout {
	fields := catalog.RowFields(d, row)
	if !chosen.All() {
		fields = slices.DeleteFunc(catalog.RowChoice(d, row), func(f catalog.Field) bool { return !chosen.Has(f.Name) })
	}
	l := Layout{row: row}
	for _, f := range fields {
		if f.Overlay {
			l.overlay = append(l.overlay, f)
		} else {
			l.global = append(l.global, f.Name)
		}
	}
	return l
}

// recordLayouts are those of catalog.BookRecord.
var recordLayouts = func() map[catalog.Dataset]Layout {
	all := map[catalog.Dataset]Layout{}
	for _, d := range catalog.Held {
		all[d] = LayoutOf(d, catalog.BookRecord, catalog.FieldSet{})
	}
	return all
}()

// Row renders a global record with the workspace's overlay. If o is nil, the record is
// not in the book and all overlay members are null.
func (l Layout) Row(public jsontext.Value, o *Overlay) (jsontext.Value, error) {
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
		if list, ok := value.([]string); ok && l.row == catalog.ViewRow {
			if b, err = appendHTMLSafe(b, list); err != nil {
				return nil, err
			}
			continue
		}
		b = catalog.AppendValue(b, f, value)
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
