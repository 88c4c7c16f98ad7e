package permit

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// row is the row that is being read.
type row struct {
	source *Source
	cells  []string
	at     []int // position of each column in cells, -1 if the file has none
	made   map[int]string
	cell   func(int) string
}

func (r *row) begin(cells []string) {
	r.cells = cells
	if r.made == nil {
		r.made = map[int]string{}
		r.cell = r.get
	}
	clear(r.made)
}

// get is the value of a column: trimmed, "" for cells that mean no value.
func (r *row) get(n int) string {
	if t := r.source.made[n]; t != nil {
		v, known := r.made[n]
		if !known {
			r.made[n] = "" // a column that names itself has no value
			v = t.read(r.cell).text
			r.made[n] = v
		}
		return v
	}
	i := r.at[n]
	if i < 0 || i >= len(r.cells) {
		return ""
	}
	c := r.cells[i]
	if c != "" && r.source.none != nil && r.source.none.Find(c) >= 0 {
		return ""
	}
	return c
}

// columnOf is the column of a text, for reasons.
func (s *Source) columnOf(t *text) string {
	columns := t.columns()
	for _, n := range columns {
		if s.row.at[n] >= 0 && s.row.get(n) != "" {
			return s.columns.Names[n]
		}
	}
	if len(columns) == 0 {
		return ""
	}
	if made := s.made[columns[0]]; made != nil && !slices.Contains(made.columns(), columns[0]) {
		return s.columnOf(made)
	}
	return s.columns.Names[columns[0]]
}

// Trouble is something wrong with a row or one of its cells.
type Trouble struct {
	Column string `json:"field"`
	Reason string `json:"reason"`
}

// Longest values a record may have, in characters.
const (
	maxText        = 1000
	maxDescription = 20000
	// maxTitled is the maximum length of a name for which the titles of signals are not too
	// long.
	maxTitled = maxText - 40
)

// wrongText says what is wrong with a text, "" if nothing is.
func wrongText(s string, limit int) string {
	switch {
	case !utf8.ValidString(s):
		return "not UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL"
	case len(s) > limit && utf8.RuneCountInString(s) > limit:
		return fmt.Sprintf("longer than %d characters", limit)
	}
	return ""
}

// mended is a text cut and cleaned for a record.
func mended(s string, limit int) string {
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit-1]) + "…"
	}
	return strings.TrimSpace(s)
}
