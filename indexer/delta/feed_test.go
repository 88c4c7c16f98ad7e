package delta_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/elastic/elastictest"
	"atlas/internal/fault"
	"atlas/search/catalog"
	feedchanges "atlas/search/changes"
	"atlas/search/document"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
)

// follower keeps a copy of the served records by the feed of changes.
type follower struct {
	*world
	store     *postgres.Store
	at        map[catalog.Dataset]feedchanges.Position
	copy      map[catalog.Dataset]map[string]string
	merged    map[catalog.Dataset]map[string]string // targets of merged records
	random    *rand.Rand
	restarts  int
	published []feedchanges.Entry // since the last look
}

func (w *world) follower(t *testing.T) *follower {
	f := &follower{
		world: w, store: w.databases.OpenApp(t, postgres.Options{MaxConns: 2}),
		merged: map[catalog.Dataset]map[string]string{}, random: rand.New(rand.NewPCG(rand.Uint64(), 0)),
	}
	f.restart(t)
	return f
}

// restart takes a position, and then a copy.
func (f *follower) restart(t *testing.T) {
	t.Helper()
	f.at, f.copy = map[catalog.Dataset]feedchanges.Position{}, map[catalog.Dataset]map[string]string{}
	head, _, err := f.store.FeedHead(t.Context())
	fatal(t, err)
	for _, d := range catalog.Datasets {
		f.at[d] = head
	}
	f.copy = f.served(t)
}

// served are the served public records.
func (f *follower) served(t *testing.T) map[catalog.Dataset]map[string]string {
	t.Helper()
	all := map[catalog.Dataset]map[string]string{}
	for _, d := range catalog.Datasets {
		fatal(t, f.elastic.Refresh(t.Context(), f.names.Alias(string(d))))
	}
	for d, docs := range f.documents(t) {
		all[d] = map[string]string{}
		for id, doc := range docs {
			all[d][id] = doc.Public
		}
	}
	return all
}

// catchUp reads the feed to its end.
func (f *follower) catchUp(t *testing.T) {
	t.Helper()
	f.published = nil
	for _, d := range catalog.Datasets {
		for caughtUp := false; !caughtUp; {
			page, known, err := f.store.ChangesAfter(t.Context(), d, f.at[d], 1+f.random.IntN(4))
			fatal(t, err)
			if !known {
				f.restarts++
				f.restart(t)
				return
			}
			f.take(t, d, page)
			f.at[d], caughtUp = page.Next, page.CaughtUp
		}
	}
}

func (f *follower) take(t *testing.T, d catalog.Dataset, page feedchanges.Page) {
	t.Helper()
	f.published = append(f.published, page.Entries...)
	var ids []string
	for _, e := range page.Entries {
		if slices.Contains(ids, e.ID.String()) {
			t.Errorf("%s is published twice on a page", e.ID)
		}
		ids = append(ids, e.ID.String())
	}
	there, err := f.engine(f.elastic).Lookup(t.Context(), d, ids)
	fatal(t, err)
	for _, e := range page.Entries {
		id := e.ID.String()
		delete(f.merged[d], id)
		if e.Op == feedchanges.Merge {
			if f.merged[d] == nil {
				f.merged[d] = map[string]string{}
			}
			f.merged[d][id] = e.Into.String()
		}
		if e.Op != feedchanges.Upsert {
			delete(f.copy[d], id)
			continue
		}
		if there[id] == nil { // deleted since, which is published later
			continue
		}
		record, err := document.FromPublic(d, there[id])
		fatal(t, err)
		f.copy[d][id] = string(record.AppendPublic(nil))
	}
}

func (f *follower) wantEqual(t *testing.T, when string) {
	t.Helper()
	if diff := gocmp.Diff(f.served(t), f.copy); diff != "" {
		t.Fatalf("%s: the copy differs (-served +copy):\n%.3000s", when, diff)
	}
}

func (w *world) feed(t *testing.T) *feed.Feed {
	t.Helper()
	return &feed.Feed{Store: w.system, Elastic: w.elastic, Names: w.names, Live: w.engine(w.elastic), Retry: retry, Window: 3}
}

// loadOptions load files by dataset and write the feed.
func (w *world) loadOptions(t *testing.T, files map[catalog.Dataset]string) indexer.Options {
	t.Helper()
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		write(t, filepath.Join(dir, string(d)+".ndjson"), files[d])
	}
	return indexer.Options{Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry, Feed: w.feed(t), Force: true}
}

// publishedDelta are options that apply lines of accounts and write the feed.
func (w *world) publishedDelta(t *testing.T, accounts string) delta.Options {
	t.Helper()
	o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: accounts})
	o.Feed = w.feed(t)
	return o
}

// interruptedLoad loads until stop says so of a request.
func (w *world) interruptedLoad(t *testing.T, o indexer.Options, stop func(*http.Request) bool) error {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	address := proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if stop(r) {
			end(errStopped)
			return nil
		}
		return body
	}, nil)
	o.Elastic = searchtest.NewClient(t, address)
	f := w.feed(t)
	f.Elastic, f.Live = o.Elastic, w.engine(o.Elastic)
	o.Feed = f
	_, err := indexer.Load(ctx, o)
	return err
}

var (
	walks = flag.Int("walks", 1, "how many random walks TestFeedFollows makes")
	seed  = flag.Uint64("seed", 0, "the seed of the first of them; 0: a random one")
)

// A follower that applies the feed has exactly the served records after any loads, deltas
// and rollbacks, finished, interrupted, resumed or abandoned.
func TestFeedFollows(t *testing.T) {
	t.Parallel()
	first := cmp.Or(*seed, rand.Uint64())
	for i := range *walks {
		of := first + uint64(i)
		t.Run(fmt.Sprintf("seed %d", of), func(t *testing.T) { walk(t, rand.New(rand.NewPCG(of, 0))) })
	}
}

func walk(t *testing.T, random *rand.Rand) {
	w := newWorld(t)
	// How many requests a delta and a load have made at most: others are stopped at any of
	// these. The first of each is not stopped.
	deltas, loads := int64(0), int64(0)
	counted := func(into *int64, n *atomic.Int64) { *into = max(*into, n.Load()) }
	var requests atomic.Int64
	count := func(*http.Request) bool { requests.Add(1); return false }
	fatal(t, w.interruptedLoad(t, w.loadOptions(t, nil), count))
	counted(&loads, &requests)
	requests.Store(0)
	measured, _ := drawn(random.Int())
	o := w.options(t, byDataset(measured))
	o.Feed, o.Page = w.feed(t), 2
	_, err := w.interrupted(t, o, count, false)
	fatal(t, err)
	counted(&deltas, &requests)
	f := w.follower(t)
	arrivals := w.arrivals(t)
	unfinished := false // an interrupted delta is left
	f.random = random
	at := 0
	var said []string
	for round := range 8 {
		seed := random.Int()
		changed, _ := drawn(seed)
		o := w.options(t, withMerges(random, byDataset(changed)))
		o.Feed, o.Page = w.feed(t), 2
		at++
		now := time.UnixMilli(day(at % 7))
		o.Now = func() time.Time { return now }
		var n atomic.Int64
		action := random.IntN(6)
		stopAt := 1 + random.Int64N(deltas)
		if action > 2 {
			stopAt = 1 + random.Int64N(loads)
		}
		stop := func(*http.Request) bool { return n.Add(1) == stopAt }
		said = append(said, fmt.Sprintf("round %d: action %d, stopped at %d, seed %d", round, action, stopAt, seed))
		when := strings.Join(said, "\n")
		stopped := false
		switch action {
		case 0, 1: // a delta, interrupted perhaps, and gone on with perhaps
			_, err := w.interrupted(t, o, stop, random.IntN(2) == 0)
			counted(&deltas, &n)
			if errors.Is(err, errStopped) && random.IntN(2) == 0 {
				f.catchUp(t)
				_, err = delta.Apply(t.Context(), o)
			}
			wantStopped(t, err, when)
			stopped = errors.Is(err, errStopped)
		case 2: // a delta that gives up the one before
			o.Abandon = true
			_, err := delta.Apply(t.Context(), o)
			fatal(t, err)
		case 3: // a load of some of the records, with others
			fatal(
				t,
				w.interruptedLoad(t, w.loadOptions(t, withMerges(random, f.files(changed))), func(*http.Request) bool { n.Add(1); return false }),
			)
			counted(&loads, &n)
		case 4: // a load that is interrupted, and gone on with perhaps
			lo := w.loadOptions(t, withMerges(random, f.files(changed)))
			err := w.interruptedLoad(t, lo, func(r *http.Request) bool {
				return stop(r) || stopAt < 10 && strings.HasSuffix(r.URL.Path, "/_aliases") && r.Method == http.MethodPost
			})
			counted(&loads, &n)
			if errors.Is(err, errStopped) && random.IntN(2) == 0 {
				f.catchUp(t)
				_, err = indexer.Load(t.Context(), lo)
			}
			wantStopped(t, err, when)
		case 5:
			_, err := generation.Rollback(t.Context(), generation.Options{Elastic: w.elastic, Names: w.names, Retry: retry, Feed: w.feed(t)}, "")
			if err != nil && fault.CodeOf(err) != fault.BadRequest {
				t.Fatal(err)
			}
		}
		f.catchUp(t)
		fatal(t, w.feed(t).Settle(t.Context(), ""))
		f.catchUp(t)
		f.wantEqual(t, when)
		arrivals = w.wantArrivals(t, arrivals, action == 5, unfinished && action < 2, when)
		unfinished = unfinished && action > 2 || stopped
		f.wantMerges(t, when)
		if f.restarts > 0 {
			t.Fatalf("%s: the feed started over", when)
		}
	}
}

func wantStopped(t *testing.T, err error, when string) {
	t.Helper()
	if err != nil && !errors.Is(err, errStopped) && fault.CodeOf(err) != fault.BadRequest {
		t.Fatalf("%s: %v", when, err)
	}
}

// files are some of the served records, and changed ones, as files of a load.
func (f *follower) files(changed []change) map[catalog.Dataset]string {
	files := map[catalog.Dataset]string{}
	written := map[string]bool{}
	for _, c := range changed {
		if !c.deleted {
			files[c.d] += c.line() + "\n"
		}
		written[string(c.d)+c.id] = true
	}
	for _, d := range catalog.Datasets {
		for _, id := range slices.Sorted(maps.Keys(f.copy[d])) {
			record := f.copy[d][id]
			if !written[string(d)+id] && f.random.IntN(8) > 0 {
				files[d] += record + "\n"
			}
		}
	}
	return files
}

// A backend that was restored to an earlier time is noticed. A killed publication is not
// mistaken for one.
func TestFeedNoticesRestoredBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		restore  func(t *testing.T, w *world, before uuid.UUID)
		restarts int
	}{
		"postgres": {func(t *testing.T, w *world, before uuid.UUID) {
			w.exec(t, `DELETE FROM data_publications WHERE id = (SELECT latest FROM data_feed)`)
			w.exec(t, `UPDATE data_feed SET latest = '`+before.String()+`', head = head - 1, tail = head - 1`)
			w.exec(t, `DELETE FROM data_changes WHERE seq > (SELECT head FROM data_feed)`)
		}, 1},
		"elasticsearch": {func(t *testing.T, w *world, before uuid.UUID) { w.storePublication(t, before) }, 1},
		"elasticsearch, lost": {func(t *testing.T, w *world, _ uuid.UUID) {
			fatal(t, w.elastic.DeleteIndices(t.Context(), w.names.Feed()))
		}, 1},
		"killed after Elasticsearch had it": {func(t *testing.T, w *world, before uuid.UUID) {
			w.exec(t, `DELETE FROM data_publications WHERE id = (SELECT latest FROM data_feed)`)
			w.exec(t, `UPDATE data_feed SET publishing = latest, latest = '`+before.String()+`', head = head - 1, writer = 'a delta'`)
		}, 0},
		"killed before": {func(t *testing.T, w *world, before uuid.UUID) {
			w.storePublication(t, before)
			w.exec(t, `DELETE FROM data_publications WHERE id = (SELECT latest FROM data_feed)`)
			w.exec(t, `UPDATE data_feed SET publishing = latest, latest = '`+before.String()+`', head = head - 1, writer = 'a delta'`)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := indexer.Load(t.Context(), w.loadOptions(t, nil))
			fatal(t, err)
			apply := func(n int) {
				o := w.publishedDelta(t, lines(`{"id":"`+account(n)+`","name":"N"}`))
				w.apply(t, o)
			}
			apply(1)
			f := w.follower(t)
			before := f.at[catalog.Accounts].Publication
			apply(2)
			c.restore(t, w, before)
			f.catchUp(t)
			fatal(t, w.feed(t).Settle(t.Context(), ""))
			f.catchUp(t)
			f.wantEqual(t, "settled")
			apply(3)
			f.catchUp(t)
			f.wantEqual(t, "after the next delta")
			if f.restarts != c.restarts {
				t.Errorf("%d restarts, want %d", f.restarts, c.restarts)
			}
		})
	}
}

func (w *world) exec(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.store)
	fatal(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // the test is over
	_, err = conn.Exec(t.Context(), sql)
	fatal(t, err)
}

func (w *world) storePublication(t *testing.T, id uuid.UUID) {
	t.Helper()
	_, err := w.elastic.Do(t.Context(), elastictest.Request{
		Method: http.MethodPut, Path: "/" + w.names.Feed() + "/_doc/last",
		Body: []byte(`{"publication":"` + id.String() + `"}`),
	})
	fatal(t, err)
}

// Old changes are forgotten, and then their cursors are too old.
func TestFeedForgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, nil))
	fatal(t, err)
	f := w.follower(t)
	for n := range 3 {
		o := w.publishedDelta(t, lines(`{"id":"`+account(n)+`","name":"N"}`))
		w.apply(t, o)
		if n == 1 {
			w.exec(t, `UPDATE data_publications SET published_at = published_at - interval '2 hours'`)
			f.catchUp(t)
		}
	}
	fatal(t, w.system.ForgetChanges(t.Context(), time.Hour))
	f.catchUp(t)
	f.wantEqual(t, "from where the forgotten ones end")
	if _, known, err := f.store.ChangesAfter(
		t.Context(), catalog.Accounts, feedchanges.Position{Publication: f.at[catalog.Accounts].Publication, Seq: 1}, 10,
	); known ||
		err != nil {
		t.Errorf("forgotten changes are published: %v", err)
	}
	if _, known, err := f.store.FeedAt(t.Context(), time.Now().Add(-3*time.Hour)); known || err != nil {
		t.Errorf("a time that was forgotten is known: %v", err)
	}
	// A clock was set back: changes published later, by time or by order, are after the
	// position of a time.
	w.exec(t, `UPDATE data_publications SET published_at = clock_timestamp() - interval '10 minutes' WHERE head = (SELECT max(head) FROM data_publications)`)
	w.exec(t, `UPDATE data_publications SET published_at = clock_timestamp() WHERE head = (SELECT max(head) FROM data_publications WHERE id <> (SELECT latest FROM data_feed))`)
	if p, known, err := f.store.FeedAt(t.Context(), time.Now().Add(-5*time.Minute)); known &&
		p.Seq >= f.at[catalog.Accounts].Seq-1 || err != nil {
		t.Errorf("after a clock was set back: %v %v %v", p, known, err)
	}
	if f.restarts > 0 {
		t.Error("the feed started over")
	}
}
