package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// picturesDir is where the pictures are, beside the file that shows them.
const picturesDir = "growth"

// keep writes what there is so far: a run takes hours, and its last part may
// fail.
func (b *growthBench) keep() error {
	if b.Write == "" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(b.Write), picturesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pictures := b.report.pictures()
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(pictures[name].svg()), 0o644); err != nil {
			return err
		}
	}
	return replaceSection(b.Write, "growth", b.report.markdown())
}

// pictures are those of what was measured, by the names of their files.
func (r growthReport) pictures() map[string]chart {
	all := map[string]chart{}
	if len(r.Records) > 0 {
		all["records.svg"] = latencyChart("A search over one connection by records", "records", r.Records)
		all["records-cpu.svg"] = cpuChart(r.Records)
	}
	if len(r.Connections) > 0 {
		all["connections.svg"] = throughputChart(r.AtRecords, r.Connections)
		all["connections-latency.svg"] = latencyChart(fmt.Sprintf("A search by connections, %s records", figure(float64(r.AtRecords))), "connections", r.Connections)
	}
	if r.Pages != nil {
		all["pages.svg"] = r.Pages.chart()
	}
	if r.Books != nil {
		all["books.svg"] = r.Books.chart()
	}
	return all
}

// markdown writes the tables, each below its pictures.
func (r growthReport) markdown() string {
	var b strings.Builder
	pictures := r.pictures()
	show := func(names ...string) {
		for _, name := range names {
			fmt.Fprintf(&b, "![%s](%s/%s)\n", pictures[name].title, picturesDir, name)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- datasets of seed %d, one shard a dataset; client, service and backends share the machine\n", r.Dataset.Seed)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest, in pictures thin lines; what is compared is done by turns, after a warm-up that does not count; every answer was compared with the first one to the same request\n", r.Rounds)
	for _, t := range r.Taken {
		fmt.Fprintf(&b, "- all that was measured with %s records took %.0f min, loading them included\n", figure(float64(t.Records)), t.Minutes)
	}
	fmt.Fprintln(&b)
	if len(r.Records) > 0 {
		fmt.Fprintf(&b, "**Records**: %d searches over one connection, the next as soon as the one before is answered.\n\n", r.Requests)
		show("records.svg", "records-cpu.svg")
		fmt.Fprintln(&b, grownTable("records", r.Records))
	}
	if len(r.Connections) > 0 {
		fmt.Fprintf(&b, "**Connections**: %d searches of %s records, over each connection the next as soon as the one before is answered.\n\n", r.Requests, figure(float64(r.AtRecords)))
		show("connections.svg", "connections-latency.svg")
		fmt.Fprintln(&b, grownTable("connections", r.Connections))
	}
	if g := r.Books; g != nil {
		fmt.Fprintf(&b, "**Books** of projects, of %s records; medians of a round's p50s in ms over one connection, pages of 25.\n\n", figure(float64(g.Records)))
		show("books.svg")
		fmt.Fprintln(&b, seriesTable("search", "book of %s", g.Sizes, g.Kinds))
		t := table{head: []string{"book", "filled in, s", "searchable after, s"}}
		for i, n := range g.Sizes {
			t.add(figure(float64(n)), fmt.Sprintf("%.1f", g.Filled[i]), fmt.Sprintf("%.1f", g.Projected[i]))
		}
		fmt.Fprintln(&b, t)
	}
	if g := r.Pages; g != nil {
		fmt.Fprintf(&b, "**Pages** of %d by cursor through %s records; medians of a round's p50s in ms over one connection.\n\n", g.Limit, figure(float64(g.Records)))
		show("pages.svg")
		fmt.Fprintln(&b, seriesTable("sort", "page %s", g.Pages, g.Sorts))
	}
	return b.String()
}
