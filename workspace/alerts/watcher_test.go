package alerts_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/feed"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/projection"
	"atlas/workspace/records"
	"atlas/workspace/views"
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
	views     *views.Views
	alerts    *alerts.Alerts
	watcher   *alerts.Watcher
	killer    *killer
	work      string
	directory *people.Directory
	projector *projection.Projector
	databases *pgtest.Databases
}

func newWorld(t testing.TB) *world {
	t.Helper()
	databases := pgtest.New(t)
	w := &world{
		databases: databases,
		elastic:   searchtest.NewClient(t, backends.Elasticsearch(t)),
		names:     mappings.Names{Prefix: "alerts-" + strings.ToLower(rand.Text())[:12] + "-"},
		system:    databases.OpenSystem(t, postgres.Options{MaxConns: 4}),
		store:     databases.OpenApp(t, postgres.Options{MaxConns: 4}), work: t.TempDir(),
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, w.elastic, w.names.Prefix+"*") })
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	w.engine = &search.Engine{Elastic: w.elastic, Names: w.names, Cursors: cursors, Timeout: 30 * time.Second}
	w.views = views.NewViews(w.store, nil)
	w.alerts = &alerts.Alerts{Store: w.store}
	w.killer = &killer{System: w.system}
	w.projector = &projection.Projector{Rows: w.store, System: w.system, Global: w.engine, Elastic: w.elastic, Names: w.names}
	t.Cleanup(w.projector.Close)
	w.watcher = &alerts.Watcher{
		Watches: w.killer, Feed: w.store, Search: &records.Records{
			Searcher: w.engine, Matcher: w.engine, Overlays: w.store, Views: w.store, Freshness: w.projector,
		},
		Log: slog.New(slog.DiscardHandler),
	}
	w.directory = people.NewDirectory(w.system, nil)
	return w
}

// exec runs a statement as the owner of the database.
func (w *world) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.databases.Admin)
	fatal(t, err)
	_, err = conn.Exec(t.Context(), sql, args...)
	fatal(t, errors.Join(err, conn.Close(t.Context())))
}

// person is a member of a workspace.
type person struct {
	in   workspace.ID
	user workspace.UserID
}

func (w *world) workspace(t testing.TB) workspace.ID {
	t.Helper()
	ws, err := w.directory.CreateWorkspace(t.Context(), "W", workspace.Pro, 1000)
	fatal(t, err)
	return ws.ID
}

func (w *world) person(t testing.TB, in workspace.ID) person {
	t.Helper()
	m, err := w.directory.AddMember(t.Context(), in, people.Member{
		Email: strings.ToLower(rand.Text()) + "@example.com", Name: "P", Role: people.Owner,
	})
	fatal(t, err)
	return person{in, m.ID}
}

func (w *world) feed() *feed.Feed {
	return &feed.Feed{Store: w.system, Elastic: w.elastic, Names: w.names, Live: w.engine, Retry: retry}
}

func (w *world) load(t testing.TB, lines ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		text := ""
		if d == catalog.Accounts {
			text = strings.Join(lines, "\n")
		}
		fatal(t, os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(text), 0o600))
	}
	_, err := indexer.Load(t.Context(), indexer.Options{
		Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry, Feed: w.feed(), Force: true,
	})
	fatal(t, err)
}

func (w *world) apply(t testing.TB, lines ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accounts.ndjson")
	fatal(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	_, err := delta.Apply(t.Context(), delta.Options{
		Elastic: w.elastic, Names: w.names, Live: w.engine, WorkDir: w.work, Retry: retry, Feed: w.feed(),
		Files: []delta.File{{Dataset: catalog.Accounts, Path: path}},
	})
	fatal(t, err)
}

func account(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("1%07x-0000-4000-8000-%012x", n*7%13, n))
}

func line(n int, city string) string {
	return fmt.Sprintf(`{"id":"%s","name":"Firm %d","city":%q}`, account(n), n, city)
}

func (w *world) view(t testing.TB, in workspace.ID, id *views.ID, cities ...string) (views.View, error) {
	t.Helper()
	body := fmt.Sprintf(`{"dataset":"account","view_type":"dynamic","name":%q,"definition":%s}`, uuid.NewString(), inCities(cities))
	if id != nil {
		body = fmt.Sprintf(`{"id":%q,"definition":%s}`, *id, inCities(cities))
	}
	v, problems := input.Decode([]byte(body))
	fatal(t, input.Issues(problems).Err())
	change, err := views.ParseChange(v)
	fatal(t, err)
	return w.views.Upsert(t.Context(), in, workspace.UserID{}, change)
}

func inCities(cities []string) string {
	return `{"version":1,"q":"","fields":{"city":["` + strings.Join(cities, `","`) + `"]}}`
}

// look runs several servers concurrently, one of which is killed now and then, until nothing
// is left.
func (w *world) look(t testing.TB) {
	t.Helper()
	var others sync.WaitGroup
	for range 2 {
		other := *w.watcher
		other.Watches = w.system
		others.Go(func() {
			if err := other.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for w.watcher.Look(t.Context()) != nil { // killed
	}
	others.Wait()
	fatal(t, (&alerts.Watcher{Watches: w.system, Feed: w.watcher.Feed, Search: w.watcher.Search}).Look(t.Context()))
}

// reported are the records in the entries of a person's alert, in order.
func (w *world) reported(t testing.TB, p person, v views.ID) (ids [][]uuid.UUID) {
	t.Helper()
	entries, err := w.alerts.Entries(t.Context(), p.in, p.user, &v, 100, 0)
	fatal(t, err)
	for _, e := range slices.Backward(entries) {
		if e.Count != len(e.Records) {
			t.Errorf("an entry of %d names %d", e.Count, len(e.Records))
		}
		ids = append(ids, e.Records)
	}
	return ids
}

// killer kills the watcher before or after it stores a step.
type killer struct {
	*postgres.System
	r     *randv2.Rand
	kills int
}

var errKilled = errors.New("killed")

func (k *killer) around(do func() error) error {
	at := 9
	if k.r != nil {
		at = k.r.IntN(4)
	}
	if at == 0 {
		k.kills++
		return errKilled
	}
	err := do()
	if at == 1 {
		k.kills++
		return errors.Join(err, errKilled)
	}
	return err
}

func (k *killer) StepWatched(ctx context.Context, w alerts.Watched, s alerts.Step, now time.Time) (stored bool, err error) {
	err = k.around(func() (err error) { stored, err = k.System.StepWatched(ctx, w, s, now); return err })
	return stored, err
}

func (k *killer) CompareHeld(ctx context.Context, of alerts.HeldOf, compared []alerts.HeldChange) error {
	return k.around(func() error { return k.System.CompareHeld(ctx, of, compared) })
}

func (k *killer) MoveWatched(ctx context.Context, all []alerts.Watched, to changes.Position) error {
	return k.around(func() error { return k.System.MoveWatched(ctx, all, to) })
}

// watched is a View of the model.
type watched struct {
	person
	view   views.ID
	cities []string
	known  map[int]bool
	want   [][]uuid.UUID
}

// Each record is reported once when it begins to match, whatever deltas, merges, loads and
// changed definitions there are, wherever the watcher is killed, and however many servers look.
func TestEntriesEqualModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cities := []string{"Calgary", "Edmonton", "Banff"}
	present := map[int]string{0: "Calgary", 1: "Banff"}
	w.load(t, line(0, "Calgary"), line(1, "Banff"))
	seed := randv2.Uint64()
	r := randv2.New(randv2.NewPCG(seed, 0))
	one, two := w.person(t, w.workspace(t)), w.person(t, w.workspace(t))
	var all []*watched
	for i, p := range []person{one, two, two} {
		m := &watched{person: p, cities: cities[:1+i/2]} // the first two are equal
		v, err := w.view(t, p.in, nil, m.cities...)
		fatal(t, err)
		m.view = v.ID
		_, err = w.alerts.Upsert(t.Context(), p.in, p.user, alerts.Change{View: v.ID})
		fatal(t, err)
		all = append(all, m)
	}
	matches := func(m *watched) map[int]bool {
		found := map[int]bool{}
		for n, city := range present {
			if slices.Contains(m.cities, city) {
				found[n] = true
			}
		}
		return found
	}
	begin := func(m *watched) { m.known = matches(m) }
	w.look(t)
	for _, m := range all {
		begin(m)
	}
	w.killer.r = r
	steps := 30
	if testing.Short() {
		steps = 12
	}
	var said []string
	for step := range steps {
		action := r.IntN(11)
		said = append(said, fmt.Sprint("step ", step, " action ", action))
		switch action {
		case 0, 1, 2, 3: // a delta, perhaps applied twice
			lines := map[int]string{}
			for range 1 + r.IntN(5) {
				n, city := r.IntN(12), cities[r.IntN(len(cities))]
				if _, there := present[n]; there && r.IntN(3) == 0 {
					delete(present, n)
					lines[n] = fmt.Sprintf(`{"id":"%s","deleted":true}`, account(n))
				} else {
					present[n] = city
					lines[n] = line(n, city)
				}
			}
			texts := slices.Collect(maps.Values(lines))
			w.apply(t, texts...)
			if action == 0 {
				w.look(t)
				w.apply(t, texts...)
			}
		case 4, 8, 9, 10: // a merge: the target of a known record is known
			there := slices.Sorted(maps.Keys(present))
			if len(there) < 2 {
				continue
			}
			r.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
			old, into := there[0], there[1]
			// The survivor matches other Views from now on, perhaps those of the other.
			present[into] = cities[r.IntN(len(cities))]
			w.apply(t, fmt.Sprintf(`{"id":"%s","merged_into":"%s"}`, account(old), account(into)), line(into, present[into]))
			delete(present, old)
			for _, m := range all {
				m.known[into] = m.known[into] || m.known[old]
			}
		case 5: // a load
			var lines []string
			for n := range 12 {
				if r.IntN(3) == 0 {
					delete(present, n)
				} else if r.IntN(3) == 0 {
					present[n] = cities[r.IntN(len(cities))]
				}
				if city, there := present[n]; there {
					lines = append(lines, line(n, city))
				}
			}
			w.load(t, lines...)
		case 6: // a changed definition reports nothing
			m := all[r.IntN(len(all))]
			m.cities = []string{cities[r.IntN(len(cities))]}
			_, err := w.view(t, m.in, &m.view, m.cities...)
			fatal(t, err)
			begin(m)
		case 7: // the feed begins anew, with what is there
			state, err := w.system.FeedState(t.Context())
			fatal(t, err)
			w.exec(t, `UPDATE watched_views SET publication = gen_random_uuid() WHERE seq = $1`, state.Head)
		}
		w.look(t)
		for i, m := range all {
			now := matches(m)
			var reported []uuid.UUID
			for n := range now {
				if !m.known[n] {
					reported = append(reported, account(n))
				}
			}
			slices.SortFunc(reported, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
			if len(reported) > 0 {
				m.want = append(m.want, reported)
			}
			m.known = now
			if diff := gocmp.Diff(m.want, w.reported(t, m.person, m.view)); diff != "" {
				t.Fatalf("seed %d: View %d after %v (-want +got):\n%s", seed, i, said, diff)
			}
		}
	}
	if w.killer.kills == 0 {
		t.Error("nothing was killed")
	}
}

// New entries count from the user's last look, an alert reports only later matches, and ends
// with the View and with the membership.
func TestAlertsOfPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, line(0, "Calgary"))
	in := w.workspace(t)
	a, b := w.person(t, in), w.person(t, in)
	stranger := w.person(t, w.workspace(t))
	v, err := w.view(t, in, nil, "Calgary")
	fatal(t, err)
	add := func(p person) error {
		_, err := w.alerts.Upsert(t.Context(), p.in, p.user, alerts.Change{View: v.ID})
		return err
	}
	one := func(p person) (found alerts.Alert) {
		t.Helper()
		list, err := w.alerts.List(t.Context(), p.in, p.user, 10, 0)
		fatal(t, err)
		if len(list) != 1 {
			t.Fatalf("%d alerts", len(list))
		}
		return list[0]
	}
	fatal(t, add(a))
	if err := add(stranger); fault.CodeOf(err) != fault.ViewNotFound {
		t.Errorf("an alert on another workspace's View: %v", err)
	}
	if got := one(a); got.State != alerts.Waiting {
		t.Errorf("a new alert: %+v", got)
	}
	w.look(t)
	w.apply(t, line(1, "Calgary"), line(2, "Calgary"), line(3, "Banff"))
	w.look(t)
	if got := one(a); got.State != alerts.Watching || got.New != 2 || got.Latest != 1 {
		t.Errorf("after two records: %+v", got)
	}
	fatal(t, add(b))
	w.apply(t, line(4, "Calgary"))
	w.look(t)
	if got := one(a); got.New != 3 {
		t.Errorf("after three records: %+v", got)
	}
	if got := one(b); got.New != 1 || len(w.reported(t, b, v.ID)) != 1 {
		t.Errorf("an alert that is younger: %+v", got)
	}
	first := int64(1)
	if got, err := w.alerts.See(t.Context(), in, a.user, v.ID, &first); err != nil || got.New != 1 || got.SeenAt == nil {
		t.Errorf("seen the first: %+v: %v", got, err)
	}
	if got, err := w.alerts.See(t.Context(), in, a.user, v.ID, nil); err != nil || got.New != 0 {
		t.Errorf("seen all: %+v: %v", got, err)
	}
	if got, err := w.alerts.See(t.Context(), in, a.user, v.ID, &first); err != nil || got.New != 0 {
		t.Errorf("looking goes back: %+v: %v", got, err)
	}
	if _, err := w.alerts.See(t.Context(), stranger.in, stranger.user, v.ID, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a stranger looks: %v", err)
	}
	if got := one(b); got.New != 1 {
		t.Errorf("another looked: %+v", got)
	}
	// Without any alert for a while: matches of that time are known.
	for _, p := range []person{a, b} {
		fatal(t, w.alerts.Delete(t.Context(), in, p.user, v.ID))
	}
	w.apply(t, line(5, "Calgary"))
	fatal(t, add(b))
	w.look(t)
	w.apply(t, line(6, "Calgary"))
	w.look(t)
	if got := w.reported(t, b, v.ID); len(got) != 1 || got[0][0] != account(6) {
		t.Errorf("an alert that was off: %v", got)
	}
	w.exec(t, `DELETE FROM members WHERE user_id = $1`, uuid.UUID(b.user))
	if list, err := w.alerts.List(t.Context(), in, b.user, 10, 0); err != nil || len(list) != 0 {
		t.Errorf("alerts of one who left: %v, %v", list, err)
	}
	fatal(t, add(a))
	w.look(t)
	fatal(t, w.views.Delete(t.Context(), in, v.ID))
	w.look(t)
	if list, err := w.alerts.List(t.Context(), in, a.user, 10, 0); err != nil || len(list) != 0 {
		t.Errorf("alerts on a View that is gone: %v, %v", list, err)
	}
}

// An entry of many records names the first; beyond the maximum of matches, an alert rests for
// an hour.
func TestManyMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	w.watcher.MaxMatches, w.watcher.Now = 700, func() time.Time { return now }
	look := func() { t.Helper(); fatal(t, w.watcher.Look(t.Context())) }
	lines := func(from, to int, city string) (all []string) {
		for n := from; n < to; n++ {
			all = append(all, line(n, city))
		}
		return all
	}
	p := w.person(t, w.workspace(t))
	w.load(t, line(0, "Calgary"))
	v, err := w.view(t, p.in, nil, "Calgary")
	fatal(t, err)
	_, err = w.alerts.Upsert(t.Context(), p.in, p.user, alerts.Change{View: v.ID})
	fatal(t, err)
	look()
	check := func(what string, state alerts.State, counts ...int) []alerts.Entry {
		t.Helper()
		list, err := w.alerts.List(t.Context(), p.in, p.user, 10, 0)
		fatal(t, err)
		entries, err := w.alerts.Entries(t.Context(), p.in, p.user, nil, 10, 0)
		fatal(t, err)
		var got []int
		for _, e := range slices.Backward(entries) {
			got = append(got, e.Count)
		}
		if diff := gocmp.Diff(counts, got); diff != "" || list[0].State != state {
			t.Errorf("%s: %s, entries (-want +got):\n%s", what, list[0].State, diff)
		}
		return entries
	}
	w.apply(t, lines(1, 601, "Calgary")...)
	look()
	entries := check("600 records", alerts.Watching, 600)
	if records := entries[0].Records; len(records) != alerts.MaxIDs || !slices.IsSortedFunc(records, func(a, b uuid.UUID) int {
		return strings.Compare(a.String(), b.String())
	}) {
		t.Errorf("%d of 600 records are named", len(records))
	}
	rest := func(what string, since time.Time, reason alerts.Reason, seen bool) {
		t.Helper()
		list, err := w.alerts.List(t.Context(), p.in, p.user, 10, 0)
		fatal(t, err)
		got := list[0].Rest
		if reason == "" != (got == nil) || got != nil && (got.Reason != reason || got.Since.Sub(since).Abs() > time.Millisecond) ||
			list[0].RestSeen != seen {
			t.Errorf("%s: %+v, seen %t", what, got, list[0].RestSeen)
		}
	}
	// mails are the due e-mails, each once.
	mails := func(what string, want int) {
		t.Helper()
		for _, most := range []int{want, 0} {
			due, err := w.system.DueRests(t.Context())
			fatal(t, err)
			if len(due) != most {
				t.Errorf("%s: %d letters are due, want %d", what, len(due), most)
			}
			for _, m := range due {
				_, err := w.system.AdvanceRests(t.Context(), m, now)
				fatal(t, err)
			}
		}
	}
	rest("watching", now, "", true)
	mails("watching", 0)
	w.apply(t, lines(601, 750, "Calgary")...)
	look()
	check("750 records", alerts.Resting, 600)
	began := now
	rest("750 records", began, alerts.TooManyMatches, false)
	mails("750 records", 1)
	now = now.Add(time.Hour)
	look()
	check("after an hour", alerts.Resting, 600)
	rest("after an hour, the same rest", began, alerts.TooManyMatches, false)
	mails("after an hour, the same rest", 0)
	_, err = w.alerts.See(t.Context(), p.in, p.user, v.ID, nil)
	fatal(t, err)
	rest("looked at", began, alerts.TooManyMatches, true)
	w.apply(t, lines(100, 750, "Banff")...)
	look()
	check("within the hour", alerts.Resting, 600)
	now = now.Add(time.Hour)
	look()
	check("after an hour, what matches then is known", alerts.Watching, 600)
	rest("after an hour, what matches then is known", now, "", true)
	w.exec(t, `UPDATE views SET definition = '{"version":1,"q":"","fields":{"gone":["x"]}}' WHERE id = $1`, uuid.UUID(v.ID))
	look()
	rest("a definition that no version reads", now, alerts.DefinitionRefused, false)
	mails("another rest", 1)
	w.exec(t, `UPDATE views SET definition = '{"version":1,"q":"","fields":{"city":["Calgary"]}}' WHERE id = $1`, uuid.UUID(v.ID))
	look()
	rest("a definition that is mended", now, "", true)
	w.apply(t, line(800, "Calgary"))
	look()
	check("and one more", alerts.Watching, 600, 1)
}

// Unreadable data of one View does not block the others.
func TestUnreadableSetHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, line(0, "Banff"))
	p := w.person(t, w.workspace(t))
	var all []views.View
	for range 30 {
		v, err := w.view(t, p.in, nil, "Calgary")
		fatal(t, err)
		_, err = w.alerts.Upsert(t.Context(), p.in, p.user, alerts.Change{View: v.ID})
		fatal(t, err)
		all = append(all, v)
	}
	fatal(t, w.watcher.Look(t.Context()))
	w.exec(t, `UPDATE watched_views SET matched = 'x' WHERE view_id = $1`, uuid.UUID(all[3].ID))
	w.apply(t, line(1, "Calgary"))
	if w.watcher.Look(t.Context()) == nil {
		t.Error("nothing is said of it")
	}
	for i, v := range all {
		if got := w.reported(t, p, v.ID); (len(got) == 1) != (i != 3) {
			t.Errorf("View %d reports %v", i, got)
		}
	}
}

// A stored definition that no version reads blocks nobody, and is logged once.
func TestUnreadableDefinitionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log bytes.Buffer
	w.watcher.Log = slog.New(slog.NewTextHandler(&log, nil))
	w.load(t, line(0, "Banff"))
	one, two := w.person(t, w.workspace(t)), w.person(t, w.workspace(t))
	view := func(p person) views.ID {
		v, err := w.view(t, p.in, nil, "Calgary")
		fatal(t, err)
		_, err = w.alerts.Upsert(t.Context(), p.in, p.user, alerts.Change{View: v.ID})
		fatal(t, err)
		return v.ID
	}
	broken, whole := view(one), view(two)
	fatal(t, w.watcher.Look(t.Context()))
	w.exec(t, `UPDATE views SET definition = '{"version":1,"q":"","fields":{"gone":["x"]}}' WHERE id = $1`, uuid.UUID(broken))
	w.apply(t, line(1, "Calgary"))
	for range 2 {
		if err := w.watcher.Look(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := w.reported(t, two, whole); len(got) != 1 {
		t.Errorf("the other View reports %v", got)
	}
	if n := strings.Count(log.String(), broken.String()); n != 1 {
		t.Errorf("it is logged %d times: %s", n, log.String())
	}
}
