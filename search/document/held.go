package document

import (
	"slices"
	"strconv"

	"atlas/search/catalog"
)

// Held is a workspace's data on a record that it holds.
type Held struct {
	Workspace string // UUID
	// Views are the Static Views that contain the record.
	Views []string
	// Overlay is nil if the record is not in the book.
	Overlay Overlay
}

// Overlay provides the workspace's own values of a record.
type Overlay interface {
	// Value returns an overlay value in the form of Record, nil if it is unknown. An
	// empty text counts as unknown here.
	Value(f *catalog.Field) any
}

// BuildHeld is Build for a record that a workspace holds; the workspace's data is under
// `held`. The record must have its derived fields (FromPublic). They are not computed
// again, so that all global fields equal those of the global document.
func BuildHeld(r Record, children Children, h Held) []byte {
	if foldable, is := children.(Foldable); is {
		children = foldable.In(r.Folding)
	}
	b := r.build(make([]byte, 0, 2048), r.fold(), children)
	b = append(b[:len(b)-1], `,"`+HeldBlock+`":`...)
	b = h.append(b, r)
	return append(b, '}')
}

// Stub is the document of a record that its workspace no longer holds, or that is missing
// in the global dataset. Searches do not find it.
func Stub(id string) []byte {
	return append(catalog.AppendString([]byte(`{"id":`), id), `,"`+HeldBlock+`":{"`+InBook+`":false}}`...)
}

// WithVersion adds the version with which a held document is written, so that a search can
// find the highest one.
func WithVersion(doc []byte, version int64) []byte {
	b := append(make([]byte, 0, len(doc)+40), doc[:len(doc)-2]...) // up to the end of `held`
	b = strconv.AppendInt(append(b, `,"`+Version+`":`...), version, 10)
	return append(b, "}}"...)
}

func (h Held) append(b []byte, r Record) []byte {
	b = catalog.AppendString(append(b, `{"`+WorkspaceID+`":`...), h.Workspace)
	b = strconv.AppendBool(append(b, `,"`+InBook+`":`...), h.Overlay != nil)
	b = catalog.AppendStrings(append(b, `,"`+ViewIDs+`":`...), slices.Sorted(slices.Values(h.Views)))
	if h.Overlay == nil {
		return append(b, '}')
	}
	fields := catalog.OverlayFields(r.Dataset)
	for i := range fields {
		f := &fields[i]
		if value := h.Overlay.Value(f); f.Kind != catalog.Plain && (!f.Folded() || f.Faceted()) && value != nil && value != "" {
			b = catalog.AppendValue(appendName(append(b, ','), f.Name), f, value)
		}
	}
	b = h.appendWords(b, fields)
	b = h.appendFolded(append(b, `,"`+TextGroup+`":{`...), fields, false, r.Folding)
	b = h.appendFolded(append(b, `,"`+ExactGroup+`":{`...), fields, true, r.Folding)
	return append(b, '}')
}

// appendWords appends the words of the overlay's texts.
func (h Held) appendWords(b []byte, fields []catalog.Field) []byte {
	b = append(b, `,"`+Words+`":[`...)
	start := len(b)
	for i := range fields {
		if fields[i].Words {
			for _, text := range textsOf(h.Overlay.Value(&fields[i])) {
				b = appendTokens(b, catalog.Fold(text))
			}
		}
	}
	return append(b[:max(start, len(b)-1)], ']')
}

// appendFolded appends the members of the group `text` or `exact` and its closing
// brace.
func (h Held) appendFolded(b []byte, fields []catalog.Field, exact bool, by catalog.Folding) []byte {
	start := len(b)
	for i := range fields {
		f := &fields[i]
		if !f.Folded() || !exact && f.Kind != catalog.FullText {
			continue
		}
		value := h.Overlay.Value(f)
		switch v := value.(type) {
		case string:
			if v == "" {
				continue
			}
			value = foldedValue(f, v, exact, by)
		case []string:
			if len(v) == 0 {
				continue
			}
			list := make([]string, len(v))
			for i, text := range v {
				list[i] = foldedValue(f, text, exact, by)
			}
			value = list
		default:
			continue
		}
		b = append(catalog.AppendValue(appendName(b, f.Name), f, value), ',')
	}
	if len(b) == start {
		return append(b, '}')
	}
	b[len(b)-1] = '}'
	return b
}

func foldedValue(f *catalog.Field, text string, exact bool, by catalog.Folding) string {
	if exact {
		return catalog.ExactValue(*f, by.Fold(text))
	}
	return by.Fold(text)
}
