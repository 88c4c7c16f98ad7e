package journal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MaxProblems is how many problems a report lists. Counters count all of them and
// the file of dead letters holds all of them.
const MaxProblems = 1_000

// Problem is one reason why a line or a document was left out. A line can have
// several.
type Problem struct {
	File  string `json:"file"`
	Line  int64  `json:"line"`            // counted from 1, blank lines included
	ID    string `json:"id,omitzero"`     // when Elasticsearch refused the document
	Field string `json:"field,omitempty"` // empty when the line as a whole is wrong
	// Reason is a sentence for people.
	Reason string `json:"reason"`
}

// FirstProblems sorts problems by file and line, in place, and returns the first
// MaxProblems of them. Files are read in the order of their names.
func FirstProblems(all []Problem) []Problem {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return all[:min(len(all), MaxProblems)]
}

// AddProblems adds the problems of a line to those that a report lists. The list
// stays bounded and keeps the first problems by file and line.
func (l DeadLetter) AddProblems(to []Problem) []Problem {
	for _, p := range l.Problems {
		to = append(to, Problem{File: l.File, Line: l.Line, Field: printableField(p.Field), Reason: p.Reason})
	}
	// The workers progress at about the same rate, so little is sorted in vain.
	if len(to) > 2*MaxProblems {
		to = FirstProblems(to)
	}
	return to
}

// maxShownField is how much of a field's name a report shows, in bytes. An unknown
// key can be as long as its line, and a report holds a thousand.
const maxShownField = 200

// printableField shortens a field's name, and quotes one that has control characters, which
// a terminal would obey.
func printableField(field string) string {
	if len(field) > maxShownField {
		field = strings.ToValidUTF8(field[:maxShownField], "") + "…"
	}
	if strings.ContainsFunc(field, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(field)
	}
	return field
}
