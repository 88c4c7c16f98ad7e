package feed_test

import (
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

var all = flag.Bool("all", false, "TestEveryKill kills at each call, also at those between the first and the last of the same kind")

// A process is killed at each of its calls, before and after the call takes effect. Settling
// then publishes everything, and starts the feed over only if a backend was restored. Random
// kills seldom hit the last calls of a long run.
func TestEveryKill(t *testing.T) {
	t.Parallel()
	for name, scene := range map[string]func(*simulation, *testing.T) func(*process) error{
		"a delta":                          (*simulation).aDelta,
		"a load":                           (*simulation).aLoad,
		"a rollback":                       (*simulation).aRollback,
		"settling a delta":                 (*simulation).aDeltaToSettle,
		"settling a switch":                (*simulation).aSwitchToSettle,
		"settling a switch of a stranger":  (*simulation).aStrangersSwitch,
		"settling a switch that went back": (*simulation).aSwitchThatWentBack,
		"settling a switch away and back":  (*simulation).aSwitchAwayAndBack,
		"settling what was published":      (*simulation).aPublicationToSettle,
		"settling a restored backend":      (*simulation).aRestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulation(t)
			calls := s.kill(t, scene, point{}, false).calls
			for _, at := range points(calls) {
				for _, late := range []bool{false, true} {
					if p := s.kill(t, scene, at, late); !p.dead() {
						t.Fatalf("nothing is killed at %v: %v", at, p.calls)
					}
				}
			}
			t.Logf("killed at %d of %d calls", len(points(calls)), len(calls))
		})
	}
}

// points are the first and the last call of each name, or all.
func points(calls []string) (list []point) {
	count, seen := map[string]int{}, map[string]int{}
	for _, name := range calls {
		count[name]++
	}
	for _, name := range calls {
		seen[name]++
		if nth := seen[name]; *all || nth == 1 || nth == count[name] {
			list = append(list, point{name, nth})
		}
	}
	return list
}

// kill sets up a scene, kills its last process at a call, and checks a follower once a
// server has settled the feed.
func (s *simulation) kill(t *testing.T, scene func(*simulation, *testing.T) func(*process) error, at point, late bool) *process {
	t.Helper()
	s.begin(t, 1)
	last := scene(s, t)
	p := s.spared(t, "last")
	p.at, p.late = at, late
	s.ended(t, p, last(p))
	s.catchUp(t)
	s.compare(t)
	s.delta(t, s.spared(t, "delta")) // and everything continues
	s.compare(t)
	if t.Failed() {
		t.Fatalf("killed at %v, late: %t, after\n%s", at, late, strings.Join(s.said, "\n"))
	}
	return p
}

func (s *simulation) aDelta(*testing.T) func(*process) error {
	name, groups := s.name(), [][]edit{s.edits(), s.edits()}
	return func(p *process) error { return s.apply(p, name, groups) }
}

func (s *simulation) aLoad(t *testing.T) func(*process) error {
	s.delta(t, s.spared(t, "delta"))
	return func(p *process) error {
		if _, err := p.feed.Arrive(p.ctx, time.Now()); err != nil {
			return err
		}
		return s.switching(p, s.another(), true)
	}
}

// another fills a generation that differs from the served one.
func (s *simulation) another() string {
	name, docs := s.name(), maps.Clone(s.es.served().live)
	for i := range 4 {
		id := fmt.Sprintf("10000000-0000-4000-8000-%012d", 2*i)
		docs[id] = newDoc(id, 7+i, 0)
	}
	s.es.fill(name, docs)
	return name
}

func (s *simulation) aRollback(t *testing.T) func(*process) error {
	first := s.es.serves
	s.delta(t, s.spared(t, "delta"))
	s.load(t, s.spared(t, "load"))
	return func(p *process) error { return s.switching(p, first, true) }
}

func (*simulation) settling(p *process) error { return p.feed.Settle(p.ctx, "") }

func (s *simulation) aDeltaToSettle(t *testing.T) func(*process) error {
	p := s.spared(t, "delta")
	p.at = point{"write", 2}
	s.ended(t, p, s.aDelta(t)(p))
	return s.settling
}

func (s *simulation) aSwitchToSettle(t *testing.T) func(*process) error {
	p := s.spared(t, "switch")
	p.at, p.late = point{"switch", 1}, true
	s.ended(t, p, s.aLoad(t)(p))
	return s.settling
}

func (s *simulation) aStrangersSwitch(t *testing.T) func(*process) error {
	s.delta(t, s.spared(t, "delta"))
	s.switchTo(t, s.spared(t, "switch"), s.another(), false)
	return s.settling
}

// Somebody who does not know the feed takes a switch back before it is published.
func (s *simulation) aSwitchThatWentBack(t *testing.T) func(*process) error {
	s.delta(t, s.spared(t, "delta"))
	first := s.es.serves
	p := s.spared(t, "switch")
	p.at, p.late = point{"PUT _doc/last", 1}, true
	s.ended(t, p, s.switching(p, s.another(), true))
	s.es.serve(first, false)
	return s.settling
}

// Somebody who does not know the feed switches away and back.
func (s *simulation) aSwitchAwayAndBack(t *testing.T) func(*process) error {
	s.delta(t, s.spared(t, "delta"))
	first := s.es.serves
	s.es.serve(s.another(), false)
	s.catchUp(t)
	s.es.serve(first, false)
	return s.settling
}

// The id of a publication is in Elasticsearch, and Postgres has not published it.
func (s *simulation) aPublicationToSettle(t *testing.T) func(*process) error {
	p := s.spared(t, "switch")
	p.at, p.late = point{"PUT _doc/last", 1}, true
	s.ended(t, p, s.aLoad(t)(p))
	return s.settling
}

func (s *simulation) aRestore(t *testing.T) func(*process) error {
	s.es.backup = s.es.clone()
	s.delta(t, s.spared(t, "delta"))
	s.es.bring(s.es.backup)
	s.restored = true
	return s.settling
}

// A delta dies before its writes are searchable, another program switches away and back,
// and only then Elasticsearch shows the writes.
func TestComparesWhatIsNotSearchableYet(t *testing.T) {
	t.Parallel()
	s := newSimulation(t)
	s.begin(t, 1)
	first, second := s.es.serves, s.another()
	s.switchTo(t, s.spared(t, "switch"), second, true)
	s.compare(t)
	p := s.spared(t, "delta")
	p.at, p.late = point{"write", 1}, true
	id := "10000000-0000-4000-8000-000000000001"
	s.ended(t, p, s.apply(p, s.name(), [][]edit{{{id, newDoc(id, 1, 0)}}}))
	for _, to := range []string{first, second} {
		s.switchTo(t, s.spared(t, "switch"), to, false)
		s.compare(t)
	}
	s.es.refresh()
	s.compare(t)
}

// A program that does not know the feed switches away and back before a server checks. What
// a follower read meanwhile is corrected.
func TestSwitchedAwayAndBack(t *testing.T) {
	t.Parallel()
	s := newSimulation(t)
	for name, way := range map[string][]bool{"nobody announced it": {false, false}, "the way there was announced": {true, false}} {
		s.begin(t, 1)
		first, second := s.es.serves, s.another()
		s.delta(t, s.spared(t, "delta"))
		s.settle(t)
		id := "10000000-0000-4000-8000-000000000002"
		p := s.spared(t, "delta")
		s.ended(t, p, s.apply(p, s.name(), [][]edit{{{id, newDoc(id, 1, 0)}}}))
		p = s.spared(t, "switch")
		p.at, p.late = point{"switch", 1}, true
		s.ended(t, p, s.switching(p, second, way[0]))
		s.catchUp(t) // reads the served records
		s.switchTo(t, s.spared(t, "switch"), first, way[1])
		s.compare(t)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
