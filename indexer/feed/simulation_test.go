package feed_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

var (
	seeds = flag.Int("seeds", 25, "how many histories TestSimulation makes")
	first = flag.Uint64("first", 0, "the seed of the first of them; 0: a random one")
)

// The real feed on the real Postgres and a model of Elasticsearch: writers and servers are
// killed at any of their calls, before or after it took effect, and others go on or settle
// it. Whoever follows has what is served, and starts over only after a restore.
//
//	go test ./indexer/feed -run Simulation -seeds 1000 -first 1
func TestSimulation(t *testing.T) {
	t.Parallel()
	s := newSimulation(t)
	from := *first
	if from == 0 {
		from = rand.Uint64()
	}
	for i := range *seeds {
		s.history(t, from+uint64(i)) // #nosec G115 -- not negative
	}
}

// simulation is the state of a history.
type simulation struct {
	system *postgres.System
	store  *postgres.Store
	es     *cluster
	random *rand.Rand
	said   []string
	// What a follower has, and whether it may have to start over.
	at       changes.Position
	copy     map[string]string
	restored bool
	// left are the changes of a killed delta, by its name, which may go on.
	left map[string][][]edit
	n    int
	// longest is how many calls a process of each kind has made at most: a kill is at any of
	// these.
	measured, longest map[string]int
}

// newSimulation runs a process of each kind without a kill, which shows at how many calls
// it can be killed.
func newSimulation(t *testing.T) *simulation {
	d := pgtest.New(t)
	s := &simulation{
		system: d.OpenSystem(t, postgres.Options{MaxConns: 6}), store: d.OpenApp(t, postgres.Options{MaxConns: 2}),
		longest: map[string]int{},
	}
	s.begin(t, 0)
	s.delta(t, s.spared(t, "delta"))
	first := s.es.serves
	s.load(t, s.spared(t, "load"))
	s.switchTo(t, s.spared(t, "switch"), first, true)
	s.switchTo(t, s.spared(t, "switch"), s.es.newest(), false)
	s.settle(t)
	s.measured = maps.Clone(s.longest)
	return s
}

// begin is how a history begins: with an empty generation.
func (s *simulation) begin(t *testing.T, seed uint64) {
	t.Helper()
	s.random, s.es, s.said, s.left = rand.New(rand.NewPCG(seed, 0)), newCluster(), nil, map[string][][]edit{}
	s.es.fill(s.name(), map[string]doc{})
	s.es.serve(s.es.newest(), false)
	s.settle(t) // the one before had another cluster
	s.restart(t)
}

func (s *simulation) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// history is one seed: 12 steps, and after each the follower has the served records.
func (s *simulation) history(t *testing.T, seed uint64) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(s.said, "\n"))
		}
	}()
	s.longest = maps.Clone(s.measured)
	s.begin(t, seed)
	for range 12 {
		switch s.random.IntN(7) {
		case 0, 1, 2:
			s.delta(t, s.process(t, "delta"))
		case 3:
			s.load(t, s.process(t, "load"))
		case 4:
			s.switchTo(t, s.process(t, "switch"), s.any(), true)
		case 5: // by a program that does not know the feed
			s.switchTo(t, s.process(t, "switch"), s.any(), false)
		case 6:
			s.restore()
		}
		if s.random.IntN(4) == 0 { // Elasticsearch does so by itself
			s.es.refresh()
		}
		if s.random.IntN(2) == 0 {
			s.catchUp(t) // between a kill and the settling
		}
		if s.random.IntN(3) == 0 { // a server that is killed
			p := s.process(t, "settle")
			s.say("a server settles, killed at %v", p.at)
			s.ended(t, p, p.feed.Settle(p.ctx, ""))
		}
		if s.random.IntN(3) > 0 {
			s.compare(t)
		}
		if t.Failed() {
			return
		}
	}
}

// compare settles the feed: a follower then has the served records.
func (s *simulation) compare(t *testing.T) {
	t.Helper()
	s.settle(t)
	s.catchUp(t)
	if diff := gocmp.Diff(s.es.visible(), s.copy); diff != "" {
		t.Errorf("the copy differs (-served +copy):\n%s", diff)
	}
}

func (s *simulation) name() string {
	s.n++
	return generation.NewName(time.Unix(1_700_000_000+int64(s.n), 0))
}

func (s *simulation) any() string {
	names := slices.Sorted(maps.Keys(s.es.generations))
	return names[s.random.IntN(len(names))]
}

// settle is the work of a server that is not killed.
func (s *simulation) settle(t *testing.T) {
	t.Helper()
	p := s.spared(t, "settle")
	s.ended(t, p, p.feed.Settle(p.ctx, ""))
}

// ended checks how a process ended: killed, or well.
func (s *simulation) ended(t *testing.T, p *process, err error) bool {
	t.Helper()
	s.longest[p.kind] = max(s.longest[p.kind], len(p.calls))
	if err != nil && !p.dead() {
		t.Errorf("%v", err)
	}
	return err == nil
}

// edit changes an account; a zero doc deletes it.
type edit struct {
	id string
	is doc
}

func (s *simulation) edits() (list []edit) {
	for range 1 + s.random.IntN(3) {
		e := edit{id: fmt.Sprintf("10000000-0000-4000-8000-%012d", s.random.IntN(6))}
		if s.random.IntN(3) > 0 {
			e.is = newDoc(e.id, s.random.IntN(4), s.random.IntN(2))
		}
		list = append(list, e)
	}
	return list
}

// delta announces, writes and publishes groups of changes, as indexer/delta does. One that was
// killed may go on.
func (s *simulation) delta(t *testing.T, p *process) {
	name, groups := s.name(), [][]edit{}
	for range 1 + s.random.IntN(3) {
		groups = append(groups, s.edits())
	}
	for was, of := range s.left {
		if delete(s.left, was); s.random.IntN(2) == 0 {
			name, groups = was, of
		}
		break
	}
	s.say("the delta %s: %v, killed at %v", name, groups, p.at)
	if !s.ended(t, p, s.apply(p, name, groups)) {
		s.left = map[string][][]edit{name: groups}
	}
}

func (s *simulation) apply(p *process, name string, groups [][]edit) error {
	if _, err := p.feed.BeginDelta(p.ctx, name, time.Now()); err != nil {
		return err
	}
	for _, group := range groups {
		var list []changes.Change
		for _, e := range group {
			c := changes.Change{Dataset: catalog.Accounts, ID: uuid.MustParse(e.id), Op: changes.Upsert}
			if e.is.public == "" {
				c.Op = changes.Delete
			}
			list = append(list, c)
		}
		if err := p.feed.Append(p.ctx, name, list); err != nil {
			return err
		}
		if err := p.do("write", func() error { s.es.write(group); return nil }); err != nil {
			return err
		}
		if err := p.feed.Append(p.ctx, name, nil); err != nil { // still the writer
			return err
		}
	}
	if err := p.do("refresh", func() error { s.es.refresh(); return nil }); err != nil {
		return err
	}
	return p.feed.Publish(p.ctx, name)
}

// load fills a generation with the served records and some changes, and switches to it.
func (s *simulation) load(t *testing.T, p *process) {
	name, docs := s.name(), maps.Clone(s.es.served().live)
	for _, e := range s.edits() {
		if docs[e.id] = e.is; e.is.public == "" {
			delete(docs, e.id)
		}
	}
	s.say("the load %s, killed at %v", name, p.at)
	if _, err := p.feed.Arrive(p.ctx, time.Now()); !s.ended(t, p, err) {
		return
	}
	s.es.fill(name, docs)
	s.switchTo(t, p, name, true)
}

func (s *simulation) switchTo(t *testing.T, p *process, to string, announced bool) {
	from := s.es.serves
	if from == to {
		return
	}
	s.say("a switch from %s to %s, announced: %t, killed at %v", from, to, announced, p.at)
	s.ended(t, p, s.switching(p, to, announced))
}

func (s *simulation) switching(p *process, to string, announced bool) error {
	if announced {
		if err := p.feed.Switching(p.ctx, s.es.serves, to); err != nil {
			return err
		}
	}
	if err := p.do("switch", func() error { s.es.serve(to, announced); return nil }); err != nil || !announced {
		return err
	}
	return p.feed.Switched(p.ctx, to)
}

// restore brings an earlier state of Elasticsearch back, or keeps the present one.
func (s *simulation) restore() {
	if s.es.backup == nil || s.random.IntN(2) == 0 {
		s.es.backup = s.es.clone()
		s.say("a backup")
		return
	}
	s.say("a restore")
	s.es.bring(s.es.backup)
	s.restored = true
}

// restart takes a position, and then a copy.
func (s *simulation) restart(t *testing.T) {
	t.Helper()
	var err error
	if s.at, _, err = s.store.FeedHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.copy, s.restored = s.es.visible(), false
}

// catchUp reads the feed to its end.
func (s *simulation) catchUp(t *testing.T) {
	t.Helper()
	for caughtUp := false; !caughtUp; {
		page, known, err := s.store.ChangesAfter(t.Context(), catalog.Accounts, s.at, 1+s.random.IntN(4))
		if err != nil {
			t.Fatal(err)
		}
		if !known {
			if !s.restored {
				t.Error("the feed started over, and nothing was restored")
			}
			s.restart(t)
			return
		}
		there := s.es.visible()
		for _, e := range page.Entries {
			id := e.ID.String()
			if record, ok := there[id]; ok && e.Op == changes.Upsert {
				s.copy[id] = record
			} else if e.Op != changes.Upsert {
				delete(s.copy, id)
			}
		}
		s.at, caughtUp = page.Next, page.CaughtUp
	}
}

// doc is a document: the public record, and a digest of more than that.
type doc struct {
	public string
	digest int64
}

// newDoc is an account with a number as its name, and with children.
func newDoc(id string, name, children int) doc {
	record, _ := document.Parse(catalog.Accounts, fmt.Appendf(nil, `{"id":%q,"name":"N%d"}`, id, name), time.Unix(1_700_000_000, 0))
	public := record.AppendPublic(nil)
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", bytes.TrimSpace(public), children)
	return doc{string(public), int64(h.Sum64())} // #nosec G115 -- any 64 bits
}

var errKilled = errors.New("killed")

// process is a program that uses the feed, and is killed at one of its calls.
type process struct {
	kind string
	feed *feed.Feed
	ctx  context.Context
	*victim
}

// process may be killed at any call that a process of its kind makes.
func (s *simulation) process(t *testing.T, kind string) *process {
	t.Helper()
	p := s.spared(t, kind)
	if p.late = s.random.IntN(2) == 0; s.random.IntN(2) == 0 {
		p.at.nth = 1 + s.random.IntN(s.longest[kind])
	}
	return p
}

// spared is killed nowhere.
func (s *simulation) spared(t *testing.T, kind string) *process {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	t.Cleanup(func() { kill(nil) })
	v := &victim{kill: kill}
	es, err := elastic.New(elastic.Config{Addresses: []string{"http://model"}, Transport: transport{v, s.es}})
	if err != nil {
		t.Fatal(err)
	}
	return &process{kind: kind, ctx: ctx, victim: v, feed: &feed.Feed{
		Store: statements{s.system, v}, Elastic: es, Names: names, Live: s.es, Window: 3,
		Retry: elastic.Retry{For: time.Minute, First: time.Microsecond, Max: time.Millisecond},
	}}
}

// Lookup implements feed.Live.
func (c *cluster) Lookup(_ context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	found := map[string]jsontext.Value{}
	for _, id := range ids {
		if is, ok := c.served().live[id]; ok && d == catalog.Accounts {
			found[id] = jsontext.Value(is.public)
		}
	}
	return found, nil
}
