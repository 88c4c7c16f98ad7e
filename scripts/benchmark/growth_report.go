package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atlas/scripts/benchmark/report"
)

// picturesDir is the folder of the pictures, next to the file that shows them.
const picturesDir = "growth"

// save writes the results so far: a run takes hours, and its last part may fail.
func (c *growthCmd) save(r *growthReport) error {
	if c.Write == "" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(c.Write), picturesDir)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	pictures := r.pictures()
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		if err := pictures[name].WriteSVG(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return c.Replace("growth", r.Markdown())
}

// grownLine is a line of one figure.
func grownLine(all []*grown, name string, kind int, dotted bool, of func(*grown) report.Spread) report.Line {
	l := report.Line{Name: name, Kind: kind, Dotted: dotted}
	for _, g := range all {
		l.X, l.Y = append(l.X, float64(g.At)), append(l.Y, of(g))
	}
	return l
}

func latencyChart(title, x string, all []*grown) report.Chart {
	return report.Chart{Title: title, X: x, Y: "ms a search", Lines: []report.Line{
		grownLine(all, "through Atlas, p50", 0, false, func(g *grown) report.Spread { return g.Service.P50 }),
		grownLine(all, "through Atlas, p99", 0, true, func(g *grown) report.Spread { return g.Service.P99 }),
		grownLine(all, "Elasticsearch alone, p50", 1, false, func(g *grown) report.Spread { return g.Direct.P50 }),
		grownLine(all, "Elasticsearch alone, p99", 1, true, func(g *grown) report.Spread { return g.Direct.P99 }),
	}}
}

// seriesChart has a line for each of the series.
func seriesChart(title, x, y string, sizes []int, all []*series) report.Chart {
	c := report.Chart{Title: title, X: x, Y: y}
	for kind, s := range all {
		l := report.Line{Name: s.Name, Kind: kind, Y: s.P50}
		for _, size := range sizes {
			l.X = append(l.X, float64(size))
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// pictures returns the charts of the measurements, by file name.
func (r *growthReport) pictures() map[string]report.Chart {
	all := map[string]report.Chart{}
	if len(r.Records) > 0 {
		all["records.svg"] = latencyChart("A search over one connection by records", "records", r.Records)
		all["records-cpu.svg"] = report.Chart{
			Title: "CPU time of a search by records", X: "records", Y: "ms of CPU a search", Lines: []report.Line{
				grownLine(r.Records, "Elasticsearch, for Atlas", 0, false, func(g *grown) report.Spread { return g.Service.CPU.Elasticsearch }),
				grownLine(r.Records, "Elasticsearch, alone", 1, false, func(g *grown) report.Spread { return g.Direct.CPU.Elasticsearch }),
				grownLine(r.Records, "Atlas", 2, false, func(g *grown) report.Spread { return g.Service.CPU.Atlas }),
				grownLine(r.Records, "Redis", 3, false, func(g *grown) report.Spread { return g.Service.CPU.Redis }),
			},
		}
	}
	if len(r.Connections) > 0 {
		at := report.Number(r.AtRecords)
		all["connections.svg"] = report.Chart{
			Title: fmt.Sprintf("Searches a second by connections, %s records", at), X: "connections", Y: "searches/s",
			Lines: []report.Line{
				grownLine(r.Connections, "through Atlas", 0, false, func(g *grown) report.Spread { return g.Service.PerSecond }),
				grownLine(r.Connections, "Elasticsearch alone", 1, false, func(g *grown) report.Spread { return g.Direct.PerSecond }),
			},
		}
		all["connections-latency.svg"] = latencyChart(fmt.Sprintf("A search by connections, %s records", at), "connections", r.Connections)
	}
	if g := r.Pages; g != nil {
		all["pages.svg"] = seriesChart(
			fmt.Sprintf("A page of %d by its number, %s records", g.Limit, report.Number(g.Records)), "page",
			"ms a page, p50", g.Pages, g.Sorts,
		)
	}
	if g := r.Books; g != nil {
		all["books.svg"] = seriesChart(
			fmt.Sprintf("Searches of a book by its size, %s records", report.Number(g.Records)), "records in the book",
			"ms a search, p50", g.Sizes, g.Kinds,
		)
	}
	return all
}

// grownTable has a row for each size or number of connections.
func grownTable(of string, all []*grown) report.Table {
	t := report.Table{Head: []string{
		of, "", "requests/s", "p50, ms", "p99, ms", "CPU of Elasticsearch, ms", "of Atlas", "of Redis", "of Postgres",
	}}
	for _, g := range all {
		for _, side := range []struct {
			name string
			grownSide
		}{{"through Atlas", g.Service}, {"Elasticsearch alone", g.Direct}} {
			t.Add(report.Number(g.At), side.name, side.PerSecond.Text(0), side.P50.Text(2), side.P99.Text(2),
				side.CPU.Elasticsearch.Text(2), side.CPU.Atlas.Text(2), side.CPU.Redis.Text(3), side.CPU.Postgres.Text(3))
		}
	}
	return t
}

// seriesTable has a column for each size, and a last one for the cost of the
// largest size relative to the smallest.
func seriesTable(of, size string, sizes []int, all []*series) report.Table {
	t := report.Table{Head: []string{of}}
	for _, n := range sizes {
		t.Head = append(t.Head, fmt.Sprintf(size, report.Number(n)))
	}
	t.Head = append(t.Head, "last to first")
	for _, s := range all {
		first, last, ratio := s.P50[0], s.P50[len(s.P50)-1], report.Spread{}
		for i := range first.Rounds {
			ratio.Add(last.Rounds[i] / first.Rounds[i])
		}
		t.Add(append([]string{s.Name}, report.Texts(2, append(slices.Clone(s.P50), ratio)...)...)...)
	}
	return t
}

// Markdown writes the tables, each below its pictures.
func (r *growthReport) Markdown() string {
	var b strings.Builder
	pictures := r.pictures()
	show := func(names ...string) {
		for _, name := range names {
			fmt.Fprintf(&b, "![%s](%s/%s)\n", pictures[name].Title, picturesDir, name)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- datasets of seed %d, one shard a dataset; client, service and backends share the machine\n", r.Dataset.Seed)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest, in pictures thin lines; what is compared is done by turns, after a warm-up that does not count; every answer was compared with the first one to the same request\n", r.Rounds)
	for _, t := range r.Taken {
		fmt.Fprintf(&b, "- all that was measured with %s records took %.0f min, loading them included\n", report.Number(t.Records), t.Minutes)
	}
	fmt.Fprintln(&b)
	if len(r.Records) > 0 {
		fmt.Fprintf(&b, "**Records**: %d searches over one connection, the next as soon as the one before is answered.\n\n", r.Requests)
		show("records.svg", "records-cpu.svg")
		fmt.Fprintln(&b, grownTable("records", r.Records))
	}
	if len(r.Connections) > 0 {
		fmt.Fprintf(&b, "**Connections**: %d searches of %s records, over each connection the next as soon as the one before is answered.\n\n", r.Requests, report.Number(r.AtRecords))
		show("connections.svg", "connections-latency.svg")
		fmt.Fprintln(&b, grownTable("connections", r.Connections))
	}
	if g := r.Books; g != nil {
		fmt.Fprintf(&b, "**Books** of projects, of %s records; medians of a round's p50s in ms over one connection, pages of 25.\n\n", report.Number(g.Records))
		show("books.svg")
		fmt.Fprintln(&b, seriesTable("search", "book of %s", g.Sizes, g.Kinds))
		t := report.Table{Head: []string{"book", "filled in, s", "searchable after, s"}}
		for i, n := range g.Sizes {
			t.Add(report.Number(n), fmt.Sprintf("%.1f", g.Filled[i]), fmt.Sprintf("%.1f", g.Projected[i]))
		}
		fmt.Fprintln(&b, t)
	}
	if g := r.Pages; g != nil {
		fmt.Fprintf(&b, "**Pages** of %d by cursor through %s records; medians of a round's p50s in ms over one connection.\n\n", g.Limit, report.Number(g.Records))
		show("pages.svg")
		fmt.Fprintln(&b, seriesTable("sort", "page %s", g.Pages, g.Sorts))
	}
	return b.String()
}
