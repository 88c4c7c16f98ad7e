package guess

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"atlas/indexer/source"
	"atlas/indexer/source/people"
	"atlas/indexer/source/read"
)

// Options are known facts about the file.
type Options struct {
	// Name of the source and its title; by default placeholders.
	Name, Title string
	// Near is a place of the source, for coordinates of a projected system; nil: unknown.
	Near *Near
	// Path and Sheet are where the rows are, as given.
	Path, Sheet string
}

// Describe writes a description of a file. It is well-formed, and its comments say what is
// uncertain. Error: BadRequest for a file without rows.
func Describe(file *read.File, o Options) ([]byte, error) {
	p, err := look(file)
	if err != nil {
		return nil, err
	}
	if p.rows == 0 {
		return nil, noRows
	}
	w := &writer{profile: p, of: p.assign(), options: o, groups: p.numbered}
	w.state, w.placed = p.stateOf(w.of["state"])
	w.nearest()
	w.all()
	text := []byte(w.b.String())
	if _, err := source.Parse("guess", text); err != nil {
		return text, fmt.Errorf("the guess is wrong, which is a mistake of Atlas: %w", err)
	}
	return text, nil
}

// writer writes the YAML.
type writer struct {
	b       strings.Builder
	profile *profile
	of      map[string]*column
	groups  map[string]int
	options Options
	// state is where the source is: placed, if its rows say so; probable, if it is the
	// nearest to its points.
	state    state
	placed   bool
	probable bool
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// quoted is a text as a scalar of YAML.
func quoted(text string) string {
	b, err := yaml.MarshalWithOptions(text, yaml.JSON())
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(b))
}

// template is the template of a column.
func template(c *column) string { return "{" + escaped(c.name) + "}" }

// escaped is the name of a column in a template. Names with braces or bars cannot be named.
func escaped(name string) string { return name }

func (w *writer) all() {
	name, title := w.options.Name, w.options.Title
	if name == "" {
		name = "my-city"
	}
	if title == "" {
		title = "City of … building permits"
	}
	w.line("# yaml-language-server: $schema=source.json")
	w.line("# Guessed from %d rows%s. UNSURE marks what to look at; then: atlas index source check", w.profile.rows, w.refused())
	w.line("version: 1")
	w.line("source: %s            # UNSURE: a short name; ids depend on it, so it must not change later", name)
	w.line("title: %s", quoted(title))
	w.line(`licence: ""            # UNSURE: licence, attribution and terms of the data`)
	w.line(`attribution: ""`)
	w.line(`terms: ""`)
	w.line("")
	w.reading()
	w.values()
	w.columns()
	w.personal()
	w.key()
	w.line("project:")
	w.texts()
	w.status()
	w.use()
	w.numbers()
	w.dates()
	w.location()
	w.firms()
	w.line("")
	w.line("changes:")
	w.line("  complete: false   # UNSURE: true if each file has all permits, so that missing ones are gone")
	w.unused()
}

func (w *writer) refused() string {
	if w.profile.refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them unreadable", w.profile.refused)
}

func (w *writer) reading() {
	if w.options.Path != "" {
		w.line("read: { path: %s }", quoted(w.options.Path))
		return
	}
	if w.options.Sheet != "" {
		w.line("read: { sheet: %s }", quoted(w.options.Sheet))
		return
	}
	if w.profile.short*100 > w.profile.rows {
		w.line("read: { fill_short: true }   # %d rows have fewer cells than the header", w.profile.short)
	}
}

// values writes the cells that mean no value, the forms of dates, and the time zone.
func (w *writer) values() {
	w.line("values:")
	if none := w.none(); len(none) > 0 {
		w.line("  none: [%s]", strings.Join(none, ", "))
	}
	month, dayFirst, unix := 0, 0, 0
	sure := 0
	for _, c := range w.dateColumns() {
		if c.slashed > c.clear {
			if c.monthOver > c.dayOver {
				dayFirst++
			} else {
				month++
			}
			sure += c.monthOver + c.dayOver
		}
		if c.unix > c.clear {
			unix++
		}
	}
	var forms []string
	comment := ""
	switch {
	case dayFirst > month:
		forms = append(forms, "d/m/y")
	case month > 0:
		forms = append(forms, "m/d/y")
	}
	if len(forms) > 0 && sure == 0 {
		comment = "   # UNSURE: no day is above 12, it may be d/m/y"
	}
	if unix > 0 {
		forms = append(forms, "unix")
	}
	if len(forms) > 0 {
		w.line("  dates: [%s]%s", strings.Join(forms, ", "), comment)
	}
	w.zone()
	w.line("")
}

func (w *writer) dateColumns() (all []*column) {
	for _, c := range w.profile.columns {
		if c.isDate() {
			all = append(all, c)
		}
	}
	return all
}

// zone writes the time zone of the state, or the one that the instants of the file suggest.
func (w *writer) zone() {
	if w.placed || w.probable {
		w.line("  zone: %s%s", w.state.zone, unsureOf(w.probable, "by the nearest state or province"))
		return
	}
	if zone, c := w.hourZone(); zone != "" {
		w.line("  zone: %s   # UNSURE: by the hour at which the days of %s begin", zone, quoted(c.name))
		return
	}
	w.line("  zone: UTC   # UNSURE: the time zone of the city, such as America/Chicago")
}

// hourZone is the time zone in which the instants of a column are midnight, "" if there is
// none.
func (w *writer) hourZone() (zone string, of *column) {
	for _, c := range w.dateColumns() {
		if hours := c.hour(); len(hours) == 1 || len(hours) == 2 {
			// In summer days begin an hour earlier.
			zone := map[int]string{
				4: "America/New_York", 5: "America/New_York", 6: "America/Chicago", 7: "America/Denver",
				8: "America/Los_Angeles",
			}[hours[len(hours)-1]]
			if zone != "" {
				return zone, c
			}
		}
	}
	return "", nil
}

func unsureOf(is bool, why string) string {
	if is {
		return "   # UNSURE: " + why
	}
	return ""
}

// nearest chooses the state or province nearest to the points of the file, or to the given
// place, if the rows do not say it.
func (w *writer) nearest() {
	near := w.options.Near
	latitude, longitude := w.of["latitude"], w.of["longitude"]
	x, y := w.of["x"], w.of["y"]
	if latitude == nil && x != nil && y != nil && inDegrees(x, y) {
		latitude, longitude = y, x
	}
	if near == nil && latitude != nil && longitude != nil {
		if points := w.profile.pairs(latitude, longitude); len(points) > 0 {
			middle := sampled(points)[1]
			near = &Near{middle[0], middle[1]}
		}
	}
	if near == nil && x != nil && y != nil {
		if points := w.profile.pairs(x, y); mercator(points) {
			middle := sampled(points)[1]
			latitude, longitude := webMercator.Degrees(middle[0], middle[1])
			near = &Near{latitude, longitude}
		}
	}
	if near == nil || w.placed {
		return
	}
	best := float64(nearState)
	zone, _ := w.hourZone()
	for _, code := range slices.Sorted(maps.Keys(states)) {
		s := states[code]
		if far := kilometres(*near, s.Latitude, s.Longitude); far < best && (zone == "" || zone == s.zone) {
			best, w.state, w.probable = far, s, true
		}
	}
}

// inDegrees reports whether eastings and northings are degrees.
func inDegrees(x, y *column) bool {
	return x.least >= -180 && x.most <= 180 && y.least >= -90 && y.most <= 90
}

// noneLike are cells that mean no value.
var noneLike = []string{
	"n/a", "na", "(null)", "null", "none", "unknown", "-", "--", "nan", "not available", "not applicable", "<null>",
	"tbd", "nil",
}

func (w *writer) none() (all []string) {
	for _, like := range noneLike {
		for _, c := range w.profile.columns {
			found := ""
			for v := range c.counts {
				if strings.EqualFold(v, like) && (found == "" || v < found) {
					found = v
				}
			}
			if found != "" && !slices.Contains(all, quoted(found)) {
				all = append(all, quoted(found))
				break
			}
		}
	}
	return all
}

// columns writes columns made of others: a kind without its code.
func (w *writer) columns() {
	c := w.kindColumn()
	if c == nil || w.codePattern(c) == "" && w.prefix(c) == "" {
		return
	}
	w.line("columns:")
	w.line("  # such as %s", quoted(example(c)))
	if prefix := w.prefix(c); prefix != "" {
		w.line("  %s: { of: %s, after: %s }", kindName, quoted(template(c)), quoted(prefix))
	} else {
		w.line("  %s: { of: %s, without: '%s' }", kindName, quoted(template(c)), w.codePattern(c))
	}
	w.line("")
}

// kindName is that of the column made of the kind.
const kindName = "kind without code"

func (w *writer) kindColumn() *column {
	if c := w.of["kind"]; c != nil {
		return c
	}
	return w.of["use"]
}

func example(c *column) string {
	values := c.values()
	if len(values) == 0 || c.private {
		return ""
	}
	return values[0]
}

// personal lists columns with values about persons although their names do not say so.
func (w *writer) personal() {
	var all []string
	for _, c := range w.profile.columns {
		if !people.PersonalColumn(c.name) && !w.used(c) && (c.private || c.judged > 10 && c.persons*2 > c.judged) {
			all = append(all, quoted(c.name))
		}
	}
	if len(all) > 0 {
		w.line("personal: [%s]   # UNSURE: by their values", strings.Join(all, ", "))
		w.line("")
	}
}

func (w *writer) used(c *column) bool {
	for _, of := range w.of {
		if of == c {
			return true
		}
	}
	return false
}

// key writes the columns that identify a permit.
func (w *writer) key() {
	c, comment := w.of["key"], ""
	if c == nil {
		for _, other := range w.profile.columns {
			if isKey(other, w.profile) && !other.private && (c == nil || other.unique() > c.unique()) {
				c = other
			}
		}
		comment = "   # UNSURE: no column is called like a number of permits"
	}
	if c == nil {
		c = w.profile.columns[0]
		comment = "   # UNSURE: no column distinguishes rows"
	}
	repeats := 0
	if !c.more {
		repeats = c.filled - len(c.counts)
	}
	if repeats > 0 {
		comment += fmt.Sprintf("   # %d of %d rows repeat a number", repeats, w.profile.rows)
	}
	w.line("key: %s%s", quoted(template(c)), comment)
	if c.private || people.PersonalColumn(c.name) {
		w.line("public: [%s]", quoted(c.name))
	}
	if repeats > 0 {
		w.line("repeats: latest   # UNSURE: latest takes the latest row of a number, phases adds the rows up")
	}
	if as := w.of["asof"]; as != nil {
		w.line("as_of: %s", quoted(template(as)))
	}
	w.line("")
}
