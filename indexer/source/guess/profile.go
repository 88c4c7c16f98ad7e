package guess

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"atlas/indexer/source/people"
	"atlas/indexer/source/read"
	"atlas/indexer/source/value"
)

// maxRows is how many rows are read; further rows add little.
const maxRows = 50_000

// Bounds of what is stored of a column.
const (
	maxDistinct = 2_000
	maxCell     = 300
	maxNames    = 300 // names that are classified
)

// column is the statistics of a column.
type column struct {
	name   string
	words  []string // of its name
	letter string   // its name, only letters and digits
	spaced string   // its name, words between blanks
	filled int
	// counts has the number of rows by value, up to maxDistinct values; more means that
	// there are others.
	counts map[string]int
	more   bool
	long   int // longest value
	// numbers, dates, days and so on count the cells of each form.
	numbers, clear, slashed, unix, serials, urls, timed int
	monthOver, dayOver                                  int // first or second part above 12
	least, most                                         float64
	hours                                               map[int]int // of day, of milliseconds
	persons, firms, pairs, judged                       int
	private                                             bool
	workbook                                            bool // dates may be numbers of days
}

// profile is the statistics of a file.
type profile struct {
	format  read.Format
	rows    int
	refused int
	short   int // rows with too few cells
	columns []*column
	cells   [][]string // the first rows, unchanged
	byName  map[string]*column
	// numbered counts columns that differ only by a number, by the pattern of their name.
	numbered map[string]int
}

const maxCells = 20_000

// look reads the beginning of a file.
func look(file *read.File) (*profile, error) {
	p := &profile{format: file.Format, byName: map[string]*column{}}
	for p.rows+p.refused < maxRows {
		row, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, is := errors.AsType[*read.RowError](err); is {
			p.refused++
			if strings.Contains(bad.Reason, " fields where ") {
				p.short++
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		p.rows++
		p.grow(file.Columns())
		for i, cell := range row.Cells {
			if cell != "" {
				p.columns[i].see(cell)
			}
		}
		if len(p.cells) < maxCells {
			p.cells = append(p.cells, slices.Clone(row.Cells))
		}
	}
	p.grow(file.Columns())
	for _, c := range p.columns {
		c.judge()
	}
	p.numbered = p.groups()
	return p, nil
}

func (p *profile) grow(names []string) {
	for _, name := range names[min(len(p.columns), len(names)):] {
		words := people.Words(name)
		c := &column{
			name: name, words: words, letter: strings.Join(words, ""), spaced: " " + strings.Join(words, " ") + " ",
			counts: map[string]int{}, hours: map[int]int{}, workbook: p.format == read.XLSX,
		}
		p.columns = append(p.columns, c)
		p.byName[name] = c
	}
}

// see counts a cell that is not empty.
func (c *column) see(cell string) {
	c.filled++
	c.long = max(c.long, len(cell))
	if n, known := c.counts[cell]; known {
		c.counts[cell] = n + 1
	} else if len(c.counts) < maxDistinct && len(cell) <= maxCell {
		c.counts[strings.Clone(cell)] = 1
	} else {
		c.more = true
	}
	if f, known, err := (value.Numbers{}).Parse(cell); err == nil && known {
		if c.numbers == 0 || f < c.least {
			c.least = f
		}
		if c.numbers == 0 || f > c.most {
			c.most = f
		}
		c.numbers++
	}
	c.seeDate(cell)
	if strings.HasPrefix(cell, "http://") || strings.HasPrefix(cell, "https://") {
		c.urls++
	}
}

func (c *column) seeDate(cell string) {
	if len(cell) < 5 || len(cell) > 40 {
		return
	}
	digits := strings.Trim(cell, "0123456789.-") == ""
	switch t, err := (value.Dates{}).Parse(cell); {
	case err == nil && t.IsZero(): // such as 1899-12-30, which means no date
		c.clear++
		return
	case err == nil:
		c.clear++
		if h, m, s := t.Clock(); h+m+s > 0 {
			c.timed++
			if digits || strings.HasPrefix(cell, "/Date") {
				c.hours[h]++
			}
		}
		return
	case digits && len(cell) == 10 && c.least > 1e8 && c.most < 4.2e9:
		c.unix++
		return
	case c.workbook && digits && c.numbers > 0 && c.least > 20_000 && c.most < 80_000:
		c.serials++
		return
	}
	first, rest, found := strings.Cut(strings.FieldsFunc(cell, func(r rune) bool { return r == ' ' })[0], "/")
	if !found {
		if first, rest, found = strings.Cut(cell, "-"); !found {
			first, rest, found = strings.Cut(cell, ".")
		}
	}
	if !found {
		return
	}
	if _, err := (value.Dates{Forms: []value.Form{value.MonthFirst}}).Parse(cell); err == nil {
		c.slashed++
		if second := strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); len(second) > 0 &&
			len(second[0]) == 2 && second[0] > "12" {
			c.dayOver++
		}
	} else if _, err := (value.Dates{Forms: []value.Form{value.DayFirst}}).Parse(cell); err == nil {
		c.slashed++
		if len(first) == 2 && first > "12" {
			c.monthOver++
		}
	}
}

// judge classifies the values as names of persons or firms.
func (c *column) judge() {
	c.private = people.PersonalColumn(c.name)
	if c.numbers*2 > c.filled || c.clear*2 > c.filled || c.filled == 0 {
		return
	}
	privates := 0
	for _, cell := range c.values() {
		if c.judged == maxNames {
			break
		}
		c.judged++
		name := cell
		if left, right, found := strings.Cut(cell, ", "); found && people.KindOf(left, false) == people.Person &&
			people.KindOf(right, true) == people.Firm {
			c.pairs++
			name = right
		}
		switch people.KindOf(name, false) {
		case people.Person:
			c.persons++
		case people.Firm:
			c.firms++
		}
		if people.Private(cell) {
			privates++
		}
	}
	c.private = c.private || c.long < 50 && privates*2 > c.judged
}

// values are the distinct values, the most frequent first.
func (c *column) values() []string {
	return slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int {
		if c.counts[a] != c.counts[b] {
			return c.counts[b] - c.counts[a]
		}
		return strings.Compare(a, b)
	})
}

// unique is the number of distinct values as a share of the filled cells.
func (c *column) unique() float64 {
	if c.filled == 0 {
		return 0
	}
	if c.more {
		return 1
	}
	return float64(len(c.counts)) / float64(c.filled)
}

// share is n as a share of the filled cells.
func (c *column) share(n int) float64 { return float64(n) / float64(max(c.filled, 1)) }

// isDate reports whether most values are dates of some form.
func (c *column) isDate() bool {
	return c.filled > 0 && c.share(c.clear+c.slashed+c.unix+c.serials) > 0.6
}

// hour lists the hours of day, in UTC, of the instants of a column.
func (c *column) hour() (hours []int) {
	for h := range c.hours {
		hours = append(hours, h)
	}
	slices.Sort(hours)
	return hours
}
