package permits

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

// Longest values a record may have, in characters.
const (
	maxText        = 1000
	maxDescription = 20000
)

// permit is one row of the file. Empty cells are empty strings, zero times and
// nil numbers.
type permit struct {
	number, status            string
	applied, issued, ended    time.Time
	class, group, description string
	applicant, contractor     string
	units                     *int64
	cost, sqft                *float64
	address                   string
	latitude, longitude       *float64
}

// requiredColumns may be in any order, with others between them.
var requiredColumns = []string{
	"permitnum", "statuscurrent", "applieddate", "issueddate", "completeddate", "permitclass", "permitclassgroup",
	"description", "applicantname", "contractorname", "housingunits", "estprojectcost", "totalsqft",
	"originaladdress", "latitude", "longitude",
}

// header has the position of each column.
type header struct {
	width int
	at    map[string]int
}

// parseHeader returns a BadRequest error when the first row is not that of a
// permits file.
func parseHeader(fields []string) (header, error) {
	h := header{width: len(fields), at: make(map[string]int, len(fields))}
	for i, name := range fields {
		name = strings.ToLower(name)
		if _, twice := h.at[name]; twice && slices.Contains(requiredColumns, name) {
			return h, fault.New(fault.BadRequest, "this is not a permits file: its first row has the column %s twice", name)
		}
		h.at[name] = i
	}
	var missing []string
	for _, name := range requiredColumns {
		if _, ok := h.at[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(fields) > 0 && strings.HasPrefix(fields[0], ndjson.ZipMagic) {
		return h, fault.New(fault.BadRequest, "this is a workbook, such as of Excel: save it as CSV")
	}
	if named := slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return name == "" }); len(named) == 1 && len(missing) > 0 {
		return h, fault.New(fault.BadRequest, "this is not a permits file: its first row names one column, %.100q; delete titles above the row that names the columns", named[0])
	}
	if len(missing) > 0 {
		return h, fault.New(fault.BadRequest, "this is not a permits file: its first row lacks the columns %s", strings.Join(missing, ", "))
	}
	return h, nil
}

// cells reads the columns of one row and keeps the first error.
type cells struct {
	header
	fields []string
	err    *rowError
}

func (c *cells) refuse(column, reason string) {
	if c.err == nil {
		c.err = &rowError{field: column, reason: reason}
	}
}

func (c *cells) text(column string, limit int) string {
	s := c.fields[c.at[column]]
	switch {
	case !utf8.ValidString(s):
		c.refuse(column, "not UTF-8")
	case strings.ContainsRune(s, 0):
		c.refuse(column, "holds a NUL")
	case len(s) > limit && utf8.RuneCountInString(s) > limit:
		c.refuse(column, "longer than "+strconv.Itoa(limit)+" characters")
	}
	return s
}

// date returns the zero time for no date, and for 0001-01-01, which exports of .NET have
// for it.
func (c *cells) date(column string) time.Time {
	s := c.fields[c.at[column]]
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	c.refuse(column, quoted(s)+" is not a date")
	return time.Time{}
}

func (c *cells) number(column string) *float64 {
	s := c.fields[c.at[column]]
	if s == "" {
		return nil
	}
	// ParseFloat also accepts words and hexadecimal numbers, which no permit has.
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || strings.Trim(s, "0123456789.+-eE") != "" {
		c.refuse(column, quoted(s)+" is not a number")
		return nil
	}
	return &f
}

func (c *cells) degrees(column string, limit float64) *float64 {
	f := c.number(column)
	if f != nil && math.Abs(*f) > limit {
		c.refuse(column, quoted(c.fields[c.at[column]])+" is not an angle of that kind")
	}
	return f
}

func (c *cells) whole(column string) *int64 {
	s := c.fields[c.at[column]]
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		c.refuse(column, quoted(s)+" is not a whole number")
		return nil
	}
	return &n
}

// parse reads a row. Its error says which column cannot be used.
func (h header) parse(fields []string) (permit, *rowError) {
	if len(fields) != h.width {
		return permit{}, &rowError{reason: strconv.Itoa(len(fields)) + " fields where the first row has " + strconv.Itoa(h.width)}
	}
	c := cells{header: h, fields: fields}
	p := permit{
		number:      c.text("permitnum", maxText),
		status:      c.text("statuscurrent", maxText),
		applied:     c.date("applieddate"),
		issued:      c.date("issueddate"),
		ended:       c.date("completeddate"),
		class:       c.text("permitclass", maxText),
		group:       c.text("permitclassgroup", maxText),
		description: c.text("description", maxDescription),
		applicant:   c.text("applicantname", maxText),
		contractor:  c.text("contractorname", maxText),
		units:       c.whole("housingunits"),
		cost:        c.number("estprojectcost"),
		sqft:        c.number("totalsqft"),
		address:     c.text("originaladdress", maxText),
		latitude:    c.degrees("latitude", 90),
		longitude:   c.degrees("longitude", 180),
	}
	if p.number == "" {
		c.refuse("permitnum", "empty")
	}
	name := p.name()
	if name == "" {
		c.refuse("originaladdress", "empty, as is the permit class: the project would have no name")
	}
	// A signal's title is the longest text that contains the name.
	for _, e := range p.events() {
		if utf8.RuneCountInString(e.title(name)) > maxText {
			c.refuse("originaladdress", "too long, with the permit class, for a name")
		}
	}
	if utf8.RuneCountInString(name) > maxText {
		c.refuse("originaladdress", "too long, with the permit class, for a name")
	}
	return p, c.err
}

// quoted shows a value in a report, shortened.
func quoted(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}
