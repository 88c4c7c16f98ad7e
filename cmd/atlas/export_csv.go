package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// csvRows writes records as RFC 4180 has it, with \n at the end of a row and a
// first row of column names.
type csvRows struct {
	columns  []string // decided by begin, when none are asked for
	members  []string // of the record, as this version knows them
	formulas bool

	// missed are members without a column, but for those that are left out because
	// others were asked for.
	missed map[string]bool
	asked  bool
}

// begin decides the columns: the known members in the record's order, and then
// whatever else the first records have.
func (c *csvRows) begin(first []json.RawMessage) ([]byte, []string, error) {
	if c.asked = len(c.columns) > 0; !c.asked {
		more := map[string]bool{}
		for _, record := range first {
			members, err := membersOf(record)
			if err != nil {
				return nil, nil, err
			}
			for name := range members {
				more[name] = true
			}
		}
		for _, name := range c.members {
			delete(more, name)
		}
		c.columns = append(slices.Clone(c.members), slices.Sorted(maps.Keys(more))...)
	}
	return c.row(nil, c.columns), c.columns, nil
}

func (c *csvRows) goOn(columns []string) {
	c.asked, c.columns = len(c.columns) > 0, columns
}

// note names the members that turned up after the columns had been decided.
func (c *csvRows) note() string {
	if len(c.missed) == 0 {
		return ""
	}
	return "some records have members that are not in the file, for they came up after its columns were decided: " + strings.Join(slices.Sorted(maps.Keys(c.missed)), ", ")
}

func (c *csvRows) append(b []byte, record json.RawMessage) ([]byte, error) {
	members, err := membersOf(record)
	if err != nil {
		return nil, err
	}
	cells := make([]string, len(c.columns))
	for i, name := range c.columns {
		cells[i] = c.cell(members[name])
	}
	for name := range members {
		if !c.asked && !slices.Contains(c.columns, name) {
			if c.missed == nil {
				c.missed = map[string]bool{}
			}
			c.missed[name] = true
		}
	}
	return c.row(b, cells), nil
}

// cell is a value as text. Numbers keep their digits and their sign.
func (c *csvRows) cell(raw json.RawMessage) string {
	var list []json.RawMessage
	text := ""
	switch {
	case len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		elements := make([]string, len(list))
		for i, element := range list {
			elements[i] = listEscaper.Replace(plainText(element, ""))
		}
		text = strings.Join(elements, ";")
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		return string(raw)
	default:
		text = plainText(raw, "")
	}
	if !c.formulas && likeFormula(text) {
		return "'" + text
	}
	return text
}

var listEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// likeFormula tells whether a spreadsheet may take a text for a formula. Those
// that skip spaces and control characters first would do so for " =1+1" too, and
// those of East Asia for the wide forms of the signs.
func likeFormula(text string) bool {
	if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") || strings.HasPrefix(text, "\n") {
		return true
	}
	text = strings.TrimLeftFunc(text, func(r rune) bool { return r <= ' ' || r == '\u00a0' || r == '\u3000' || r == '\ufeff' })
	return strings.IndexAny(text, "=+-@＝＋－＠") == 0
}

// row writes cells, quoted where they need it.
func (c *csvRows) row(b []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		// A row of one empty cell would be an empty line, which readers skip.
		if strings.ContainsAny(cell, "\",\r\n") || strings.TrimSpace(cell) != cell || len(cells) == 1 && cell == "" {
			b = append(b, '"')
			b = append(b, strings.ReplaceAll(cell, `"`, `""`)...)
			b = append(b, '"')
			continue
		}
		b = append(b, cell...)
	}
	return append(b, '\n')
}
