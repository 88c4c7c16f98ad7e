package guess

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atlas/indexer/source/epsg"
	"atlas/indexer/source/people"
	"atlas/indexer/source/value"
	"atlas/internal/fault"
)

var noRows = fault.New(fault.BadRequest, "the file has no rows to guess from")

// codes are patterns of codes before labels: "1106 - House", "R- 101 Houses", "SO Other".
var codes = []string{
	`^[0-9]{2,5}(\s*-\s*|\s+|$)`, `^[A-Z]{1,4}-\s*[0-9]+\s*`, `^[A-Z][A-Z0-9]{1,3}\s*-\s+`, `^[A-Z][A-Z0-9] `,
	`^[A-Z0-9-]+:\s*`,
}

// codePattern is the pattern of the code at the beginning of nearly all values of a column,
// "" if they have none.
func (w *writer) codePattern(c *column) string {
	if len(c.counts) < 2 {
		return ""
	}
	for _, pattern := range codes {
		re := regexp.MustCompile(pattern)
		n, rest := 0, map[string]bool{}
		for v := range c.counts {
			if re.MatchString(v) && len(re.ReplaceAllString(v, "")) > 2 {
				n++
				rest[re.ReplaceAllString(v, "")] = true
			}
		}
		if n*10 >= len(c.counts)*8 && len(rest) > 1 {
			return pattern
		}
	}
	return ""
}

// prefix is the common beginning of all values of a column, up to a mark: "PERMIT - ". ""
// if there is none.
func (w *writer) prefix(c *column) string {
	values := c.values()
	if len(values) < 2 {
		return ""
	}
	at := strings.Index(values[0], " - ")
	if at < 0 {
		return ""
	}
	prefix := values[0][:at+len(" - ")]
	for _, v := range values {
		if !strings.HasPrefix(v, prefix) {
			return ""
		}
	}
	return prefix
}

// address is the template of the address.
func (w *writer) address() string {
	street := w.of["street"]
	if whole := w.of["address"]; whole != nil && (street == nil || whole.filled >= street.filled) {
		return template(whole)
	}
	var parts []string
	for _, role := range []string{"number", "direction", "street", "suffix"} {
		if c := w.of[role]; c != nil {
			parts = append(parts, template(c))
		}
	}
	if street == nil {
		return ""
	}
	return strings.Join(parts, " ")
}

// texts writes name, description, address and place.
func (w *writer) texts() {
	address, kind := w.address(), ""
	if c := w.kindColumn(); c != nil {
		if kind = template(c); w.codePattern(c) != "" || w.prefix(c) != "" {
			kind = "{" + kindName + "}"
		}
	}
	switch description := w.of["description"]; {
	case address != "" && kind != "":
		w.line("  name: %s", quoted(address+", "+kind))
	case address != "":
		w.line("  name: %s", quoted(address))
	case description != nil:
		w.line("  name: %s   # UNSURE: no column is called like an address", quoted(template(description)))
	default:
		w.line("  name: %s   # UNSURE: no column is called like an address or a description", quoted("Permit "+template(w.profile.columns[0])))
		if people.PersonalColumn(w.profile.columns[0].name) {
			break
		}
	}
	if c := w.of["description"]; c != nil {
		w.line("  description: %s", quoted(template(c)))
	}
	if address != "" {
		w.line("  address: %s", quoted(address))
	}
	w.placeName("city", `""`, "the city")
	switch {
	case w.placed:
		w.line("  state: %s", quoted(template(w.of["state"])))
		w.line("  country: %s", w.state.country())
	case w.probable:
		w.line("  state: %s   # UNSURE: the nearest to its points", quoted(w.state.code))
		w.line("  country: %s", w.state.country())
	default:
		w.placeName("state", `""`, "the state or province, such as TX")
		w.line(`  country: ""   # UNSURE: the country, such as US`)
	}
	if c := w.of["url"]; c != nil {
		w.line("  url: %s", quoted(template(c)))
	}
}

func (w *writer) placeName(role, otherwise, what string) {
	if c := w.of[role]; c != nil {
		w.line("  %s: %s", role, quoted(template(c)))
		return
	}
	w.line("  %s: %s   # UNSURE: %s", role, otherwise, what)
}

// maxTable is the maximum number of values in a table.
const maxTable = 60

// status writes the table of statuses, with a proposal for each and its count.
func (w *writer) status() {
	c := w.of["status"]
	if c == nil {
		w.line("  # No column is called like a status: the dates decide on the stage.")
		return
	}
	w.line("  status:")
	w.line("    of: %s", quoted(template(c)))
	w.table(c, statuses, "", "a stage or a disposition")
}

// table writes the values of a column with their proposals.
func (w *writer) table(c *column, all []meaning, otherwise, what string) {
	if c.private || people.PersonalColumn(c.name) {
		w.line("    table: {}   # its column may be of persons, so its values are not shown")
		return
	}
	w.line("    table:")
	var open []string
	shown := 0
	for _, v := range c.values() {
		if people.Private(v) || strings.ContainsAny(v, "\n\r") {
			continue
		}
		if shown++; shown > maxTable {
			break
		}
		if to := proposed(all, v); to != "" {
			w.line("      %s: %s   # %d", quoted(pattern(v)), to, c.counts[v])
		} else {
			open = append(open, fmt.Sprintf("      # %s:    # UNSURE, %d rows: %s", quoted(pattern(v)), c.counts[v], what))
		}
	}
	for _, line := range open {
		w.line("%s", line)
	}
	if shown == len(open) || shown == 0 {
		w.line("      \"?\": %s   # UNSURE: a table needs an entry", firstValue(all))
	}
	if rest := len(c.counts) - maxTable; rest > 0 {
		w.line("      # and %d more values", rest)
	}
	if otherwise != "" {
		w.line("    default: %s", otherwise)
	}
}

func firstValue(all []meaning) string { return all[len(all)-1].value }

// pattern is the entry of a table that matches only this value.
func pattern(v string) string {
	if strings.Contains(v, "*") || len(v) > 2 && v[0] == '/' && v[len(v)-1] == '/' {
		return "/^(?i)" + regexp.QuoteMeta(v) + "$/"
	}
	return v
}

func (w *writer) use() {
	c := w.useColumn()
	if c == nil || known(uses, c) == 0 {
		w.line("  primary_use: other   # UNSURE: no column says what is built")
		return
	}
	w.line("  primary_use:")
	w.line("    of: %s", quoted(template(c)))
	w.table(c, uses, "other", "a use")
}

// useLike matches names of columns that may have the kind of building.
var useLike = regexp.MustCompile(`(use|usage|occupan|class|category|type|group|kind|desc|structure|subtype)`)

// useColumn is the column with the most proposals for the use.
func (w *writer) useColumn() (best *column) {
	most := 0.0
	for _, c := range w.profile.columns {
		if c.private || !useLike.MatchString(c.letter) || !few(c, w.profile) || w.profile.ofParticipant(c) {
			continue
		}
		kinds := map[string]bool{}
		for v := range c.counts {
			kinds[proposed(uses, v)] = true
		}
		if says := known(uses, c)*float64(c.filled)/float64(w.profile.rows) + 0.05*float64(len(kinds)); says > most {
			best, most = c, says
		}
	}
	return best
}

// known is the share of the rows whose value has a proposal.
func known(all []meaning, c *column) float64 {
	n := 0
	for v, rows := range c.counts {
		if proposed(all, v) != "" && proposed(all, v) != "other" {
			n += rows
		}
	}
	return c.share(n)
}

// numbers writes units, area, storeys and cost.
func (w *writer) numbers() {
	for _, f := range []struct {
		role, key string
		unknown   []string
	}{
		{"units", "residential_units", []string{"0"}}, {"sqft", "sqft", []string{"0"}},
		{"stories", "stories", []string{"0"}}, {"cost", "cost", []string{"0", "1"}},
	} {
		c := w.of[f.role]
		if c == nil {
			continue
		}
		var unknown []string
		for _, u := range f.unknown {
			if n := countOf(c, u); n*50 > c.filled || u == "1" && f.role == "cost" && n > 1 {
				unknown = append(unknown, u)
			}
		}
		unknown = append(unknown, wordsIn(c)...)
		more := ""
		if f.role == "sqft" && regexp.MustCompile(`(sqm|m2|metre|meter)`).MatchString(c.letter) {
			more = ", unit: m2"
		}
		switch {
		case len(unknown) > 0:
			w.line(
				"  %s: { of: %s, unknown: [%s]%s }   # %.0f %% are such", f.key, quoted(template(c)),
				strings.Join(unknown, ", "), more, 100*c.share(countOf(c, "0")+countOf(c, "1")+c.filled-c.numbers),
			)
		case more != "":
			w.line("  %s: { of: %s%s }", f.key, quoted(template(c)), more)
		default:
			w.line("  %s: %s", f.key, quoted(template(c)))
		}
	}
}

// wordsIn are texts that occur in several cells of a numeric column, as YAML values.
func wordsIn(c *column) (all []string) {
	for _, v := range c.values() {
		_, known, err := (value.Numbers{}).Parse(v)
		if (err != nil || !known) && c.counts[v] > 2 && c.counts[v]*50 > c.filled && !people.Private(v) && len(all) < 5 {
			all = append(all, quoted(v))
		}
	}
	return all
}

// countOf is how many cells have a number, in any form.
func countOf(c *column, number string) (n int) {
	want, _ := strconv.ParseFloat(number, 64)
	for v, rows := range c.counts {
		if f, err := strconv.ParseFloat(strings.Trim(v, "$ "), 64); err == nil && f == want {
			n += rows
		}
	}
	return n
}

func (w *writer) dates() {
	for _, f := range []struct{ role, key string }{
		{"filed", "filed_at"}, {"permitted", "permitted_at"}, {"completed", "completed_at"}, {"updated", "updated_at"},
	} {
		if c := w.of[f.role]; c != nil {
			w.line("  %s: %s", f.key, quoted(template(c)))
		}
	}
	for _, c := range w.dateColumns() {
		if !w.used(c) && !c.private {
			w.line("  # UNSURE: the dates of %s are not used", quoted(c.name))
		}
	}
}

// location writes where projects are.
func (w *writer) location() {
	latitude, longitude := w.of["latitude"], w.of["longitude"]
	x, y := w.of["x"], w.of["y"]
	switch {
	case latitude != nil && longitude != nil:
		w.line("  location:")
		w.line("    latitude: %s", quoted(template(latitude)))
		w.line("    longitude: %s", quoted(template(longitude)))
		w.box(w.profile.pairs(latitude, longitude))
	case x != nil && y != nil:
		w.projected(x, y)
	case w.of["point"] != nil:
		w.line("  location:")
		w.line("    point: %s", quoted(template(w.of["point"])))
		w.box(w.profile.points(w.of["point"]))
	default:
		w.line("  # UNSURE: no columns look like coordinates")
	}
}

// box writes points that do not mean a place, and the box around the others.
func (w *writer) box(points [][2]float64) {
	if all := fallbacks(points); len(all) > 0 {
		w.line("    # UNSURE: so many rows have these points that a geocoder may have known no better")
		for i := range all {
			all[i] = quoted(all[i])
		}
		w.line("    ignore: [%s]", strings.Join(all, ", "))
	}
	if b, ok := within(points); ok {
		w.line("    within: [%g, %g, %g, %g]   # nearly all points, and half a degree around", b.South, b.West, b.North, b.East)
	}
}

// projected writes eastings and northings, and their probable system.
func (w *writer) projected(x, y *column) {
	points := w.profile.pairs(x, y)
	if len(points) == 0 {
		return
	}
	if inDegrees(x, y) {
		w.line("  location:")
		w.line("    latitude: %s", quoted(template(y)))
		w.line("    longitude: %s", quoted(template(x)))
		for i, p := range points {
			points[i] = [2]float64{p[1], p[0]}
		}
		w.box(points)
		return
	}
	near, reach := w.options.Near, float64(nearPlace)
	if near == nil && w.placed {
		near, reach = &w.state.Near, nearState
	}
	web := mercator(points)
	if near == nil && !web {
		w.line("  # UNSURE: %s and %s are of a projected system which cannot be known without a place:", x.name, y.name)
		w.line("  # guess again with --near LATITUDE,LONGITUDE, or find the EPSG code in the city's metadata.")
		w.line("  # location: { x: %s, y: %s, epsg: 0 }", quoted(template(x)), quoted(template(y)))
		return
	}
	all := []*epsg.System{webMercator}
	if !web {
		all = systemsOf(sampled(points), *near, reach)
	}
	if len(all) == 0 {
		w.line("  # UNSURE: %s and %s are of no system that Atlas knows, near %.1f, %.1f", x.name, y.name, near.Latitude, near.Longitude)
		return
	}
	w.line("  location:")
	w.line("    x: %s", quoted(template(x)))
	w.line("    y: %s", quoted(template(y)))
	w.line("    epsg: %d   # %s%s", all[0].Code, all[0].Name, unsure(len(all) > 1))
	for _, s := range all[1:min(len(all), 6)] {
		w.line("    # or %d, %s", s.Code, s.Name)
	}
	degrees := make([][2]float64, len(points))
	for i, p := range points {
		degrees[i][0], degrees[i][1] = all[0].Degrees(p[0], p[1])
	}
	w.box(degrees)
}

func unsure(is bool) string {
	if is {
		return "; UNSURE, see a point on a map"
	}
	return ""
}

// sampled are a few points without the outermost.
func sampled(points [][2]float64) [][2]float64 {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b [2]float64) int {
		switch {
		case a[0]+a[1] < b[0]+b[1]:
			return -1
		case a[0]+a[1] > b[0]+b[1]:
			return 1
		}
		return 0
	})
	n := len(sorted)
	return [][2]float64{sorted[n/10], sorted[n/2], sorted[n-1-n/10]}
}
