package value

import (
	"fmt"
	"strings"
)

// Bounds of templates.
const (
	maxTemplate = 2000
	maxParts    = 64
)

// Template makes a text of columns: "{number} {street}, {city|town}". {a|b} is the first of
// the two with a value. Text between two columns is used only if both sides have a value;
// text before the first and after the last one if any has. Spaces collapse. A template
// without columns is a constant.
type Template struct {
	parts []part
}

// part is a text, or columns of which the first with a value is used.
type part struct {
	text    string
	columns []int
}

// Columns numbers the columns that templates name, in the order of their appearance.
type Columns struct {
	Names []string
	// Optional columns may be missing in a file: {a|b} needs one of the two, {a|} neither.
	Groups [][]int
	at     map[string]int
}

// Number is the number of a column.
func (c *Columns) Number(name string) int {
	key := ColumnKey(name)
	if n, known := c.at[key]; known {
		return n
	}
	if c.at == nil {
		c.at = map[string]int{}
	}
	c.at[key] = len(c.Names)
	c.Names = append(c.Names, name)
	return len(c.Names) - 1
}

// ColumnKey is the form in which names of columns are compared.
func ColumnKey(name string) string { return Equal(name) }

// ParseTemplate reads a template. \{ and \\ are literal characters.
func ParseTemplate(text string, columns *Columns) (Template, error) {
	var t Template
	if len(text) > maxTemplate {
		return t, fmt.Errorf("has %d bytes, at most %d are read", len(text), maxTemplate)
	}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			t.parts = append(t.parts, part{text: b.String()})
			b.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return t, fmt.Errorf("has a { without its }")
			}
			names := strings.Split(text[i+1:i+end], "|")
			flush()
			p, err := columnsOf(names, columns)
			if err != nil {
				return t, err
			}
			t.parts = append(t.parts, p)
			i += end
		default:
			b.WriteByte(c)
		}
	}
	flush()
	if len(t.parts) > maxParts {
		return t, fmt.Errorf("has %d parts, at most %d are read", len(t.parts), maxParts)
	}
	return t, nil
}

func columnsOf(names []string, columns *Columns) (part, error) {
	var p part
	optional := false
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name == "" {
			optional = len(names) > 1
			continue
		}
		p.columns = append(p.columns, columns.Number(name))
	}
	if len(p.columns) == 0 {
		return p, fmt.Errorf("names no column in {}")
	}
	if !optional {
		columns.Groups = append(columns.Groups, p.columns)
	}
	return p, nil
}

// Constant reports whether the template names no column.
func (t Template) Constant() bool {
	for _, p := range t.parts {
		if p.columns != nil {
			return false
		}
	}
	return true
}

// Columns lists the numbers of its columns.
func (t Template) Columns() (all []int) {
	for _, p := range t.parts {
		all = append(all, p.columns...)
	}
	return all
}

// Text fills in the template. cell returns the trimmed value of a column.
func (t Template) Text(cell func(column int) string) string {
	if len(t.parts) == 0 {
		return ""
	}
	if len(t.parts) == 1 {
		if t.parts[0].columns == nil {
			return t.parts[0].text
		}
		return first(t.parts[0].columns, cell)
	}
	var b strings.Builder
	between, any := "", false
	for i, p := range t.parts {
		if p.columns == nil {
			between = p.text
			continue
		}
		v := first(p.columns, cell)
		if v == "" {
			continue
		}
		if any || i == 1 { // the text before the first column, or between two values
			b.WriteString(between)
		} else if t.parts[0].columns == nil {
			b.WriteString(t.parts[0].text)
		}
		b.WriteString(v)
		between, any = "", true
	}
	if last := t.parts[len(t.parts)-1:]; any && last[0].columns == nil {
		b.WriteString(last[0].text)
	}
	return collapse(b.String())
}

func first(columns []int, cell func(int) string) string {
	for _, c := range columns {
		if v := cell(c); v != "" {
			return v
		}
	}
	return ""
}

// collapse reduces spaces on a line to one, and trims.
func collapse(s string) string {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
}
