package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"atlas/search/query"
	"atlas/workspace"
)

// bookCmd measures writing to a book beside the bare writes it is made of, and
// searches of a large book beside those of a small one in the same index.
type bookCmd struct {
	place
	Records int64  `default:"400000" help:"Records of the dataset, 10000 to 100000000 (default: 400000, of which 104000 are projects)."`
	Seed    uint64 `default:"1" help:"Seed of the dataset (default: 1)."`
	Book    int    `default:"100000" help:"Projects in the large book, 2000 to 1000000; as many as there are in a smaller dataset (default: 100000)."`
	Seconds int    `default:"20" help:"About how long a round of each measurement takes, in seconds (default: 20)."`
	Rounds  int    `default:"5" help:"How often each is repeated; a result to be kept has at least 5 (default: 5)."`
	JSON    bool   `name:"json" help:"Print JSON instead of tables."`
	Write   string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, between the markers bench:book."`
}

func (c *bookCmd) Validate() error {
	if c.Records < 10_000 || c.Records > 100_000_000 || c.Book < 2*smallBook || c.Book > 1_000_000 || c.Seconds < 1 || c.Rounds < 1 {
		return errors.New("an option is out of its bounds: see --help")
	}
	return nil
}

// bookReport is the result; times are in milliseconds.
type bookReport struct {
	heading
	// Postgres is its version, and what a commit there waits for.
	Postgres string `json:"postgres"`
	Rounds   int    `json:"rounds"`
	// WriteBook is how many accounts are in the book that is written to.
	WriteBook int       `json:"write_book"`
	Single    writeTime `json:"single_upsert"`
	Batch     writeTime `json:"batch_upsert"`
	// PerRecord is how many times as long a record takes in single upserts.
	PerRecord spread `json:"single_to_batch_per_record"`

	// Large and Small are the books' sizes, Documents the records in the index
	// that both are in.
	Large     int     `json:"large_book"`
	Small     int     `json:"small_book"`
	Documents int64   `json:"index_documents"`
	Filled    float64 `json:"large_filled_seconds"`
	Projected float64 `json:"large_projected_after_seconds"`
	// Searches compares those of the large book with those of the small one.
	Searches []*compared     `json:"searches"`
	Load     *kindsSaturated `json:"saturated"`
}

// smallBook is how many records the small book has.
const smallBook = 1_000

// What the books say, each in turn: a search for one of them finds an equal
// share of any book.
var (
	bookStatuses = []string{"New", "Reviewing", "Contacted", "Quoted", "Parked"}
	bookTags     = []string{"north", "south", "east", "west", "key"}
	bookNotes    = []string{"Call again in spring.", "Met the owner on site.", "Sent drawings and a price.", "Waiting for the permit."}
)

// upsertItem is what the nth write says of a record: like no other one, so that
// each changes something.
func upsertItem(d query.Dataset, id string, n int) string {
	turn := func(list []string) string { return list[n%len(list)] }
	item := map[string]any{
		workspace.IDKey(d): id,
		"workspace_status": turn(bookStatuses),
		"notes":            fmt.Sprintf("%s Entry %d.", turn(bookNotes), n),
		"tags":             []string{turn(bookTags), fmt.Sprintf("list %d", n%100)},
	}
	if d == query.Accounts {
		item["icp_tier"] = turn(query.ICPTiers.Values())
	}
	raw, err := json.Marshal(item)
	if err != nil {
		panic(err) // made of strings
	}
	return string(raw)
}

// bookCases are searches of books of projects, each some variants of one kind.
// All of them find a full page in the small book too.
var bookCases = []struct {
	name   string
	bodies []string
}{
	{"the whole book", []string{`{}`}},
	{"by name", []string{`{"sort":{"field":"name","order":"asc"}}`, `{"sort":{"field":"name","order":"desc"}}`}},
	{"by last change", []string{`{"sort":{"field":"updated_at","order":"desc"}}`}},
	{"a status", eachOf(`{"filters":{"workspace_status":{"value":%q}}}`, bookStatuses)},
	{"a tag, by last change", eachOf(`{"filters":{"tags":{"value":%q}},"sort":{"field":"updated_at","order":"desc"}}`, bookTags)},
	{"words of the notes", eachOf(`{"filters":{"notes":{"value":%q}}}`, []string{"spring", "met owner", "drawings price", "permit"})},
	{"a query", eachOf(`{"query":%q}`, []string{"rooftop terrace", "vacant lot", "own entrance", "new lease", "timber podium"})},
	{"stage and cost", eachOf(`{"filters":{"stage":{"value":[%q,"under_construction"]},"cost":{"value":[10000,null]}}}`, []string{"filed", "permitted", "completed"})},
	{"a relation", eachOf(`{"relations":{"has_signal":{"signal_type":{"value":%q}}}}`, []string{"permit_issued"})},
}

func eachOf(body string, values []string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprintf(body, v)
	}
	return list
}

// bookBench is one run of it.
type bookBench struct {
	*bookCmd
	*running
	report bookReport
}

// Run measures and prints.
func (c *bookCmd) Run(ctx context.Context) error {
	if err := hasSection(c.Write, "book"); err != nil {
		return err
	}
	return withInstallation(ctx, c.place, c.Records, c.Seed, c.on)
}

// on measures on an installation and prints.
func (c *bookCmd) on(ctx context.Context, i *installation, before machine) error {
	return i.serving(ctx, before, func(ctx context.Context, r *running) error {
		b := &bookBench{bookCmd: c, running: r, report: bookReport{heading: r.heading, Rounds: c.Rounds, Small: smallBook}}
		for _, step := range []func(context.Context) error{b.prepareSearches, b.settle, b.measureSearches, b.measureWrites} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return emit(b.report, c.JSON, c.Write, "book")
	})
}

// prepareSearches fills the books, of two workspaces, and makes each search
// once.
func (b *bookBench) prepareSearches(ctx context.Context) error {
	ids, err := b.recordIDs(ctx, query.Projects, b.Book)
	if err != nil {
		return err
	}
	if len(ids) < 2*smallBook {
		return fmt.Errorf("%d projects are too few", len(ids))
	}
	spaced := make([]string, smallBook)
	for i := range spaced {
		spaced[i] = ids[i*len(ids)/smallBook]
	}
	small, err := b.inNewWorkspace(ctx)
	if err != nil {
		return err
	}
	b.report.Large = len(ids)
	if b.report.Filled, b.report.Projected, err = b.fillBook(ctx, ids); err != nil {
		return err
	}
	say("filled a book with %d records in %.1f s, searchable %.1f s later", len(ids), b.report.Filled, b.report.Projected)
	if _, _, err := small.fillBook(ctx, spaced); err != nil {
		return err
	}
	index := b.names.Held(string(query.Projects))
	if err := b.es.Refresh(ctx, index); err != nil {
		return err
	}
	if b.report.Documents, err = b.es.Count(ctx, index); err != nil {
		return err
	}
	if want := int64(len(ids) + smallBook); b.report.Documents < want {
		return fmt.Errorf("%d records are in the index, which should have %d", b.report.Documents, want)
	}
	for _, c := range bookCases {
		pair := &compared{Name: c.name}
		for _, body := range c.bodies {
			one, err := b.fullPage(ctx, body)
			if err != nil {
				return err
			}
			other, err := small.fullPage(ctx, body)
			if err != nil {
				return err
			}
			pair.one, pair.other = append(pair.one, one), append(pair.other, other)
		}
		b.report.Searches = append(b.report.Searches, pair)
	}
	return nil
}

// fillBook puts projects into the workspace's book, and tells how many seconds
// it took, and how many more until searches saw them all.
func (r *running) fillBook(ctx context.Context, ids []string) (filled, projected float64, err error) {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = upsertItem(query.Projects, id, i)
	}
	began := time.Now()
	if err := r.sendAll(ctx, bookPath(query.Projects)+"/upsert/batch", items); err != nil {
		return 0, 0, err
	}
	filled = time.Since(began).Seconds()
	began = time.Now()
	err = r.projected(ctx)
	return filled, time.Since(began).Seconds(), err
}

func bookPath(d query.Dataset) string { return "/workspace/" + string(d) }

// fullPage makes a search of the workspace's book whose page must be full, so
// that equal ones of any two books answer about as much.
func (r *running) fullPage(ctx context.Context, body string) (*call, error) {
	var p page
	call, err := r.send(ctx, bookPath(query.Projects)+"/search", body, &p)
	if err == nil && len(p.Data) != query.DefaultLimit {
		err = fmt.Errorf("%d records answer %s, not %d", len(p.Data), body, query.DefaultLimit)
	}
	return call, err
}

// measureSearches compares each kind one by one, and what all of them cost at
// saturation, in each round.
func (b *bookBench) measureSearches(ctx context.Context) error {
	r := &b.report
	if err := b.addStraight(ctx, r.Searches); err != nil {
		return err
	}
	r.Load = everyKind(r.Searches, [3]string{fmt.Sprintf("book of %d", r.Large), fmt.Sprintf("book of %d", r.Small), fmt.Sprintf("Elasticsearch alone, book of %d", r.Large)})
	half := float64(b.Seconds) / 2
	if err := r.Load.warmUp(ctx, b.client, half/3); err != nil {
		return err
	}
	say("comparing searches")
	return measureAll(ctx, b.client, r.Searches, b.Rounds, half, func(ctx context.Context) error { return r.Load.measure(ctx, b.running) })
}

// markdown writes the tables.
func (r bookReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.heading.markdown())
	fmt.Fprintf(&b, "- %s\n", r.Postgres)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; what is compared is done by turns\n\n", r.Rounds)

	fmt.Fprintf(&b, "**Upserts** of accounts in a book of %d, in ms, beside one commit and one index call (of %d rows and documents for a batch), over one connection. A record takes %s times as long in single upserts as in batches of %d, aim ≥ 10.\n\n", r.WriteBook, batchSize, r.PerRecord.text(1), batchSize)
	t := table{head: []string{"ms", "through Atlas", "bare commit and index call", "added"}}
	for _, w := range []struct {
		name string
		time writeTime
	}{{"single", r.Single}, {fmt.Sprintf("batch of %d", batchSize), r.Batch}} {
		t.add(w.name+", p50", w.time.P50.Service.text(2), w.time.P50.Direct.text(2), w.time.P50.Added.text(2))
		t.add(w.name+", p99", w.time.P99.Service.text(2), w.time.P99.Direct.text(2), w.time.P99.Added.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "What they cost each process, over one connection until all documents are written; ms of CPU for each upsert or batch.\n\n")
	t = table{head: []string{"", "single, through Atlas", "single, bare", "batch, through Atlas", "batch, bare"}}
	t.processes("ms", r.Single.ServiceCPU, r.Single.BareCPU, r.Batch.ServiceCPU, r.Batch.BareCPU)
	fmt.Fprintln(&b, t)

	fmt.Fprintf(&b, "**Searches** of a book of %d projects, filled in %.1f s in batches of %d over %d connections and searchable %.1f s after that, beside the same ones of a book of %d of them; one index of %d records has both. Medians of a round's p50s in ms over one connection, pages of %d.\n\n",
		r.Large, r.Filled, batchSize, fillers, r.Projected, r.Small, r.Documents, query.DefaultLimit)
	t = table{head: []string{"search", fmt.Sprintf("book of %d", r.Large), fmt.Sprintf("book of %d", r.Small), "ratio, aim ≤ 1.5", fmt.Sprintf("Elasticsearch alone, book of %d", r.Large)}}
	for _, c := range r.Searches {
		t.add(c.Name, c.One.text(2), c.Other.text(2), c.Ratio.text(2), c.Alone.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "All kinds equally often over %d connections, %d requests a round of each column.\n\n", connections, r.Load.RequestsARound)
	fmt.Fprintln(&b, r.Load.table())
	return b.String()
}
