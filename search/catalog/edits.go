package catalog

import "unicode/utf8"

// Lengths of terms, in characters, from which one edit or two edits are tolerated.
const (
	OneEditFrom  = 4
	TwoEditsFrom = 8
)

// MaxEdits is the maximum number of edits between a term and a similar one.
func MaxEdits(term string) int {
	switch n := utf8.RuneCountInString(term); {
	case n >= TwoEditsFrom:
		return 2
	case n >= OneEditFrom:
		return 1
	}
	return 0
}
