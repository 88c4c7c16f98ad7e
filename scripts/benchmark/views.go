package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/search/catalog"
	"atlas/search/query"
)

// viewsCmd compares a large with a small Static View of the same index, and
// Dynamic Views with the same Data searches.
type viewsCmd struct {
	place
	Records int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed    uint64 `default:"1" help:"Seed of the dataset (default: 1)."`
	Members int    `default:"100000" help:"Records of the large View, 1000 to 100000; as many as there are in a smaller dataset (default: 100000)."`
	Seconds int    `default:"20" help:"About how long each measurement takes, in seconds (default: 20)."`
	Rounds  int    `default:"5" help:"How often each is repeated; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *viewsCmd) Validate() error {
	return errors.Join(within("records", 10_000, 100_000_000, c.Records), within("members", 1_000, 100_000, c.Members),
		within("seconds", 1, 3600, c.Seconds), within("rounds", 1, 100, c.Rounds))
}

// Run measures and prints.
func (c *viewsCmd) Run(ctx context.Context) error {
	if err := c.Check("views"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

// viewsReport is the result; times are medians of a round in milliseconds.
type viewsReport struct {
	heading
	Members int     `json:"members"`
	Filled  float64 `json:"filled_seconds"`
	Walked  float64 `json:"walked_seconds"`
	Rounds  int     `json:"rounds"`
	// Static compares pages of the large View with those of the small one.
	Static     []*compared     `json:"static"`
	StaticLoad *kindsSaturated `json:"static_saturated"`
	// Dynamic compares Views with Data searches.
	Dynamic     []*compared     `json:"dynamic"`
	DynamicLoad *kindsSaturated `json:"dynamic_saturated"`
}

// smallView is how many records the small View has.
const smallView = 100

// dynamicCases are definitions, and Data searches that find the same records.
var dynamicCases = []struct {
	name, dataset    string
	definition, body string
}{
	{"accounts by type", "account", `{"account_type":["developer","owner"]}`, `{"filters":{"account_type":{"value":["developer","owner"]}}}`},
	{
		"accounts by activity", "account", `{"last_activity":{"after":"2024-01-01"}}`,
		`{"filters":{"last_activity_at":{"value":["2024-01-01",null]}}}`,
	},
	{
		"projects by stage and use", "project",
		`{"stage":["filed","permitted"],"primary_use":["multifamily","office"]}`,
		`{"filters":{"stage":{"value":["filed","permitted"]},"primary_use":{"value":["multifamily","office"]}}}`,
	},
	{
		"projects by cost and storeys", "project", `{"cost":{"min":"1000000"},"stories_known":["known"]}`,
		`{"filters":{"cost":{"value":[1000000,null]},"stories":{"value":[0,1000000]}}}`,
	},
	{"all projects", "project", `{}`, `{}`},
}

// on runs the benchmark on an installation and prints the result.
func (c *viewsCmd) on(i *installation) {
	i.serving(i.newKey(), func(s *serving) {
		r := viewsReport{heading: i.heading(), Rounds: c.Rounds}
		r.prepareStatic(s, c.Members)
		r.prepareDynamic(s)
		s.settle()
		all := slices.Concat(r.Static, r.Dynamic)
		s.addAlone(all)
		r.StaticLoad = saturate(r.Static, "large View", "small View", "Elasticsearch alone, large View")
		r.DynamicLoad = saturate(r.Dynamic, "Views", "Data searches", "Elasticsearch alone, Views")
		s.compareAll(all, c.Rounds, float64(c.Seconds)/2, r.StaticLoad, r.DynamicLoad)
		check(c.Emit("views", r))
	})
}

func (s *serving) createView(body string) string {
	var answer struct {
		Data struct{ View struct{ ID string } }
	}
	s.send("/workspace/views/upsert", body, &answer)
	return answer.Data.View.ID
}

// viewRows reads a page of a View's records.
func (s *serving) viewRows(view string, limit int, cursor string) (*load.Request, page) {
	return s.search("/workspace/views/"+view+"/records/search", next(nil, limit, cursor), 0)
}

// prepareStatic fills the Views through the API and pages through the large one to its end:
// every record must occur once. On the way it stores the requests for pages at the beginning,
// in the middle and near the end.
func (r *viewsReport) prepareStatic(s *serving, members int) {
	ids := s.recordIDs(catalog.Projects, members)
	if len(ids) < 10*smallView {
		failf("%d projects are too few", len(ids))
	}
	r.Members = len(ids)
	fill := func(name string, ids []string) (view string, seconds float64) {
		view = s.createView(fmt.Sprintf(`{"dataset":"project","view_type":"static","name":%q}`, name))
		items := make([]string, len(ids))
		for i, id := range ids {
			items[i] = fmt.Sprintf(`{"record_id":%q}`, id)
		}
		seconds, _ = s.sendAll("/workspace/views/"+view+"/records/add/batch", items)
		return view, seconds
	}
	large, filled := fill("Large", ids)
	r.Filled = filled
	say("filled a View with %d records in %.1f s", len(ids), filled)
	small, _ := fill("Small", spaced(ids, smallView))
	first, _ := s.viewRows(small, pageSize, "")

	kept := map[string]int{"page 1": 0, "in the middle": len(ids) / 2, "near the end": len(ids) - 2*query.MaxLimit}
	seen := map[string]bool{}
	began := time.Now()
	for cursor := ""; len(seen) == 0 || cursor != ""; {
		for name, at := range kept {
			if len(seen) < at {
				continue
			}
			delete(kept, name)
			deep, _ := s.viewRows(large, pageSize, cursor)
			r.Static = append(r.Static, &compared{Name: name, one: []*load.Request{deep}, other: []*load.Request{first}})
		}
		_, p := s.viewRows(large, query.MaxLimit, cursor)
		for _, id := range p.Data {
			if seen[id] {
				failf("%s came twice", id)
			}
			seen[id] = true
		}
		if len(p.Data) == 0 {
			failf("a page without a record")
		}
		cursor = p.Metadata.SearchAfter
	}
	r.Walked = time.Since(began).Seconds()
	for _, id := range ids {
		if !seen[id] {
			failf("%s did not come", id)
		}
	}
	if len(seen) != len(ids) {
		failf("%d records came of %d", len(seen), len(ids))
	}
	say("walked through %d records in %.1f s, each once", len(seen), r.Walked)
}

// prepareDynamic creates the Views. Each must find the records of its Data search.
func (r *viewsReport) prepareDynamic(s *serving) {
	for _, c := range dynamicCases {
		view := s.createView(fmt.Sprintf(`{"dataset":%q,"view_type":"dynamic","name":%q,"definition":{"version":1,"q":"","fields":%s}}`, c.dataset, c.name, c.definition))
		one, found := s.viewRows(view, pageSize, "")
		var p page
		other := s.send("/data/"+c.dataset+"s/search", c.body, &p)
		if !slices.Equal(found.Data, p.Data) {
			failf("%s: the View finds other records than the Data search", c.name)
		}
		r.Dynamic = append(r.Dynamic, &compared{Name: c.name, one: []*load.Request{one}, other: []*load.Request{other}})
	}
}

// Markdown writes the tables.
func (r viewsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- figures are medians of %d rounds of p50s in ms, in brackets the lowest and the highest round; both by turns over one connection, pages of %d; every answer was compared with the first one\n\n", r.Rounds, pageSize)
	fmt.Fprintf(&b, "**Static Views** of projects: one of %d records, filled in %.1f s in batches of %d over %d connections and walked to its end in %.1f s in pages of %d, every record once; beside it one of %d of the same records.\n\n",
		r.Members, r.Filled, batchSize, fillers, r.Walked, query.MaxLimit, smallView)
	fmt.Fprintln(
		&b,
		comparedTable(r.Static, "page of the large View", "large", "small, page 1", "ratio, aim ≤ 1.5", "Elasticsearch alone, large"),
	)
	fmt.Fprintf(&b, "These pages equally often over %d connections, %d requests a round of each column.\n\n", connections, r.StaticLoad.RequestsARound)
	fmt.Fprintln(&b, r.StaticLoad.table())
	fmt.Fprint(&b, "**Dynamic Views** beside the Data search that finds the same records.\n\n")
	fmt.Fprintln(&b, comparedTable(r.Dynamic, "definition", "View", "Data search", "ratio, aim ≤ 1.3", "Elasticsearch alone, View"))
	fmt.Fprintf(&b, "These equally often over %d connections, %d requests a round of each column.\n\n", connections, r.DynamicLoad.RequestsARound)
	fmt.Fprintln(&b, r.DynamicLoad.table())
	return b.String()
}
