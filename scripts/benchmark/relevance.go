package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/indexer/generate"
	"atlas/indexer/permits"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/peers"
	"atlas/scripts/benchmark/relevance"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
	"atlas/workspace"
)

// relevanceCmd judges the results of queries, not their time.
type relevanceCmd struct {
	Atlas   string `type:"path" placeholder:"FILE" help:"The atlas binary to judge (default: the one beside this program)."`
	Worst   int    `default:"10" help:"How many of the worst queries are listed, 0 to 1000 (default: 10)."`
	Records int64  `default:"20000" help:"Generated records, 10000 to 1000000 (default: 20000)."`
	report.Output

	pool *pgxpool.Pool
}

// Validate implements kong's interface.
func (c *relevanceCmd) Validate() error {
	return errors.Join(within("worst", 0, 1000, c.Worst), within("records", 10_000, 1_000_000, c.Records))
}

// Run judges and prints.
func (c *relevanceCmd) Run(ctx context.Context) error {
	if err := c.Check("relevance"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(startBackends(r, place{Atlas: c.Atlas})) })
}

// relevanceReport is the result.
type relevanceReport struct {
	heading
	// Ways are in the order of the table.
	Ways []*way `json:"ways"`
	// Absent says of peers why they are not judged.
	Absent []string `json:"absent,omitempty"`
	// Queries are all, also those for which the data has no relevant record: these are not judged.
	Queries int `json:"queries"`
	worst   int
}

// way is one way to search, with what it found.
type way struct {
	Name   string             `json:"name"`
	Judged []relevance.Judged `json:"judged"`
}

// withDidYouMean is the name of the way with a second search, as people use it.
const withDidYouMean = "Atlas, asked again with `did_you_mean` where nothing was found"

func (c *relevanceCmd) on(i *installation) {
	r := relevanceReport{worst: c.Worst}
	c.pool = peersPool(i, true)
	all := must(relevance.Queries())
	r.Queries = len(all)
	for _, data := range []struct {
		name string
		fill func(dir string) error
	}{
		{relevance.Sample, func(dir string) error {
			_, err := permits.Sample(i.ctx, dir, time.Now())
			return err
		}},
		{relevance.Generated, func(dir string) error {
			_, err := generate.Generate(i.ctx, generate.Options{Records: c.Records, Seed: 1, Dir: dir})
			return err
		}},
	} {
		dir := filepath.Join(i.Dir, data.name)
		check(data.fill(dir))
		i.Rig.Atlas("index", "load", dir, "--force") // other data, and less
		c.judge(i, &r, must(relevance.Read(dir)), relevance.Of(all, data.name))
	}
	r.heading = i.heading()
	check(c.Emit("relevance", r))
}

// judge asks the queries of loaded data in each way.
func (c *relevanceCmd) judge(i *installation, r *relevanceReport, world relevance.World, queries []relevance.Query) {
	judge := func(name string, find relevance.Finder) {
		judged := must(world.Judge(i.ctx, queries, find))
		say("%s: %d queries, nDCG %.3f", name, len(judged), relevance.Mean(judged).NDCG)
		for _, w := range r.Ways {
			if w.Name == name {
				w.Judged = append(w.Judged, judged...)
				return
			}
		}
		r.Ways = append(r.Ways, &way{name, judged})
	}
	absent := func(name string, why error) {
		if text := name + ": " + why.Error(); !slices.Contains(r.Absent, text) {
			r.Absent = append(r.Absent, text)
		}
	}
	server := i.serve()
	defer func() { check(server.Stop()) }()
	caller := server.By(i.Workspace(workspace.MaxCeiling))
	judge("Atlas, `\"words\": \"exact\"`", atlasFinder(caller, "exact", false))
	judge("Atlas", atlasFinder(caller, "forms", false))
	judge(withDidYouMean, atlasFinder(caller, "forms", true))

	english := peers.English{Pool: c.pool}
	check(english.Fill(i.ctx, world))
	judge("Postgres, `english`", english.Find)

	if mini, err := peers.StartMiniSearch(i.ctx, world); err != nil {
		absent("MiniSearch", err)
	} else {
		judge("MiniSearch, beginnings and similar words", mini.Find)
		check(mini.Stop())
	}
	elasticsearch := &peers.Elasticsearch{URL: must(url.Parse(i.Elasticsearch[0])), Client: load.NewClient(1), Prefix: "bench-peer-"}
	if err := elasticsearch.FillEnglish(i.ctx, world); err != nil {
		absent("Elasticsearch, `english`", errors.New("this installation is without the module analysis-common"))
	} else {
		judge("Elasticsearch, `english`", elasticsearch.FindEnglish)
	}
}

// atlasFinder searches through the API.
func atlasFinder(c rig.Caller, words string, retry bool) relevance.Finder {
	return func(ctx context.Context, d catalog.Dataset, text string) ([]string, error) {
		for retried := false; ; retried = true {
			a, err := c.Want(ctx, 200, "POST", "/data/"+string(d)+"/search", map[string]any{"query": text, "words": words, "limit": relevance.Depth})
			if err != nil {
				return nil, err
			}
			ids, err := a.IDs()
			meant := a.Metadata().DidYouMean
			if err != nil || !retry || retried || len(ids) > 0 || meant == "" {
				return ids, err
			}
			text = meant
		}
	}
}

// Markdown is the result as tables.
func (r relevanceReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.where())
	table := report.Table{Head: []string{
		"queries", "something relevant among the first ten", "nDCG@10", "recall@50", "no result",
		"not relevant among the first ten",
	}}
	add := func(name string, all []relevance.Judged) {
		m := relevance.Mean(all)
		table.Add(
			name, fmt.Sprintf("%.1f %%", 100*m.Found), fmt.Sprintf("%.3f", m.NDCG), fmt.Sprintf("%.3f", m.Recall),
			fmt.Sprintf("%.1f %%", 100*m.Nothing), fmt.Sprintf("%.1f %%", 100*m.Wrong),
		)
	}
	var retried *way
	for _, w := range r.Ways {
		add(w.Name, w.Judged)
		if w.Name == withDidYouMean {
			retried = w
		}
	}
	if retried == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%d of %d queries; the data has no relevant record for the others:\n\n%s", len(retried.Judged), r.Queries, table)
	for _, a := range r.Absent {
		fmt.Fprintf(&b, "\nNot judged: %s.\n", a)
	}
	table = report.Table{Head: table.Head}
	kinds := map[string][]relevance.Judged{}
	for _, j := range retried.Judged {
		kinds[j.Kind] = append(kinds[j.Kind], j)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		add(fmt.Sprintf("%s (%d)", kind, len(kinds[kind])), kinds[kind])
	}
	fmt.Fprintf(&b, "\nAtlas, asked again, by kind:\n\n%s", table)
	worst := slices.Clone(retried.Judged)
	slices.SortStableFunc(worst, func(a, b relevance.Judged) int { return cmp.Compare(a.NDCG, b.NDCG) })
	table = report.Table{Head: []string{"worst queries", "of", "relevant", "nDCG@10", "recall@50"}}
	for _, j := range worst[:min(r.worst, len(worst))] {
		table.Add(
			"`"+j.Text+"`", string(j.Dataset)+", "+j.Data, report.Number(j.Relevant), fmt.Sprintf("%.2f", j.NDCG),
			fmt.Sprintf("%.2f", j.Recall),
		)
	}
	fmt.Fprintf(&b, "\n%s", table)
	return b.String()
}
