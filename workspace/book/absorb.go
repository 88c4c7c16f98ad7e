package book

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"atlas/search/catalog"
	"atlas/workspace"
)

// notesField is the overlay field whose texts are joined when records merge.
const notesField = "notes"

// Absorb returns the overlay of a record after another one was merged into it and the
// workspace has overlays of both (docs/api.md, "Merged records"): its own values, and those
// of the other that it lacks. Tags are united and notes joined, as far as they fit.
func (o Overlay) Absorb(gone Overlay, now time.Time) Overlay {
	values := make(Values, len(o.Values)+len(gone.Values))
	for _, f := range catalog.WrittenFields() {
		if v := absorbed(&f, o.Values[f.Name], gone.Values[f.Name]); v != nil {
			values[f.Name] = v
		}
	}
	o.Values, o.UpdatedAt, o.UpdatedBy = values, now, workspace.UserID{}
	return o
}

func absorbed(f *catalog.Field, own, other any) any {
	switch {
	case own == nil:
		return other
	case other == nil:
		return own
	case f.List():
		tags := DistinctTags(slices.Concat(own.([]string), other.([]string)))
		return tags[:min(len(tags), f.MaxItems)]
	case f.Name == notesField:
		if strings.Contains(own.(string), other.(string)) {
			return own
		}
		if both := own.(string) + "\n\n" + other.(string); utf8.RuneCountInString(both) <= f.MaxChars {
			return both
		}
	}
	return own
}
