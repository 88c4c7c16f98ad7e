package document

import (
	"slices"
	"strconv"
	"time"

	"atlas/search/query"
)

// Held is what a workspace has on a record that it holds.
type Held struct {
	Workspace string // UUID
	// Views are the Static Views that the record is in.
	Views []string
	// Overlay is nil outside the book.
	Overlay *Overlay
}

// Overlay is what a workspace says of a record in its book. Empty texts are
// unknown values.
type Overlay struct {
	ICPTier string
	// Score counts for accounts only.
	Score         int
	Status, Notes string
	Tags          []string
	UpdatedAt     time.Time
}

// BuildHeld is Build for a record that a workspace holds, with what it has on it
// under `held`. The record keeps the derived fields that it was read with
// (FromPublic), so that it is the global one in each of its fields.
func BuildHeld(r Record, children Children, h Held) []byte {
	b := r.build(make([]byte, 0, 2048), r.fold(), children)
	b = append(b[:len(b)-1], `,"held":`...)
	b = h.append(b, r.Dataset)
	return append(b, '}')
}

// Stub is the document of a record that its workspace does not hold any more, or
// that the global dataset has not: it is found by no search.
func Stub(id string) []byte {
	return append(appendString([]byte(`{"id":`), id), `,"held":{"in_book":false}}`...)
}

// WithVersion adds the version that a held document is written with, so that the
// highest one can be found again.
func WithVersion(doc []byte, version int64) []byte {
	b := append(make([]byte, 0, len(doc)+40), doc[:len(doc)-2]...) // up to the end of `held`
	b = strconv.AppendInt(append(b, `,"version":`...), version, 10)
	return append(b, "}}"...)
}

func (h Held) append(b []byte, d query.Dataset) []byte {
	b = appendString(append(b, `{"workspace_id":`...), h.Workspace)
	b = strconv.AppendBool(append(b, `,"in_book":`...), h.Overlay != nil)
	b = append(b, `,"view_ids":`...)
	views := slices.Sorted(slices.Values(h.Views))
	b = appendList(b, views)
	if h.Overlay == nil {
		return append(b, '}')
	}
	o := h.Overlay
	if o.ICPTier != "" {
		b = appendString(append(b, `,"icp_tier":`...), o.ICPTier)
	}
	if d == query.Accounts {
		b = strconv.AppendInt(append(b, `,"atlas_score":`...), int64(o.Score), 10)
	}
	b = append(b, `,"updated_at":"`...)
	b = o.UpdatedAt.UTC().AppendFormat(b, query.TimeLayout)
	b = append(b, `","text":{`...)
	b = o.appendTexts(b, func(_ query.Field, folded string) string { return folded })
	b = append(b, `},"exact":{`...)
	b = o.appendTexts(b, query.ExactValue)
	if len(o.Tags) > 0 {
		if o.Status != "" || o.Notes != "" {
			b = append(b, ',')
		}
		tags := make([]string, len(o.Tags))
		for i, t := range o.Tags {
			tags[i] = query.ExactValue(overlayFields["tags"], query.Fold(t))
		}
		b = appendList(append(b, `"tags":`...), tags)
	}
	return append(b, "}}"...)
}

// appendTexts appends the members of the texts that are known.
func (o *Overlay) appendTexts(b []byte, form func(query.Field, string) string) []byte {
	start := len(b)
	for _, t := range []struct{ name, value string }{{"workspace_status", o.Status}, {"notes", o.Notes}} {
		if t.value == "" {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = appendString(appendName(b, t.name), form(overlayFields[t.name], query.Fold(t.value)))
	}
	return b
}

var overlayFields = func() map[string]query.Field {
	fields := map[string]query.Field{}
	for _, f := range query.OverlayFields(query.Accounts) {
		fields[f.Name] = f
	}
	return fields
}()

func appendList(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}
