package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
)

// Facets is `atlas facets`.
type Facets struct {
	counting

	Facet   []string `short:"F" sep:"none" placeholder:"FIELD[:HOW]" help:"Field to count by; up to 12, see above."`
	Measure string   `placeholder:"OF:FIELD" help:"Number to combine for every value or bucket: sum, avg, min or max of a field, such as sum:cost."`
}

// Help is shown below the options.
func (Facets) Help() string {
	return `--facet counts by
  stage                     the 10 most frequent values
  city:30                   the 30 most frequent ones, up to 100
  permitted_at:month        day, week, month, quarter or year
  cost:8                    8 buckets of equal width
  cost:..9999,10000..       ranges; both ends are included
  '{"field":"city","prefix":"cal"}'   a facet as docs/api.md has it
A date alone is counted by year, a number in 10 buckets.

` + filterHelp + `

It costs no credits. Status: 0 counted, 1 failed, 2 arguments make no sense, 4 the credits are used up.`
}

func (c *Facets) Check() error { return c.check(c.Measure) }

// Run counts and prints.
func (c *Facets) Run(ctx context.Context, s *cli.Streams) error {
	t, describe, q, err := c.begin(ctx, s)
	if err != nil {
		return apiError(s.Err, err)
	}
	request := client.FacetRequest{
		Query: q.Query, Words: q.Words, Typos: q.Typos, Filters: q.Filters, Relations: q.Relations, Any: q.Any,
		None: q.None,
	}
	if request.Facets, err = c.facets(describe); err != nil {
		return apiError(s.Err, err)
	}
	counted, err := t.source.Facets(ctx, request)
	if err != nil {
		return apiError(s.Err, err)
	}
	switch {
	case c.JSON:
		return json.NewEncoder(s.Out).Encode(counted)
	case c.Output.Output == "csv":
		return c.printCSV(s.Out, counted)
	}
	return c.print(s.Out, t, counted)
}

// facets parses --facet and --measure.
func (c *Facets) facets(describe func() ([]client.Field, error)) ([]client.Facet, error) {
	var all []client.Facet
	for _, arg := range c.Facet {
		f, err := parseFacet(arg, describe)
		if err != nil {
			return nil, err
		}
		f.Measure = cmp.Or(f.Measure, measureOf(c.Measure))
		all = append(all, f)
	}
	return all, nil
}

// parseFacet parses a facet: JSON, FIELD or FIELD:HOW.
func parseFacet(arg string, describe func() ([]client.Field, error)) (f client.Facet, err error) {
	if strings.HasPrefix(arg, "{") {
		var own struct {
			client.Facet
			ExcludeOwn *bool `json:"exclude_own"`
		}
		d := json.NewDecoder(strings.NewReader(arg))
		d.DisallowUnknownFields()
		if err := d.Decode(&own); err != nil {
			return f, cli.ConfigError{fmt.Sprintf("--facet %s: is no facet: %v", arg, err)}
		}
		own.CountOwn = own.ExcludeOwn != nil && !*own.ExcludeOwn
		return own.Facet, nil
	}
	fields, err := describe()
	if err != nil {
		return f, err
	}
	key, how, _ := strings.Cut(arg, ":")
	i := slices.IndexFunc(fields, func(f client.Field) bool { return f.Key == key && f.Kind != client.FieldRelation })
	if i < 0 {
		var keys []string
		for _, f := range fields {
			keys = append(keys, f.Key)
		}
		if several := strings.Split(key, ","); len(several) > 1 {
			return f, cli.ConfigError{"give each facet its own option: --facet " + strings.Join(several, " --facet ")}
		}
		return f, cli.ConfigError{fmt.Sprintf("--facet %s: there is no key %s%s", arg, key, input.DidYouMean("; ", key, keys, ""))}
	}
	f.Field = key
	n, notNumber := strconv.Atoi(how)
	switch kind := fields[i].Kind; {
	case how == "" && kind == client.FieldDate:
		f.Interval = client.IntervalYear
	case kind == client.FieldDate:
		f.Interval = client.Interval(how)
	case how == "" && kind == client.FieldNumber:
		f.Buckets = 10
	case how == "":
	case notNumber == nil && kind == client.FieldNumber:
		f.Buckets = n
	case notNumber == nil:
		f.Limit = n
	default:
		f.Ranges, err = parseRanges(how)
	}
	if err != nil {
		err = cli.ConfigError{fmt.Sprintf("--facet %s: %v", arg, err)}
	}
	return f, err
}

// parseRanges parses from..to,from..to; either end may be left out.
func parseRanges(text string) (ranges [][2]*float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "..")
		if !ok {
			return nil, fmt.Errorf("%q is neither a number nor a range from..to", part)
		}
		var r [2]*float64
		for i, end := range []string{from, to} {
			if end == "" {
				continue
			}
			n, err := strconv.ParseFloat(end, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number", end)
			}
			r[i] = &n
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func (c *Facets) print(out io.Writer, t target, counted client.Facets) error {
	if _, err := fmt.Fprintf(
		out, "%s %s match; reading all costs %s credits\n", cli.Grouped(int(counted.Count)), t.name,
		cli.Grouped(int(counted.ExportCredits)),
	); err != nil {
		return err
	}
	for _, f := range counted.Facets {
		if _, err := fmt.Fprintf(out, "\n%s\n", f.Field); err != nil {
			return err
		}
		if err := c.printFacet(out, f); err != nil {
			return err
		}
	}
	return nil
}

// printCSV prints a row for each value and each bucket of all facets.
func (c *Facets) printCSV(out io.Writer, counted client.Facets) error {
	var rows [][]string
	for _, f := range counted.Facets {
		for _, v := range f.Values {
			label := ""
			if v.Label != nil {
				label = *v.Label
			}
			rows = append(rows, []string{f.Field, v.Value, label, "-", "-", fmt.Sprint(v.Count), shownNumber(v.Measure)})
		}
		for _, b := range f.Buckets {
			rows = append(rows, []string{f.Field, "-", "-", plainText(b.From, ""), plainText(b.To, ""), fmt.Sprint(b.Count), shownNumber(b.Measure)})
		}
		if f.Other > 0 {
			rows = append(rows, []string{f.Field, "(other)", "-", "-", "-", fmt.Sprint(f.Other), "-"})
		}
		if f.Unknown > 0 {
			rows = append(rows, []string{f.Field, "(unknown)", "-", "-", "-", fmt.Sprint(f.Unknown), "-"})
		}
	}
	return cli.PrintCSV(out, []string{"field", "value", "label", "from", "to", "count", "measure"}, rows)
}

func (c *Facets) printFacet(out io.Writer, f client.FacetCounts) error {
	heading, most := "FROM TO COUNT", int64(1)
	if f.Values != nil {
		heading = "VALUE LABEL COUNT"
	}
	measured := c.Measure != ""
	for _, v := range f.Values {
		most, measured = max(most, v.Count), measured || v.Measure != nil
	}
	for _, b := range f.Buckets {
		most, measured = max(most, b.Count), measured || b.Measure != nil
	}
	if measured {
		heading += " " + cmp.Or(strings.ToUpper(strings.ReplaceAll(c.Measure, ":", "_")), "MEASURE")
	}
	var rows [][]string
	add := func(first, second string, count int64, measure *float64, bar string) {
		row := []string{first, second, cli.Grouped(int(count))}
		if measured {
			row = append(row, shownNumber(measure))
		}
		if bar != "" {
			row = append(row, bar)
		}
		rows = append(rows, row)
	}
	for _, v := range f.Values {
		label := "-"
		if v.Label != nil {
			label = cli.ShownText(*v.Label)
		}
		add(cli.ShownText(v.Value), label, v.Count, v.Measure, bar(v.Count, most))
	}
	for _, b := range f.Buckets {
		add(shownCell(b.From), shownCell(b.To), b.Count, b.Measure, bar(b.Count, most))
	}
	if f.Other > 0 {
		add("(other)", "-", f.Other, nil, "")
	}
	if f.Unknown > 0 {
		add("(unknown)", "-", f.Unknown, nil, "")
	}
	return cli.PrintTable(out, heading+" BAR", rows)
}

// shownNumber is a measure to two decimals.
func shownNumber(n *float64) string {
	if n == nil {
		return "-"
	}
	return strings.TrimSuffix(strconv.FormatFloat(*n, 'f', 2, 64), ".00")
}

// bar is a count as a bar of at most barCells, at least one for a positive count.
func bar(count, most int64) string {
	const barCells = 30
	return strings.Repeat("█", int((count*barCells+most-1)/most))
}
