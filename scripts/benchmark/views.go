package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"atlas/internal/credits"
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
	Static []*compared `json:"static"`
	// Dynamic compares Views with Data searches.
	Dynamic []*compared `json:"dynamic"`
}

// compared is one kind of request beside another.
type compared struct {
	Name  string `json:"name"`
	One   spread `json:"p50_ms"`
	Other spread `json:"beside_p50_ms"`
	Ratio spread `json:"ratio"`

	one, other []*call
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
	*installation
	base   string
	client client
	report viewsReport
}

// Run measures and prints.
func (c *viewsCmd) Run(ctx context.Context) (err error) {
	before := machineOf()
	i, err := install(ctx, c.place, c.Records, c.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close(ctx, c.Dir == "")) }()
	s, err := i.serve(ctx, i.stack.ElasticsearchURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	redis, err := credits.Open(i.stack.RedisURL)
	if err != nil {
		return err
	}
	defer redis.Close()
	b := &viewsBench{viewsCmd: c, installation: i, base: s.base, client: newClient(8)}
	defer b.client.close()
	b.report = viewsReport{heading: heading{Date: time.Now().UTC(), Command: commandLine(os.Args[1:]), Machine: before, Dataset: i.dataset}, Rounds: c.Rounds}
	if b.report.Versions, err = versionsOf(ctx, i.atlas, i.es, redis); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.prepareStatic, b.prepareDynamic, b.settle, b.measure} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w%s", err, s.tail())
		}
	}
	return b.emit()
}

// send makes a request and reads its answer; ok statuses only.
func (b *viewsBench) send(ctx context.Context, path, body string, into any) (*call, error) {
	call, err := b.serviceCall(b.base, path, []byte(body))
	if err != nil {
		return nil, err
	}
	answer, status, err := b.client.do(ctx, call, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d to %.200s: %.500s", path, status, body, answer)
	}
	if err != nil {
		return nil, err
	}
	call.expect(answer)
	if into == nil {
		return call, nil
	}
	return call, json.Unmarshal(answer, into)
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
	ids, err := b.projectIDs(ctx)
	if err != nil {
		return err
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
	if err := b.wait(ctx, large, small); err != nil {
		return err
	}
	return b.walk(ctx, large, small, ids)
}

// projectIDs pages through the projects.
func (b *viewsBench) projectIDs(ctx context.Context) (ids []string, err error) {
	cursor := "null"
	for len(ids) < b.Members {
		var p page
		if _, err := b.send(ctx, "/data/projects/search", fmt.Sprintf(`{"limit":%d,"search_after":%s}`, query.MaxLimit, cursor), &p); err != nil {
			return nil, err
		}
		ids = append(ids, p.ids()...)
		if p.Metadata.SearchAfter == "" {
			break
		}
		cursor = `"` + p.Metadata.SearchAfter + `"`
	}
	if len(ids) < 10*smallView {
		return nil, fmt.Errorf("%d projects are too few", len(ids))
	}
	return ids[:min(len(ids), b.Members)], nil
}

// fillView adds records in batches, some at once.
func (b *viewsBench) fillView(ctx context.Context, view string, ids []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []string)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for batch := range batches {
				var answer struct{ Metadata struct{ Succeeded int } }
				body := `{"inputs":[{"record_id":"` + strings.Join(batch, `"},{"record_id":"`) + `"}]}`
				if _, err := b.send(ctx, "/workspace/views/"+view+"/records/add/batch", body, &answer); err != nil {
					cancel(err)
				} else if answer.Metadata.Succeeded != len(batch) {
					cancel(fmt.Errorf("%d of %d records were added", answer.Metadata.Succeeded, len(batch)))
				}
			}
		})
	}
	for batch := range slices.Chunk(ids, 100) {
		if ctx.Err() != nil {
			break
		}
		batches <- batch
	}
	close(batches)
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// wait searches until the Views' records are projected: while there are too many
// for one search to wait for, it is answered that the service is busy.
func (b *viewsBench) wait(ctx context.Context, views ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("the Views' records are not projected after 10 minutes"))
	defer cancel()
	for _, view := range views {
		for {
			_, _, err := b.rows(ctx, view, 1, "")
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), " answered 503 ") {
				return err
			}
			select {
			case <-ctx.Done():
				return errors.Join(context.Cause(ctx), err)
			case <-time.After(time.Second):
			}
		}
	}
	return nil
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

func (b *viewsBench) measure(ctx context.Context) error {
	all := slices.Concat(b.report.Static, b.report.Dynamic)
	for _, c := range all { // a warm-up that does not count
		if err := c.measure(ctx, b.client, time.Second, true); err != nil {
			return err
		}
	}
	each := time.Duration(b.Seconds) * time.Second / time.Duration(len(all))
	for round := range b.Rounds {
		for _, c := range all {
			if err := c.measure(ctx, b.client, each, false); err != nil {
				return err
			}
		}
		say("round %d of %d", round+1, b.Rounds)
	}
	return nil
}

// measure sends both by turns over one connection.
func (c *compared) measure(ctx context.Context, client client, atMost time.Duration, dry bool) error {
	var one, other []time.Duration
	var buf []byte
	timed := func(call *call) (took time.Duration, err error) {
		began := time.Now()
		buf, err = client.check(ctx, call, buf)
		return time.Since(began), err
	}
	for end := time.Now().Add(atMost); len(one) < fewestTurns || len(one) < mostTurns && time.Now().Before(end); {
		i := len(one)
		a, err := timed(c.one[i%len(c.one)])
		b, err2 := timed(c.other[i%len(c.other)])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		one, other = append(one, a), append(other, b)
	}
	if dry {
		return nil
	}
	a, b := milliseconds(quantile(one, 0.5)), milliseconds(quantile(other, 0.5))
	c.One.add(a)
	c.Other.add(b)
	c.Ratio.add(a / b)
	return nil
}

func (b *viewsBench) emit() error {
	text := b.report.markdown()
	if b.JSON {
		raw, err := json.MarshalIndent(b.report, "", "  ")
		if err != nil {
			return err
		}
		fmt.Println(string(raw))
	} else {
		fmt.Println(text)
	}
	if b.Write != "" {
		return replaceSection(b.Write, "views", text)
	}
	return nil
}

// markdown writes the tables.
func (r viewsReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.heading.markdown())
	fmt.Fprintf(&b, "- figures are medians of %d rounds of p50s in ms, in brackets the lowest and the highest round; both by turns over one connection, pages of %d; every answer was compared with the first one\n\n", r.Rounds, pageSize)
	fmt.Fprintf(&b, "**Static Views** of projects: one of %d records, filled in %.1f s in batches of 100 over 4 connections and walked to its end in %.1f s in pages of %d, every record once; beside it one of %d of the same records.\n\n",
		r.Members, r.Filled, r.Walked, query.MaxLimit, smallView)
	t := table{head: []string{"page of the large View", "large", "small, page 1", "ratio, aim ≤ 1.5"}}
	for _, c := range r.Static {
		t.add(c.Name, c.One.text(2), c.Other.text(2), c.Ratio.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprint(&b, "**Dynamic Views** beside the Data search that finds the same records.\n\n")
	t = table{head: []string{"definition", "View", "Data search", "ratio, aim ≤ 1.3"}}
	for _, c := range r.Dynamic {
		t.add(c.Name, c.One.text(2), c.Other.text(2), c.Ratio.text(2))
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
