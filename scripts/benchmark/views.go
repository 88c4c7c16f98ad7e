package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	JSON    bool   `name:"json" help:"Print JSON instead of tables."`
	Write   string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, between the markers bench:views."`
}

func (c *viewsCmd) Validate() error {
	if c.Records < 10_000 || c.Records > 100_000_000 || c.Members < 1_000 || c.Members > 100_000 || c.Seconds < 1 || c.Rounds < 1 {
		return errors.New("an option is out of its bounds: see --help")
	}
	return nil
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

// dynamicCases are definitions, and the Data searches that find the same.
var dynamicCases = []struct {
	name, dataset    string
	definition, body string
}{
	{"accounts by type", "account", `{"account_type":["developer","owner"]}`, `{"filters":{"account_type":{"value":["developer","owner"]}}}`},
	{"accounts by activity", "account", `{"last_activity":{"after":"2024-01-01"}}`, `{"filters":{"last_activity_at":{"value":["2024-01-01",null]}}}`},
	{"projects by stage and use", "project", `{"stage":["filed","permitted"],"primary_use":["multifamily","office"]}`, `{"filters":{"stage":{"value":["filed","permitted"]},"primary_use":{"value":["multifamily","office"]}}}`},
	{"projects by cost and storeys", "project", `{"cost":{"min":"1000000"},"stories_known":["known"]}`, `{"filters":{"cost":{"value":[1000000,null]},"stories":{"value":[0,1000000]}}}`},
	{"all projects", "project", `{}`, `{}`},
}

// viewsBench is one run of it.
type viewsBench struct {
	*viewsCmd
	*running
	report viewsReport
}

// Run measures and prints.
func (c *viewsCmd) Run(ctx context.Context) error {
	if err := hasSection(c.Write, "views"); err != nil {
		return err
	}
	return withInstallation(ctx, c.place, c.Records, c.Seed, c.on)
}

// on measures on an installation and prints.
func (c *viewsCmd) on(ctx context.Context, i *installation, before machine) error {
	return i.serving(ctx, before, func(ctx context.Context, r *running) error {
		b := &viewsBench{viewsCmd: c, running: r, report: viewsReport{heading: r.heading, Rounds: c.Rounds}}
		for _, step := range []func(context.Context) error{b.prepareStatic, b.prepareDynamic, b.settle, b.measure} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return emit(b.report, c.JSON, c.Write, "views")
	})
}

func (b *viewsBench) createView(ctx context.Context, body string) (string, error) {
	var answer struct {
		Data struct{ View struct{ ID string } }
	}
	_, err := b.send(ctx, "/workspace/views/upsert", body, &answer)
	return answer.Data.View.ID, err
}

// rowsPage is a page of a View's records.
type rowsPage struct {
	Data struct {
		Records []struct{ ID string }
	}
	Metadata struct {
		SearchAfter string `json:"search_after"`
	}
}

func (b *viewsBench) rows(ctx context.Context, view string, limit int, cursor string) (*call, rowsPage, error) {
	body := fmt.Sprintf(`{"limit":%d}`, limit)
	if cursor != "" {
		body = fmt.Sprintf(`{"limit":%d,"search_after":%q}`, limit, cursor)
	}
	var p rowsPage
	call, err := b.send(ctx, "/workspace/views/"+view+"/records/search", body, &p)
	return call, p, err
}

// prepareStatic fills the Views through the API, walks the large one to its end
// and keeps some of its pages to be measured.
func (b *viewsBench) prepareStatic(ctx context.Context) error {
	ids, err := b.recordIDs(ctx, query.Projects, b.Members)
	if err != nil {
		return err
	}
	if len(ids) < 10*smallView {
		return fmt.Errorf("%d projects are too few", len(ids))
	}
	b.report.Members = len(ids)
	large, err := b.createView(ctx, `{"dataset":"project","view_type":"static","name":"Large"}`)
	if err != nil {
		return err
	}
	small, err := b.createView(ctx, `{"dataset":"project","view_type":"static","name":"Small"}`)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.fillView(ctx, large, ids); err != nil {
		return err
	}
	b.report.Filled = time.Since(began).Seconds()
	say("filled a View with %d records in %.1f s", len(ids), b.report.Filled)
	spaced := make([]string, smallView)
	for i := range spaced {
		spaced[i] = ids[i*len(ids)/smallView]
	}
	if err := b.fillView(ctx, small, spaced); err != nil {
		return err
	}
	if err := b.projected(ctx); err != nil {
		return err
	}
	return b.walk(ctx, large, small, ids)
}

// fillView adds records in batches.
func (b *viewsBench) fillView(ctx context.Context, view string, ids []string) error {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = fmt.Sprintf(`{"record_id":%q}`, id)
	}
	return b.sendAll(ctx, "/workspace/views/"+view+"/records/add/batch", items)
}

// walk pages the large View to its end: every record once. On the way it keeps
// pages of pageSize at its beginning, its middle and near its end.
func (b *viewsBench) walk(ctx context.Context, large, small string, ids []string) error {
	kept := map[string]int{"page 1": 0, "in the middle": len(ids) / 2, "near the end": len(ids) - 2*query.MaxLimit}
	seen := make(map[string]bool, len(ids))
	cursor := ""
	began := time.Now()
	for {
		for name, at := range kept {
			if len(seen) < at {
				continue
			}
			delete(kept, name)
			deep, _, err := b.rows(ctx, large, pageSize, cursor)
			if err != nil {
				return err
			}
			first, _, err := b.rows(ctx, small, pageSize, "")
			if err != nil {
				return err
			}
			b.report.Static = append(b.report.Static, &compared{Name: name, one: []*call{deep}, other: []*call{first}})
		}
		_, p, err := b.rows(ctx, large, query.MaxLimit, cursor)
		if err != nil {
			return err
		}
		for _, r := range p.Data.Records {
			if seen[r.ID] {
				return fmt.Errorf("%s came twice", r.ID)
			}
			seen[r.ID] = true
		}
		if cursor = p.Metadata.SearchAfter; cursor == "" {
			break
		}
	}
	b.report.Walked = time.Since(began).Seconds()
	for _, id := range ids {
		if !seen[id] {
			return fmt.Errorf("%s did not come", id)
		}
	}
	if len(seen) != len(ids) {
		return fmt.Errorf("%d records came of %d", len(seen), len(ids))
	}
	say("walked through %d records in %.1f s, each once", len(seen), b.report.Walked)
	return nil
}

// prepareDynamic creates the Views and compares what they find with the Data
// searches.
func (b *viewsBench) prepareDynamic(ctx context.Context) error {
	for _, c := range dynamicCases {
		view, err := b.createView(ctx, fmt.Sprintf(`{"dataset":%q,"view_type":"dynamic","name":%q,"definition":{"version":1,"q":"","fields":%s}}`, c.dataset, c.name, c.definition))
		if err != nil {
			return err
		}
		one, rows, err := b.rows(ctx, view, pageSize, "")
		if err != nil {
			return err
		}
		var p page
		other, err := b.send(ctx, "/data/"+c.dataset+"s/search", c.body, &p)
		if err != nil {
			return err
		}
		var found []string
		for _, r := range rows.Data.Records {
			found = append(found, r.ID)
		}
		if !slices.Equal(found, p.ids()) {
			return fmt.Errorf("%s: the View finds other records than the Data search", c.name)
		}
		b.report.Dynamic = append(b.report.Dynamic, &compared{Name: c.name, one: []*call{one}, other: []*call{other}})
	}
	return nil
}

// measure compares each kind one by one, and what all of them cost at
// saturation, in each round.
func (b *viewsBench) measure(ctx context.Context) error {
	all := slices.Concat(b.report.Static, b.report.Dynamic)
	if err := b.addStraight(ctx, all); err != nil {
		return err
	}
	b.report.StaticLoad = everyKind(b.report.Static, [3]string{"large View", "small View", "Elasticsearch alone, large View"})
	b.report.DynamicLoad = everyKind(b.report.Dynamic, [3]string{"Views", "Data searches", "Elasticsearch alone, Views"})
	loads := []*kindsSaturated{b.report.StaticLoad, b.report.DynamicLoad}
	half := float64(b.Seconds) / 2
	for _, l := range loads {
		if err := l.warmUp(ctx, b.client, half/6); err != nil {
			return err
		}
	}
	return measureAll(ctx, b.client, all, b.Rounds, half, func(ctx context.Context) error {
		return errors.Join(loads[0].measure(ctx, b.running), loads[1].measure(ctx, b.running))
	})
}

// markdown writes the tables.
func (r viewsReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.heading.markdown())
	fmt.Fprintf(&b, "- figures are medians of %d rounds of p50s in ms, in brackets the lowest and the highest round; both by turns over one connection, pages of %d; every answer was compared with the first one\n\n", r.Rounds, pageSize)
	fmt.Fprintf(&b, "**Static Views** of projects: one of %d records, filled in %.1f s in batches of %d over %d connections and walked to its end in %.1f s in pages of %d, every record once; beside it one of %d of the same records.\n\n",
		r.Members, r.Filled, batchSize, fillers, r.Walked, query.MaxLimit, smallView)
	t := table{head: []string{"page of the large View", "large", "small, page 1", "ratio, aim ≤ 1.5", "Elasticsearch alone, large"}}
	for _, c := range r.Static {
		t.add(c.Name, c.One.text(2), c.Other.text(2), c.Ratio.text(2), c.Alone.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "These pages equally often over %d connections, %d requests a round of each column.\n\n", connections, r.StaticLoad.RequestsARound)
	fmt.Fprintln(&b, r.StaticLoad.table())
	fmt.Fprint(&b, "**Dynamic Views** beside the Data search that finds the same records.\n\n")
	t = table{head: []string{"definition", "View", "Data search", "ratio, aim ≤ 1.3", "Elasticsearch alone, View"}}
	for _, c := range r.Dynamic {
		t.add(c.Name, c.One.text(2), c.Other.text(2), c.Ratio.text(2), c.Alone.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "These equally often over %d connections, %d requests a round of each column.\n\n", connections, r.DynamicLoad.RequestsARound)
	fmt.Fprintln(&b, r.DynamicLoad.table())
	return b.String()
}
