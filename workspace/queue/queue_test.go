package queue_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/queue"
	"atlas/workspace/subscriptions"
)

func TestMain(m *testing.M) { backends.Main(m) }

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var retry = elastic.Retry{For: 30 * time.Second, First: time.Millisecond, Max: 50 * time.Millisecond}

// world is Atlas with its backends, without a server.
type world struct {
	elastic   *elastic.Client
	names     mappings.Names
	system    *postgres.System
	store     *postgres.Store
	engine    *search.Engine
	queue     *queue.Queue
	subs      *subscriptions.Subscriptions
	work      string
	directory *people.Directory
}

func newWorld(t *testing.T) *world {
	t.Helper()
	databases := pgtest.New(t)
	w := &world{
		elastic: searchtest.NewClient(t, backends.Elasticsearch(t)),
		names:   mappings.Names{Prefix: "queue-" + strings.ToLower(rand.Text())[:12] + "-"},
		system:  databases.OpenSystem(t, postgres.Options{MaxConns: 4}),
		store:   databases.OpenApp(t, postgres.Options{MaxConns: 4}), work: t.TempDir(),
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, w.elastic, w.names.Prefix+"*") })
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	w.engine = &search.Engine{Elastic: w.elastic, Names: w.names, Cursors: cursors, Timeout: 30 * time.Second}
	w.queue = &queue.Queue{Store: w.store, Searcher: w.engine}
	w.subs = subscriptions.NewSubscriptions(w.store, nil)
	w.directory = people.NewDirectory(w.system, nil)
	return w
}

func (w *world) workspace(t *testing.T) workspace.ID {
	t.Helper()
	ws, err := w.directory.CreateWorkspace(t.Context(), "W", workspace.Pro, 1000)
	fatal(t, err)
	return ws.ID
}

func (w *world) feed() *feed.Feed {
	return &feed.Feed{Store: w.system, Elastic: w.elastic, Names: w.names, Live: w.engine, Retry: retry}
}

func (w *world) write(t *testing.T, lines []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range catalog.Datasets {
		text := ""
		if d == catalog.Signals {
			text = strings.Join(lines, "\n")
		}
		fatal(t, os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(text), 0o600))
	}
	return dir
}

func (w *world) load(t *testing.T, lines ...string) {
	t.Helper()
	_, err := indexer.Load(t.Context(), indexer.Options{
		Dir: w.write(t, lines), Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry, Feed: w.feed(), Force: true,
	})
	fatal(t, err)
}

func (w *world) apply(t *testing.T, lines ...string) {
	t.Helper()
	_, err := delta.Apply(t.Context(), delta.Options{
		Elastic: w.elastic, Names: w.names, Live: w.engine, WorkDir: w.work, Retry: retry, Feed: w.feed(),
		Files: []delta.File{{Dataset: catalog.Signals, Path: filepath.Join(w.write(t, lines), "signals.ndjson")}},
	})
	fatal(t, err)
}

func signal(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("4%07x-0000-4000-8000-%012x", n*7%13, n))
}

func project(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("30000000-0000-4000-8000-%012x", n)) }

// line is a signal whose detected_at is long ago, so that it says nothing of its arrival.
func line(n int, of string) string {
	return fmt.Sprintf(`{"id":"%s","signal_type":"%s","title":"Number %d","project_id":"%s","occurred_at":"2001-01-%02dT00:00:00Z","detected_at":"2001-02-%02dT00:00:00Z"}`,
		signal(n), of, n, project(n%3), 1+n%28, 28-n%28)
}

func deletion(n int) string { return fmt.Sprintf(`{"id":"%s","deleted":true}`, signal(n)) }

func (w *world) subscribe(t *testing.T, in workspace.ID, of string) subscriptions.Subscription {
	t.Helper()
	s, err := w.subs.Upsert(t.Context(), in, subscriptions.Change{SignalType: of})
	fatal(t, err)
	return s
}

// ids searches the queue page by page.
func (w *world) ids(t *testing.T, in workspace.ID, body string, limit int) (ids []uuid.UUID, unread int) {
	t.Helper()
	v, problems := input.Decode([]byte(body))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := query.QueueRule.Parse(v)
	fatal(t, err)
	for r.Limit = limit; ; {
		page, err := w.queue.Search(t.Context(), in, r)
		fatal(t, err)
		for _, row := range page.Rows {
			var of struct {
				ID uuid.UUID `json:"id"`
			}
			fatal(t, json.Unmarshal(row, &of))
			ids = append(ids, of.ID)
		}
		if r.After = page.Next; r.After == "" {
			return ids, page.Unread
		}
	}
}

// The queue is that of a model, whatever loads, deltas, subscriptions and dismissals there
// are, of two workspaces.
func TestQueueEqualsModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, line(0, "permit_filed"))
	types := []string{"permit_filed", "permit_issued", "cost_changed"}
	m := model{types: map[int]string{0: "permit_filed"}, arrived: map[int]int{0: 1}, clock: 1}
	spaces := []*modelSpace{newSpace(w.workspace(t)), newSpace(w.workspace(t))}
	seed := randv2.Uint64()
	r := randv2.New(randv2.NewPCG(seed, 0))
	var said []string
	for step := range 25 {
		s := spaces[r.IntN(len(spaces))]
		of := types[r.IntN(len(types))]
		action := r.IntN(9)
		said = append(said, fmt.Sprint("step ", step, " action ", action, " ", of))
		switch action {
		case 0, 1: // a delta
			var lines []string
			m.clock++
			for range 1 + r.IntN(4) {
				n := r.IntN(12)
				if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, signal(n).String()) }) {
					continue
				}
				if _, there := m.types[n]; there && r.IntN(3) == 0 {
					lines = append(lines, deletion(n))
					m.remove(n, spaces)
				} else {
					lines = append(lines, line(n, of))
					m.put(n, of)
				}
			}
			w.apply(t, lines...)
		case 2: // a load
			var lines []string
			m.clock++
			for n := range 12 {
				switch _, there := m.types[n]; {
				case there && r.IntN(6) == 0:
					m.remove(n, spaces)
				case there:
					lines = append(lines, line(n, m.types[n]))
				case r.IntN(3) == 0:
					m.put(n, of)
					lines = append(lines, line(n, of))
				}
			}
			w.load(t, lines...)
		case 3, 4:
			sub := w.subscribe(t, s.id, of)
			if _, there := s.after[of]; !there {
				s.after[of] = m.clock
			}
			s.subs[of] = sub.ID
		case 5:
			fatal(t, w.subs.Delete(t.Context(), s.id, s.subs[of]))
			delete(s.after, of)
			for n, dismissedAs := range s.dismissed {
				if dismissedAs == of {
					delete(s.dismissed, n)
				}
			}
		case 6, 7: // dismissing
			var ids []uuid.UUID
			var wantErrs []fault.Code
			for range 1 + r.IntN(3) {
				n := r.IntN(12)
				ids = append(ids, signal(n))
				if m.queued(s, n) {
					if s.dismissed[n] == "" {
						s.dismissed[n] = m.types[n]
					}
					wantErrs = append(wantErrs, "")
				} else {
					wantErrs = append(wantErrs, fault.NotFound)
				}
			}
			errs, err := w.queue.Dismiss(t.Context(), s.id, ids)
			fatal(t, err)
			for i, err := range errs {
				if err == nil && wantErrs[i] != "" || err != nil && fault.CodeOf(err) != wantErrs[i] {
					t.Fatalf("seed %d, step %d: dismissing %s: %v, want %q", seed, step, ids[i], err, wantErrs[i])
				}
			}
		case 8:
			n := r.IntN(12)
			fatal(t, w.queue.Restore(t.Context(), s.id, []uuid.UUID{signal(n)}))
			delete(s.dismissed, n)
		}
		for i, s := range spaces {
			unread, dismissed := m.want(s, false), m.want(s, true)
			got, count := w.ids(t, s.id, `{}`, 1+r.IntN(4))
			gotDismissed, repeated := w.ids(t, s.id, `{"dismissed":true}`, 1+r.IntN(4))
			diff := gocmp.Diff(unread, got) + gocmp.Diff(dismissed, gotDismissed)
			if diff != "" || count != len(unread) || repeated != count {
				t.Fatalf(
					"seed %d, workspace %d: unread %d and %d, want %d (-want +got)\n%s\n%s", seed, i, count, repeated,
					len(unread), diff, strings.Join(said, "\n"),
				)
			}
		}
	}
}

// model is the expected content of Atlas; arrivals are counted.
type model struct {
	types   map[int]string
	arrived map[int]int
	clock   int
}

type modelSpace struct {
	id        workspace.ID
	after     map[string]int
	subs      map[string]subscriptions.ID
	dismissed map[int]string
}

func newSpace(id workspace.ID) *modelSpace {
	return &modelSpace{id, map[string]int{}, map[string]subscriptions.ID{}, map[int]string{}}
}

func (m *model) put(n int, of string) {
	if _, there := m.types[n]; !there {
		m.arrived[n] = m.clock
	}
	m.types[n] = of
}

func (m *model) remove(n int, spaces []*modelSpace) {
	delete(m.types, n)
	for _, s := range spaces {
		delete(s.dismissed, n)
	}
}

func (m *model) queued(s *modelSpace, n int) bool {
	of, there := m.types[n]
	after, subscribed := s.after[of]
	return there && subscribed && m.arrived[n] > after
}

func (m *model) want(s *modelSpace, dismissed bool) (ids []uuid.UUID) {
	var of []int
	for n := range 12 {
		if m.queued(s, n) && (s.dismissed[n] != "") == dismissed {
			of = append(of, n)
		}
	}
	slices.SortFunc(of, func(a, b int) int {
		if m.arrived[a] != m.arrived[b] {
			return m.arrived[b] - m.arrived[a]
		}
		x, y := signal(a), signal(b)
		return strings.Compare(x.String(), y.String())
	})
	for _, n := range of {
		ids = append(ids, signal(n))
	}
	return ids
}

// A subscription that begins during a load gets the load's signals.
func TestSubscribingDuringALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, line(1, "permit_filed"))
	in := w.workspace(t)
	began, err := w.feed().Arrive(t.Context(), time.Now()) // as a load does, before it reads and writes for hours
	fatal(t, err)
	w.subscribe(t, in, "permit_filed")
	if through, err := w.queue.ArrivedThrough(t.Context()); err != nil || !through.Before(began) {
		t.Errorf("all is read up to %v while a load of %v goes on: %v", through, began, err)
	}
	state, err := w.store.QueueState(t.Context(), in)
	fatal(t, err)
	if !state.After["permit_filed"].Before(began) {
		t.Errorf("the queue begins at %v, and the load's signals arrive at %v", state.After["permit_filed"], began)
	}
}

// What arrived is read in pages by arrival, between two arrivals.
func TestArrived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, other := w.workspace(t), w.workspace(t)
	w.load(t, line(9, "permit_filed"))
	for _, of := range []string{"permit_filed", "permit_issued"} {
		w.subscribe(t, in, of)
	}
	through := func() time.Time {
		t.Helper()
		at, err := w.queue.ArrivedThrough(t.Context())
		fatal(t, err)
		return at
	}
	read := func(in workspace.ID, after, upTo time.Time, types ...string) (ids []uuid.UUID) {
		t.Helper()
		for a := (queue.Arrivals{Types: types, After: after, UpTo: upTo, Limit: 2}); ; {
			signals, next, err := w.queue.Arrived(t.Context(), in, a)
			fatal(t, err)
			for _, s := range signals {
				ids = append(ids, s.ID)
			}
			if a.Cursor = next; next == "" {
				return ids
			}
		}
	}
	want := func(what string, got []uuid.UUID, numbers ...int) {
		t.Helper()
		var all []uuid.UUID
		for _, n := range numbers {
			all = append(all, signal(n))
		}
		if diff := gocmp.Diff(all, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	a := through()
	w.apply(t, line(3, "permit_filed"), line(1, "permit_issued"), line(2, "permit_filed"), line(4, "cost_changed"))
	b := through()
	w.apply(t, line(5, "permit_filed"))
	c := through()
	want("of both types", read(in, a, b, "permit_filed", "permit_issued", "cost_changed"), 2, 1, 3)
	want("of one", read(in, a, c, "permit_filed"), 2, 3, 5)
	want("the later ones", read(in, b, c, "permit_filed"), 5)
	want("since ever", read(in, time.Time{}, c, "permit_filed"), 2, 3, 5)
	want("nothing since", read(in, c, c, "permit_filed"))
	want("of a type without subscription", read(in, a, c, "cost_changed"))
	want("of another workspace", read(other, a, c, "permit_filed"))
	_, err := w.queue.Dismiss(t.Context(), in, []uuid.UUID{signal(3)})
	fatal(t, err)
	want("without dismissed ones", read(in, a, c, "permit_filed"), 2, 5)
}

// The queue accepts the conditions of signals and those on the book, and refuses cursors of
// another workspace's queue.
func TestConditionsOfTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, other := w.workspace(t), w.workspace(t)
	w.load(t)
	w.subscribe(t, in, "permit_filed")
	w.subscribe(t, other, "permit_filed")
	w.apply(t, line(1, "permit_filed"), line(2, "permit_filed"), line(3, "permit_filed"), line(4, "permit_filed"))
	_, err := w.store.UpsertOverlays(
		t.Context(), in, catalog.Projects,
		[]book.OverlayUpsert{{Fresh: book.Overlay{Record: project(1), CreatedAt: time.Now(), UpdatedAt: time.Now()}}},
		book.Additions{Most: 100, At: time.Now()},
	)
	fatal(t, err)
	for body, want := range map[string]int{
		`{"in_book":true}`:                           2,
		`{"in_book":false}`:                          4,
		`{"filters":{"title":{"value":"number 3"}}}`: 1,
		`{"query":"number","filters":{"project_id":{"value":"` + project(1).String() + `"}}}`: 2,
		`{"none":[{"filters":{"signal_type":{"value":"permit_filed"}}}]}`:                     0,
		`{"dismissed":true}`: 0,
	} {
		if ids, unread := w.ids(t, in, body, 3); len(ids) != want || unread != 4 {
			t.Errorf("%s: %d signals, %d unread, want %d and 4", body, len(ids), unread, want)
		}
	}
	if ids, _ := w.ids(t, other, `{"in_book":true}`, 3); len(ids) > 0 {
		t.Errorf("the other workspace's book has %v", ids)
	}
	v, _ := input.Decode([]byte(`{"limit":1}`))
	r, err := query.QueueRule.Parse(v)
	fatal(t, err)
	page, err := w.queue.Search(t.Context(), in, r)
	fatal(t, err)
	r.After = page.Next
	if _, err := w.queue.Search(t.Context(), other, r); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a cursor of another workspace: %v", err)
	}
	_, err = w.queue.Dismiss(t.Context(), in, []uuid.UUID{signal(1)})
	fatal(t, err)
	if _, unread := w.ids(t, other, `{}`, 3); unread != 4 {
		t.Errorf("dismissing in one workspace leaves %d in the other", unread)
	}
	fatal(t, w.queue.Restore(t.Context(), other, []uuid.UUID{signal(1)}))
	if _, unread := w.ids(t, in, `{}`, 3); unread != 3 {
		t.Errorf("restoring in one workspace leaves %d unread in the other", unread)
	}
}

// A rollback shows the signals of the generation before, with their arrivals.
func TestQueueAfterARollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t)
	w.load(t)
	w.subscribe(t, in, "permit_filed")
	w.load(t, line(1, "permit_filed"))
	w.load(t, line(1, "permit_filed"), line(2, "permit_filed"))
	_, err := generation.Rollback(t.Context(), generation.Options{Elastic: w.elastic, Names: w.names, Retry: retry, Feed: w.feed()}, "")
	fatal(t, err)
	if ids, unread := w.ids(t, in, `{}`, 5); unread != 1 || !slices.Equal(ids, []uuid.UUID{signal(1)}) {
		t.Errorf("after a rollback: %v", ids)
	}
}
