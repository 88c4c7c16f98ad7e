//go:build faults

// Package faults has the experiments of scripts/faults as tests. Each injects a fault
// under load and checks the result against a limit. docs/faults.md describes each.
package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/scripts/experiments/rig"
)

// page is a search with a known answer.
type page struct {
	method     string // POST if ""
	path, body string
	data       []byte
	total      int
	credits    int64
}

// knownPages are searches of all datasets, answered before any fault.
func knownPages(t *testing.T, c rig.Caller) []page {
	t.Helper()
	var all []page
	for _, dataset := range []string{"accounts", "contacts", "projects", "signals"} {
		for _, body := range []string{
			`{"limit": 5}`, `{"limit": 100}`, `{"limit": 25, "offset": 40}`,
			`{"limit": 50, "sort": {"field": "created_at", "order": "asc"}}`,
		} {
			all = append(all, page{path: "/data/" + dataset + "/search", body: body})
		}
	}
	all = append(all,
		page{path: "/data/accounts/search", body: `{"limit": 20, "relations": {"has_project": {}}}`},
		page{path: "/data/projects/search", body: `{"limit": 20, "query": "a"}`})
	for i := range all {
		a, err := c.Want(t.Context(), 200, "POST", all[i].path, all[i].body)
		rig.Check(t, err)
		if all[i].data, err = dataOf(a); err != nil || len(all[i].data) < 100 {
			t.Fatalf("%s %s answers too little: %v %s", all[i].path, all[i].body, err, a.Raw)
		}
		all[i].total, all[i].credits = a.Metadata().Total, a.Metadata().Credits
	}
	return all
}

func dataOf(a rig.Answer) ([]byte, error) {
	var d struct{ Data json.RawMessage }
	err := json.Unmarshal(a.Raw, &d)
	return d.Data, err
}

// exchange is one request and its outcome.
type exchange struct {
	began, ended time.Time
	id           string // of the request
	client       int    // of a searchLoad
	status       int
	stopped      bool // a batch answered 200 whose last items an outage made unavailable
	credits      int64
	// wrong describes a violation of the contract, "" for none: an unknown page, a 503
	// of another form, no answer.
	wrong string
}

func (e exchange) took() time.Duration { return e.ended.Sub(e.began) }

func (e exchange) succeeded() bool { return e.status == 200 && !e.stopped }

// searchLoad is many clients that search known pages, each one request after the other,
// and record every exchange.
type searchLoad struct {
	lock      sync.Mutex
	exchanges []exchange
	pause     time.Duration // after an answer
	stopped   chan struct{}
	group     sync.WaitGroup
}

// afterRefusal is the pause after a 503, as in Retry-After.
const afterRefusal = time.Second

// startSearchLoad starts n clients. They pause after each answer if a pause is given.
func startSearchLoad(ctx context.Context, c rig.Caller, pages []page, n int, seed uint64, pause ...time.Duration) *searchLoad {
	s := &searchLoad{stopped: make(chan struct{})}
	if len(pause) > 0 {
		s.pause = pause[0]
	}
	for client := range n {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		s.group.Go(func() {
			for {
				e := search(ctx, c, pages[random.IntN(len(pages))])
				e.client = client
				s.lock.Lock()
				s.exchanges = append(s.exchanges, e)
				s.lock.Unlock()
				pause := s.pause
				if e.status != 200 {
					pause = afterRefusal
				}
				select {
				case <-s.stopped:
					return
				case <-time.After(pause):
				}
			}
		})
	}
	return s
}

// search sends one search and checks its answer.
func search(ctx context.Context, c rig.Caller, p page) exchange {
	began := time.Now()
	var body any
	if p.body != "" {
		body = p.body
	}
	a, err := c.Do(ctx, cmp.Or(p.method, "POST"), p.path, body)
	e := exchange{began: began, ended: time.Now(), id: a.Header.Get("X-Request-Id"), status: a.Status}
	switch {
	case err != nil:
		e.wrong = err.Error()
	case a.Status == 200:
		e.credits = a.Metadata().Credits
		data, err := dataOf(a)
		if err != nil || !bytes.Equal(data, p.data) || e.credits != p.credits || a.Metadata().Total != p.total {
			e.wrong = fmt.Sprintf("another page than before: %s %s: %d bytes for %d, %v", p.path, p.body, len(data), len(p.data), err)
		}
	default:
		if err := a.Unavailable(); err != nil {
			e.wrong = err.Error()
		}
	}
	return e
}

// stop ends the load and returns its exchanges, in the order they began.
func (s *searchLoad) stop() []exchange {
	close(s.stopped)
	s.group.Wait()
	slices.SortFunc(s.exchanges, func(a, b exchange) int { return a.began.Compare(b.began) })
	return s.exchanges
}

// answered counts the exchanges with a status that ended after a time.
func (s *searchLoad) answered(status int, since time.Time) (n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, e := range s.exchanges {
		if e.status == status && e.ended.After(since) {
			n++
		}
	}
	return n
}

// waitFor waits for n more answers with a status.
func (s *searchLoad) waitFor(t *testing.T, status, n int, most time.Duration) {
	t.Helper()
	since := time.Now()
	err := rig.Until(most, fmt.Sprintf("%d answers are %d", n, status), func() error {
		if got := s.answered(status, since); got < n {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
	rig.Check(t, err)
}

// within returns the exchanges completely between two times.
func within(all []exchange, from, to time.Time) []exchange {
	return slices.DeleteFunc(slices.Clone(all), func(e exchange) bool { return e.began.Before(from) || e.ended.After(to) })
}

// count counts the exchanges that meet a condition.
func count(all []exchange, meets func(exchange) bool) (n int) {
	for _, e := range all {
		if meets(e) {
			n++
		}
	}
	return n
}

// wrong counts the exchanges that violate the contract, and logs the first ones.
func wrong(t *testing.T, all []exchange) (n int) {
	t.Helper()
	for _, e := range all {
		if e.wrong == "" {
			continue
		}
		if n++; n <= 5 {
			t.Logf("after %s: %s", e.took(), e.wrong)
		}
	}
	return n
}

// credits returns the sum of the credits of all answers.
func credits(all []exchange) (sum int64) {
	for _, e := range all {
		sum += e.credits
	}
	return sum
}

// slowest is the time of the longest exchange, in seconds.
func slowest(all []exchange) float64 {
	var most time.Duration
	for _, e := range all {
		most = max(most, e.took())
	}
	return most.Seconds()
}

// recovery returns the time from the end of a fault until the end of the last exchange
// that was refused because of a backend, in seconds. Only exchanges that began after
// the fault count. Other refusals are caused by a busy machine and are logged.
func recovery(t *testing.T, s *rig.Server, all []exchange, back time.Time, b devstack.Backend) float64 {
	t.Helper()
	var last time.Duration
	causes := s.Causes()
	others := map[string]int{}
	for _, e := range all {
		if !e.began.After(back) || e.succeeded() {
			continue
		}
		if cause, known := causes[e.id]; known && !strings.Contains(cause, ": "+string(b)+": ") {
			others[cause]++
			continue
		}
		last = max(last, e.ended.Sub(back))
	}
	for cause, n := range others {
		t.Logf("%d refused for another reason: %s", n, cause)
	}
	return last.Seconds()
}

// used are the credits in the ledger.
func used(t *testing.T, c rig.Caller) int64 {
	t.Helper()
	n, err := c.Used(t.Context())
	rig.Check(t, err)
	return n
}
