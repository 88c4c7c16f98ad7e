package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/procfs"

	"atlas/client"
	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/feed"
	"atlas/indexer/generate"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// changesCmd measures the feed of changes: its cost for loads and deltas, how fast it is
// read, and how far behind a follower is.
type changesCmd struct {
	Dir     string `type:"existingdir" help:"Folder for a temporary one with backends and data (default: the system's)."`
	Atlas   string `type:"path" placeholder:"FILE" help:"The atlas binary to measure (default: the one beside this program)."`
	Records int64  `default:"200000" help:"Records of the dataset, 10000 to 10000000; 1 % of them change each time (default: 200000)."`
	Kept    int64  `default:"1000000" help:"Changes that are kept when the feed is read, 100000 to 100000000 (default: 1000000)."`
	Rounds  int    `default:"5" help:"How often all but deltas are repeated; a result to be kept has at least 5; 0: only deltas are measured (default: 5)."`
	Deltas  int    `default:"12" help:"How often a delta is repeated, with the feed and without (default: 12)."`
	report.Output
}

// Validate implements kong's interface.
func (c *changesCmd) Validate() error {
	return errors.Join(
		within("records", 10_000, 10_000_000, c.Records), within("kept", 100_000, 100_000_000, c.Kept),
		within("rounds", 0, 100, c.Rounds), within("deltas", 1, 100, c.Deltas),
	)
}

// Run measures and prints.
func (c *changesCmd) Run(ctx context.Context) error {
	if err := c.Check("changes"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(startBackends(r, place{Dir: rig.Folder(r, c.Dir), Atlas: c.Atlas})) })
}

// changesReport is the result.
type changesReport struct {
	heading
	Rounds int   `json:"rounds"`
	Deltas int   `json:"deltas"`
	Kept   int64 `json:"kept_changes"`
	// Seconds of a load and of a delta, with the feed and without.
	Load, LoadAlone, Delta, DeltaAlone report.Spread
	// LoadCPU and LoadAloneCPU are seconds of processor time, of all processes. Other
	// programs on the machine change them less.
	LoadCPU, LoadAloneCPU report.Spread
	// LoadShare, LoadCPUShare and DeltaShare are the cost of the feed in percent, by round.
	LoadShare, LoadCPUShare, DeltaShare report.Spread
	// DeltaFeed is how long a delta waits for the feed's statements, in seconds. It has
	// less noise than the difference of two deltas.
	DeltaFeed report.Spread
	// Page is how long a page of 1,000 ids takes, in milliseconds, by how many changes
	// before the end it begins.
	Page []*pageBehind `json:"pages"`
	// Behind is how long after the end of a delta its follower has it, in seconds; 0 if
	// it had it before.
	Behind report.Spread `json:"follower_seconds_behind"`
	// Bytes is the size of a stored change in Postgres, with its indices.
	Bytes float64 `json:"bytes"`
}

// pageBehind is the time of reading a page that begins so many changes before the end.
type pageBehind struct {
	Changes int64         `json:"changes"`
	Time    report.Spread `json:"milliseconds"`
}

// Markdown implements report.Output's interface.
func (r changesReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- 1 %% of the records change each time; figures are medians of %d rounds, of deltas %d, in brackets the lowest and the highest; with and without the feed by turns\n\n", r.Rounds, r.Deltas)
	t := report.Table{Head: []string{"", "with the feed", "without", "the feed adds, aim ≤ 10 %"}}
	if r.Rounds > 0 {
		t.Add("a load, s", r.Load.Text(1), r.LoadAlone.Text(1), r.LoadShare.Text(0)+" %")
		t.Add("a load, s of processor time", r.LoadCPU.Text(1), r.LoadAloneCPU.Text(1), r.LoadCPUShare.Text(0)+" %")
	}
	t.Add("a delta, s", r.Delta.Text(2), r.DeltaAlone.Text(2), r.DeltaShare.Text(0)+" %")
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "A delta waits %s s for what the feed does in Postgres.\n", r.DeltaFeed.Text(2))
	if r.Rounds == 0 {
		return b.String()
	}
	fmt.Fprintln(&b)
	pages := report.Table{Head: []string{"a page of 1,000 ids begins before the end", "ms, aim ≤ 10"}}
	for _, p := range r.Page {
		pages.Add(report.Number(p.Changes)+" changes", p.Time.Text(1))
	}
	fmt.Fprintln(&b, pages)
	fmt.Fprintf(&b, "%s changes are kept; one takes %.0f bytes in Postgres. A follower has the changes of `atlas index apply` %s s after it ends (aim ≤ 2).\n", report.Number(r.Kept), r.Bytes, r.Behind.Text(2))
	return b.String()
}

// changesBench is one run.
type changesBench struct {
	*changesCmd
	*installation
	names  mappings.Names
	es     *elastic.Client
	system *postgres.System
	feed   *feed.Feed
	waited time.Duration // for the statements of the feed
	turn   int           // of changing the records
	report changesReport
}

// on runs the benchmark on an installation and prints the result.
func (c *changesCmd) on(i *installation) {
	b := &changesBench{changesCmd: c, installation: i, names: mappings.Names{Prefix: indexPrefix}}
	b.es = must(elastic.New(elastic.Config{Addresses: i.Elasticsearch}))
	url := i.setting("ATLAS_POSTGRES_SYSTEM_URL")
	b.system = must(postgres.OpenSystem(i.ctx, url, postgres.Options{}))
	defer b.system.Close()
	store := must(postgres.Open(i.ctx, strings.Replace(url, "atlas_system", "atlas_app", 1), postgres.Options{MaxConns: 2}))
	defer store.Close()
	live := &search.Engine{Elastic: b.es, Names: b.names, Timeout: time.Minute}
	b.feed = &feed.Feed{Store: timedStore{b.system, &b.waited}, Elastic: b.es, Names: b.names, Live: live}

	generated := must(generate.Generate(i.ctx, generate.Options{Records: c.Records, Seed: 1, Dir: i.records()}))
	i.dataset = dataset{Report: generated, Mappings: mappingsDigest()}
	b.report = changesReport{heading: i.heading(), Rounds: c.Rounds, Deltas: c.Deltas, Kept: c.Kept}
	b.load(b.feed)
	for range c.Rounds {
		var with, without float64
		b.report.share(&b.report.Load, &b.report.LoadAlone, &b.report.LoadShare, func() (took float64) {
			took, with = b.load(b.feed)
			return took
		}, func() (took float64) {
			took, without = b.load(nil)
			b.publish() // or the next load would, in its time
			return took
		})
		b.report.LoadCPU.Add(with)
		b.report.LoadAloneCPU.Add(without)
		b.report.LoadCPUShare.Add((with/without - 1) * 100)
	}
	for range 3 { // the JVM compiles meanwhile
		b.delta(b.feed, live)
	}
	for range c.Deltas {
		b.report.share(&b.report.Delta, &b.report.DeltaAlone, &b.report.DeltaShare, func() float64 {
			b.waited = 0
			took := b.delta(b.feed, live)
			b.report.DeltaFeed.Add(b.waited.Seconds())
			return took
		}, func() float64 { return b.delta(nil, live) })
	}
	if c.Rounds > 0 {
		b.follow()
		b.read(store)
	}
	check(c.Emit("changes", b.report))
}

// share measures both ways once, each time in the other order.
func (r *changesReport) share(with, without, share *report.Spread, feed, alone func() float64) {
	var one, other float64
	if len(with.Rounds)%2 == 0 {
		one, other = feed(), alone()
	} else {
		other = alone()
		one = feed()
	}
	with.Add(one)
	without.Add(other)
	share.Add((one/other - 1) * 100)
}

// changed writes the records to a new folder, some of them with another text: 1 %, and only
// those, if alone is set. Else half of that, because those of the turn before are as they were.
func (b *changesBench) changed(alone bool) string {
	every := 200
	if alone {
		every = 100
	}
	dir := must(os.MkdirTemp(b.installation.Dir, "changed"))
	b.turn++
	for _, d := range catalog.Datasets {
		in := must(os.Open(filepath.Join(b.records(), string(d)+".ndjson")))
		out := must(os.Create(filepath.Join(dir, string(d)+".ndjson"))) // #nosec G304 -- a file of the benchmark
		to := bufio.NewWriter(out)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 16<<20)
		for n := 0; lines.Scan(); n++ {
			line := lines.Bytes()
			if n%every == b.turn%every {
				for _, name := range []string{`"name":"`, `"title":"`} {
					line = bytes.Replace(line, []byte(name), fmt.Appendf(nil, "%s%d ", name, b.turn), 1)
				}
			} else if alone {
				continue
			}
			must(to.Write(append(slices.Clone(line), '\n')))
		}
		check(errors.Join(lines.Err(), to.Flush(), out.Close(), in.Close()))
	}
	return dir
}

// load loads the records with changes, and returns how many seconds that took, and of
// processor time.
func (b *changesBench) load(f *feed.Feed) (took, cpu float64) {
	dir := b.changed(false)
	defer os.RemoveAll(dir)
	o := indexer.Options{Dir: dir, Elastic: b.es, Names: b.names, TempDir: b.installation.Dir, Log: slog.New(slog.DiscardHandler)}
	if f != nil { // an interface
		o.Feed = f
	}
	before, began := b.cpu(), time.Now()
	must(indexer.Load(b.ctx, o))
	took = time.Since(began).Seconds()
	cpu = b.cpu() - before
	say("a load, with the feed: %t, took %.1f s, and %.1f s of processor time", f != nil, took, cpu)
	return took, cpu
}

// cpu is the processor time of Elasticsearch, Postgres (unless in a container) and this
// process, in seconds.
func (b *changesBench) cpu() float64 {
	time.Sleep(elasticsearchLooks)
	sum := elasticsearchCPU(b.ctx, b.Rig) + must(must(procfs.Self()).Stat()).CPUTime()
	if postmaster := postmasterOf(b.ctx, b.Rig); postmaster != 0 {
		sum += familyCPU(postmaster)
	}
	return sum
}

// publish publishes the changes of a load that did not.
func (b *changesBench) publish() { check(b.feed.Settle(b.ctx, "")) }

// delta applies changes of 1 % of the records, and returns how many seconds that took.
func (b *changesBench) delta(f *feed.Feed, live delta.Live) float64 {
	dir := b.changed(true)
	defer os.RemoveAll(dir)
	o := delta.Options{
		Elastic: b.es, Names: b.names, Live: live, Feed: f, WorkDir: filepath.Join(b.installation.Dir, "delta"),
		Log: slog.New(slog.DiscardHandler),
	}
	for _, d := range catalog.Datasets {
		o.Files = append(o.Files, delta.File{Dataset: d, Path: filepath.Join(dir, string(d)+".ndjson")})
	}
	began := time.Now()
	must(delta.Apply(b.ctx, o))
	took := time.Since(began).Seconds()
	say("a delta, with the feed: %t, took %.2f s", f != nil, took)
	return took
}

// timedStore adds up how long the statements of a delta take that are there for the feed
// alone.
type timedStore struct {
	feed.Store
	waited *time.Duration
}

func (s timedStore) add(began time.Time) { *s.waited += time.Since(began) }

// FeedState implements feed.Store, as the methods below.
func (s timedStore) FeedState(ctx context.Context) (changes.State, error) {
	defer s.add(time.Now())
	return s.Store.FeedState(ctx)
}

func (s timedStore) BeginChanges(ctx context.Context, writer string, origin *string, keep bool) error {
	defer s.add(time.Now())
	return s.Store.BeginChanges(ctx, writer, origin, keep)
}

func (s timedStore) AppendChanges(ctx context.Context, writer string, list []changes.Change) error {
	defer s.add(time.Now())
	return s.Store.AppendChanges(ctx, writer, list)
}

func (s timedStore) Publish(ctx context.Context, writer string, id uuid.UUID) error {
	defer s.add(time.Now())
	return s.Store.Publish(ctx, writer, id)
}

// follow measures how long after `atlas index apply` its follower has the changes.
func (b *changesBench) follow() {
	server := b.serve()
	c := must(client.New(server.Base, client.WithAPIKey(b.newKey())))
	start := must(c.Signals.Changes(b.ctx, client.ChangesRequest{}))
	following, stop := context.WithCancel(b.ctx)
	defer stop()
	delivered := make(chan time.Time, 1)
	go func() {
		for page, err := range c.Signals.Follow(following, client.ChangesRequest{Cursor: start.Next, Limit: query.MaxChanges}) {
			if err != nil {
				return
			}
			if len(page.Changes) > 0 && page.CaughtUp {
				delivered <- time.Now()
			}
		}
	}()
	for range b.Rounds {
		dir := b.changed(true)
		b.Rig.Atlas("index", "apply", dir)
		ended := time.Now()
		select {
		case at := <-delivered:
			b.report.Behind.Add(max(0, at.Sub(ended).Seconds()))
		case <-time.After(time.Minute):
			failf("a follower has no changes after a minute")
		}
		check(os.RemoveAll(dir))
	}
	check(server.Stop())
}

// read measures pages of the feed of signals after many changes were added to it.
func (b *changesBench) read(store *postgres.Store) {
	const atOnce = 100_000
	for added := int64(0); added < b.Kept; added += atOnce {
		check(b.Rows(b.ctx, nil, `
			WITH place AS (UPDATE data_feed SET head = head + $1, tail = tail + $1 RETURNING head), published AS (
				INSERT INTO data_publications (id, head, published_at) SELECT gen_random_uuid(), head, clock_timestamp() FROM place)
			INSERT INTO data_changes (dataset, seq, record_id, op, changed)
			SELECT 'signals', place.head - $1 + n, md5((n * 7919 % 30000)::text || (place.head / $1)::text)::uuid, 'upsert', ARRAY['title', 'updated_at']
			FROM place, generate_series(1, $1) n`, int64(atOnce)))
	}
	check(b.Rows(b.ctx, nil, `ANALYZE data_changes`))
	head, _, err := store.FeedHead(b.ctx)
	check(err)
	for _, behind := range []int64{1_000, 100_000, b.Kept} {
		p := &pageBehind{Changes: behind}
		from := changes.Position{Seq: head.Seq - behind, Publication: head.Publication}
		for n := range 200 {
			after := from
			if room := behind - query.MaxChanges; room > 0 {
				after.Seq += int64(n) * room / 200
			}
			began := time.Now()
			page, known, err := store.ChangesAfter(b.ctx, catalog.Signals, after, query.MaxChanges)
			check(err)
			if !known || len(page.Entries) == 0 {
				failf("a page of the feed has no changes")
			}
			if n >= 20 { // warm
				p.Time.Add(time.Since(began).Seconds() * 1e3)
			}
		}
		b.report.Page = append(b.report.Page, p)
	}
	b.report.Bytes = float64(
		must(b.Number(b.ctx, `SELECT pg_total_relation_size('data_changes')`)),
	) / float64(must(b.Number(b.ctx, `SELECT count(*) FROM data_changes`)))
}
