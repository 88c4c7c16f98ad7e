package search

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"atlas/cmd/internal/cli"
)

// csvRows writes records as RFC 4180 CSV with a header row, and \n at the end of each row.
type csvRows struct {
	columns  []string // chosen by begin, unless given
	members  []string // fields of the record type in this version
	formulas bool
	bom      bool // a byte order mark before the header

	// missed are fields without a column. It is empty when the columns were given.
	missed map[string]bool
	asked  bool
}

// begin chooses the columns: the known fields in the order of the record, then
// all others of the first records.
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
	var head []byte
	if c.bom {
		head = []byte(byteOrderMark)
	}
	return c.row(head, c.columns), c.columns, nil
}

func (c *csvRows) resume(columns []string) {
	c.asked, c.columns = len(c.columns) > 0, columns
}

// note lists the fields that first occurred after the columns had been chosen.
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

// cell formats a value. Numbers retain their digits and sign.
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
	if !c.formulas && cli.LikeFormula(text) {
		return "'" + text
	}
	return text
}

var listEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// row appends cells, quoted where necessary.
func (c *csvRows) row(b []byte, cells []string) []byte {
	if len(cells) == 1 && cells[0] == "" {
		return append(b, "\"\"\n"...) // readers skip an empty line
	}
	for i, cell := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCell(b, cell, ',')
	}
	return append(b, '\n')
}

// appendCell appends a cell, quoted if necessary.
func appendCell(b []byte, cell string, separator rune) []byte {
	if !strings.ContainsAny(cell, "\"\r\n"+string(separator)) && strings.TrimSpace(cell) == cell {
		return append(b, cell...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(b, '"')
}
