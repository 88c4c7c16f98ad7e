package permit

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"atlas/indexer/source"
	"atlas/indexer/source/value"
)

// text is a compiled source.Value.
type text struct {
	of             value.Template
	after, before  string
	match, without *regexp.Regexp
	letters        string
	unknown        *value.Matcher
	unknownNumbers []float64
	table          *value.Matcher
	values         []string
	otherwise      string
	unit           string
	first          []*text
	set            bool
	// known caches the results of texts that are slow to compute.
	known map[string]result
}

// Bounds of text.known.
const (
	maxKnown     = 4096
	maxKnownText = 200
)

// result is the value of a text for a row.
type result struct {
	text string
	// cell is the key that was looked up in a table, unmapped whether the table lacks it.
	cell     string
	unmapped bool
}

func compileText(v source.Value, columns *value.Columns) (*text, error) {
	t := &text{after: v.After, before: v.Before, letters: v.Case, otherwise: v.Default, unit: v.Unit, set: !v.IsZero()}
	for _, f := range v.First {
		one, err := compileText(f, columns)
		if err != nil {
			return nil, err
		}
		t.first = append(t.first, one)
	}
	var err error
	if t.of, err = value.ParseTemplate(v.Of, columns); err != nil {
		return nil, err
	}
	if v.Match != "" {
		if t.match, err = value.Pattern(v.Match); err != nil {
			return nil, err
		}
	}
	if v.Without != "" {
		if t.without, err = value.Pattern(v.Without); err != nil {
			return nil, err
		}
	}
	if len(v.Unknown) > 0 {
		if t.unknown, err = value.NewMatcher(v.Unknown); err != nil {
			return nil, err
		}
		for _, u := range v.Unknown {
			if f, err := strconv.ParseFloat(u, 64); err == nil {
				t.unknownNumbers = append(t.unknownNumbers, f)
			}
		}
	}
	if len(v.Table) > 0 {
		patterns := make([]string, len(v.Table))
		for i, e := range v.Table {
			patterns[i] = e.Pattern
			t.values = append(t.values, e.Value)
		}
		if t.table, err = value.NewMatcher(patterns); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// columns lists the numbers of the columns that it names.
func (t *text) columns() []int {
	all := t.of.Columns()
	for _, f := range t.first {
		all = append(all, f.columns()...)
	}
	return all
}

// read computes the text for a row.
func (t *text) read(cell func(int) string) result {
	if t == nil || !t.set {
		return result{}
	}
	if t.first != nil {
		return t.readFirst(cell)
	}
	s := t.of.Text(cell)
	if !t.costs() || len(s) > maxKnownText {
		return t.result(s)
	}
	r, known := t.known[s]
	if !known {
		r = t.result(s)
		if t.known == nil || len(t.known) >= maxKnown {
			t.known = map[string]result{}
		}
		r.text, r.cell = strings.Clone(r.text), strings.Clone(r.cell)
		t.known[strings.Clone(s)] = r // s may be a part of a whole row
	}
	return r
}

// costs reports whether a text takes more time than looking it up.
func (t *text) costs() bool {
	return t.match != nil || t.without != nil || t.table != nil || t.unknown != nil || t.letters != ""
}

// result is the result of a filled template.
func (t *text) result(s string) result {
	s = t.cut(s)
	if s != "" && t.unknown != nil && t.unknown.Find(s) >= 0 {
		s = ""
	}
	r := result{text: s, cell: s}
	if t.table != nil {
		if i := t.table.Find(s); i >= 0 {
			r.text = t.values[i]
		} else if s != "" {
			r.unmapped = true
			r.text = t.otherwise
		}
	}
	if r.text == "" {
		r.text = t.otherwise
	}
	r.text = lettersOf(r.text, t.letters)
	return r
}

// readFirst is the first of several texts that has a value. It is unmapped if all tables lack
// it.
func (t *text) readFirst(cell func(int) string) result {
	var last result
	for i, f := range t.first {
		r := f.read(cell)
		if r.unmapped && i+1 < len(t.first) && f.table != nil && f.otherwise == "" {
			last = r
			continue
		}
		if r.text != "" {
			if r.unmapped && last.cell != "" {
				r.cell = last.cell
			}
			return r
		}
		if last.cell == "" {
			last = r
		}
	}
	if last.unmapped {
		last.text = ""
	}
	return last
}

func (t *text) cut(s string) string {
	if t.after != "" {
		if _, rest, found := strings.Cut(s, t.after); found {
			s = rest
		}
	}
	if t.before != "" {
		s, _, _ = strings.Cut(s, t.before)
	}
	if t.match != nil && s != "" {
		found := t.match.FindStringSubmatch(s)
		switch {
		case found == nil:
			s = ""
		case len(found) > 1:
			s = found[1]
		default:
			s = found[0]
		}
	}
	if t.without != nil {
		s = t.without.ReplaceAllString(s, "")
	}
	return strings.TrimSpace(s)
}

func lettersOf(s, letters string) string {
	switch letters {
	case "upper":
		return strings.ToUpper(s)
	case "lower":
		return strings.ToLower(s)
	case "title":
		return cases.Title(language.English).String(strings.ToLower(s))
	}
	return s
}
