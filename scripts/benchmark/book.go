package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/book"
)

// bookCmd compares writes to a book with the same writes sent straight to the
// backends, and searches of a large book with those of a small one in the same
// index.
type bookCmd struct {
	place
	Records int64  `default:"400000" help:"Records of the dataset, 10000 to 100000000 (default: 400000, of which 104000 are projects)."`
	Seed    uint64 `default:"1" help:"Seed of the dataset (default: 1)."`
	Book    int    `default:"100000" help:"Projects in the large book, 2000 to 1000000; as many as there are in a smaller dataset (default: 100000)."`
	Seconds int    `default:"20" help:"About how long a round of each measurement takes, in seconds (default: 20)."`
	Rounds  int    `default:"5" help:"How often each is repeated; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *bookCmd) Validate() error {
	return errors.Join(within("records", 10_000, 100_000_000, c.Records), within("book", 2*smallBook, 1_000_000, c.Book),
		within("seconds", 1, 3600, c.Seconds), within("rounds", 1, 100, c.Rounds))
}

// Run measures and prints.
func (c *bookCmd) Run(ctx context.Context) error {
	if err := c.Check("book"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

// bookReport is the result; times are in milliseconds.
type bookReport struct {
	heading
	// Postgres is the version, and what a commit waits for.
	Postgres string `json:"postgres"`
	Rounds   int    `json:"rounds"`
	// WriteBook is the number of accounts in the book that the benchmark writes to.
	WriteBook int       `json:"write_book"`
	Single    writeTime `json:"single_upsert"`
	Batch     writeTime `json:"batch_upsert"`
	// PerRecord is the time per record of single upserts, divided by that of
	// batches.
	PerRecord report.Spread `json:"single_to_batch_per_record"`

	// Large and Small are the sizes of the books, Documents the records in their
	// common index.
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

// Overlay values that the books have in rotation: a search for one of them finds an
// equal share of every book.
var (
	bookStatuses = []string{"New", "Reviewing", "Contacted", "Quoted", "Parked"}
	bookTags     = []string{"north", "south", "east", "west", "key"}
	bookNotes    = []string{"Call again in spring.", "Met the owner on site.", "Sent drawings and a price.", "Waiting for the permit."}
)

// upsertItem is the body of the nth write. Each differs, so each changes something.
func upsertItem(d catalog.Dataset, id string, n int) string {
	turn := func(list []string) string { return list[n%len(list)] }
	item := map[string]any{
		book.IDKey(d):      id,
		"workspace_status": turn(bookStatuses),
		"notes":            fmt.Sprintf("%s Entry %d.", turn(bookNotes), n),
		"tags":             []string{turn(bookTags), fmt.Sprintf("list %d", n%100)},
	}
	if d == catalog.Accounts {
		item["icp_tier"] = turn(catalog.ICPTiers.Values())
	}
	return string(must(json.Marshal(item)))
}

// bookCases are searches of books of projects, with some variants of each kind.
// All find a full page in the small book too.
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

// on runs the benchmark on an installation and prints the result.
func (c *bookCmd) on(i *installation) {
	i.serving(i.newKey(), func(s *serving) {
		r := &bookReport{heading: i.heading(), Rounds: c.Rounds, Small: smallBook}
		r.prepareSearches(s, c.Book)
		s.settle()
		s.addAlone(r.Searches)
		r.Load = saturate(
			r.Searches, fmt.Sprintf("book of %d", r.Large), fmt.Sprintf("book of %d", r.Small),
			fmt.Sprintf("Elasticsearch alone, book of %d", r.Large),
		)
		say("comparing searches")
		s.compareAll(r.Searches, c.Rounds, float64(c.Seconds)/2, r.Load)
		r.measureWrites(s, c.Rounds, c.Seconds)
		check(c.Emit("book", r))
	})
}

// prepareSearches fills the books of two workspaces, and runs each search once.
func (r *bookReport) prepareSearches(s *serving, size int) {
	ids := s.recordIDs(catalog.Projects, size)
	if len(ids) < 2*smallBook {
		failf("%d projects are too few", len(ids))
	}
	small := s.inNewWorkspace()
	r.Large = len(ids)
	r.Filled, r.Projected = s.fillBook(ids)
	small.fillBook(spaced(ids, smallBook))
	check(s.Ask(s.ctx, "POST", "/"+s.Held("projects")+"/_refresh", "", nil))
	var counted struct{ Count int64 }
	check(s.Ask(s.ctx, "GET", "/"+s.Held("projects")+"/_count", "", &counted))
	if r.Documents = counted.Count; r.Documents < int64(len(ids)+smallBook) {
		failf("%d records are in the index, which should have %d", r.Documents, len(ids)+smallBook)
	}
	for _, c := range bookCases {
		r.Searches = append(r.Searches, &compared{Name: c.name, one: s.fullPages(c.bodies), other: small.fullPages(c.bodies)})
	}
}

// fillBook adds projects to the workspace's book. It returns how many seconds that
// took, and how many more passed until searches found them all.
func (s *serving) fillBook(ids []string) (filled, projected float64) {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = upsertItem(catalog.Projects, id, i)
	}
	filled, projected = s.sendAll(bookPath(catalog.Projects)+"/upsert/batch", items)
	say("filled a book with %d records in %.1f s, searchable %.1f s later", len(ids), filled, projected)
	return filled, projected
}

func bookPath(d catalog.Dataset) string { return "/workspace/" + string(d) }

// fullPages returns searches of the workspace's book. Their pages must be full, so
// that equal searches of two books return about the same amount.
func (s *serving) fullPages(bodies []string) (requests []*load.Request) {
	for _, body := range bodies {
		var p page
		requests = append(requests, s.send(bookPath(catalog.Projects)+"/search", body, &p))
		if len(p.Data) != query.DefaultLimit {
			failf("%d records answer %s, not %d", len(p.Data), body, query.DefaultLimit)
		}
	}
	return requests
}

// Markdown writes the tables.
func (r *bookReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- %s\n", r.Postgres)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; what is compared is done by turns\n\n", r.Rounds)

	fmt.Fprintf(&b, "**Upserts** of accounts in a book of %d, in ms, beside one commit and one index call (of %d rows and documents for a batch), over one connection. A record takes %s times as long in single upserts as in batches of %d, aim ≥ 10.\n\n", r.WriteBook, batchSize, r.PerRecord.Text(1), batchSize)
	t := report.Table{Head: []string{"ms", "through Atlas", "bare commit and index call", "added"}}
	t.Add(r.Single.P50.row("single, p50")...)
	t.Add(r.Single.P99.row("single, p99")...)
	t.Add(r.Batch.P50.row(fmt.Sprintf("batch of %d, p50", batchSize))...)
	t.Add(r.Batch.P99.row(fmt.Sprintf("batch of %d, p99", batchSize))...)
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "What they cost each process, over one connection until all documents are written; ms of CPU for each upsert or batch.\n\n")
	t = report.Table{Head: []string{"", "single, through Atlas", "single, bare", "batch, through Atlas", "batch, bare"}}
	addProcesses(&t, "ms", r.Single.ServiceCPU, r.Single.BareCPU, r.Batch.ServiceCPU, r.Batch.BareCPU)
	fmt.Fprintln(&b, t)

	fmt.Fprintf(&b, "**Searches** of a book of %d projects, filled in %.1f s in batches of %d over %d connections and searchable %.1f s after that, beside the same ones of a book of %d of them; one index of %d records has both. Medians of a round's p50s in ms over one connection, pages of %d.\n\n",
		r.Large, r.Filled, batchSize, fillers, r.Projected, r.Small, r.Documents, query.DefaultLimit)
	fmt.Fprintln(
		&b,
		comparedTable(
			r.Searches, "search", fmt.Sprintf("book of %d", r.Large), fmt.Sprintf("book of %d", r.Small),
			"ratio, aim ≤ 1.5", fmt.Sprintf("Elasticsearch alone, book of %d", r.Large),
		),
	)
	fmt.Fprintf(&b, "All kinds equally often over %d connections, %d requests a round of each column.\n\n", connections, r.Load.RequestsARound)
	fmt.Fprintln(&b, r.Load.table())
	return b.String()
}
