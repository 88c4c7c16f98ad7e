//go:build faults

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/client"
	"atlas/scripts/experiments/rig"
)

// Kinds of calls.
const (
	searchCall = "search"
	getCall    = "get"
	writeCall  = "write" // to the book
	findCall   = "find"  // what was written to the book
	viewCall   = "view"  // makes one
)

// call is one call of the Go client, with its retries.
type call struct {
	kind         string
	began, ended time.Time
	attempts     []attempt
	err          error // after the retries
	credits      int64 // of a page that arrived
	doubt        int64 // at most what a call without an answer was charged
	// wrong is an answer that the model does not have, "" for none.
	wrong string
}

// attempt is one request of a call.
type attempt struct {
	ended time.Time
	took  time.Duration
	code  string // "" if it succeeded
}

// knownRead is a read with a known answer.
type knownRead struct {
	kind string
	ask  func(context.Context, *client.Client) (answer any, credits int64, err error)
	want []byte
	// credits of the answer.
	credits int64
}

// traffic is an open-loop load: calls start at a fixed rate, however long earlier ones
// take. They go through the balancer, by the Go client with its default retries.
type traffic struct {
	base, key string
	http      *http.Client
	reads     []knownRead

	lock sync.Mutex
	// model is what was written. free are the records that no call uses.
	model   *batchWriter
	free    []string
	calls   []call
	numbers int

	started time.Time
	stopped chan struct{}
	group   sync.WaitGroup
}

// rate is the number of calls a second.
const rate = 15

// callWithin bounds a call with its retries.
const callWithin = 2 * time.Minute

// newTraffic learns the answers of the reads. The records of the book are projects.
func newTraffic(t *testing.T, root string, w rig.Workspace, projects []string) *traffic {
	t.Helper()
	f := &traffic{base: root + "/api/v1", key: w.Key, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	f.model = &batchWriter{name: "cluster", c: rig.Caller{Base: f.base, Token: w.Key}, tokens: map[string][]token{}, views: map[string]bool{}}
	f.free = slices.Clone(projects)
	for _, limit := range []int{1, 10, 50} {
		for _, q := range []client.Search{
			{Limit: limit}, {Limit: limit, Offset: 30}, {Limit: limit, Query: "a", Sort: client.Desc("created_at")},
		} {
			f.reads = append(f.reads,
				knownRead{kind: searchCall, ask: dataset(func(c *client.Client) *client.Dataset[client.Account] { return &c.Accounts.Dataset }, q)},
				knownRead{kind: searchCall, ask: dataset(func(c *client.Client) *client.Dataset[client.Project] { return c.Projects }, q)},
				knownRead{kind: searchCall, ask: dataset(func(c *client.Client) *client.Dataset[client.Contact] { return &c.Contacts.Dataset }, q)})
		}
	}
	for _, id := range projects[:10] {
		f.reads = append(f.reads, knownRead{kind: getCall, ask: func(ctx context.Context, c *client.Client) (any, int64, error) {
			p, err := c.Projects.Get(ctx, id)
			return p, 1, err
		}})
	}
	c, err := f.client(func(client.Answer) {})
	rig.Check(t, err)
	for i := range f.reads {
		k := &f.reads[i]
		answer, credits, err := k.ask(t.Context(), c)
		rig.Check(t, err)
		k.want, err = json.Marshal(answer)
		rig.Check(t, err)
		k.credits = credits
	}
	return f
}

func dataset[R any](of func(*client.Client) *client.Dataset[R], q client.Search) func(context.Context, *client.Client) (any, int64, error) {
	return func(ctx context.Context, c *client.Client) (any, int64, error) {
		p, err := of(c).Search(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		return []any{p.Records, p.Total}, int64(p.Credits), nil
	}
}

func (f *traffic) client(observe func(client.Answer)) (*client.Client, error) {
	return client.New(f.base, client.WithAPIKey(f.key), client.WithHTTPClient(f.http), client.WithObserver(observe))
}

// start starts the load, until stop.
func (f *traffic) start(ctx context.Context, seed uint64) {
	f.started, f.stopped = time.Now(), make(chan struct{})
	random := rand.New(rand.NewPCG(seed, 7))
	stopped := f.stopped
	f.group.Go(func() {
		tick := time.NewTicker(time.Second / rate)
		defer tick.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-tick.C:
			}
			n := random.IntN(100)
			k := f.reads[random.IntN(len(f.reads))]
			f.group.Go(func() { f.one(ctx, n, k) })
		}
	})
}

// one makes a call of a random kind.
func (f *traffic) one(ctx context.Context, n int, k knownRead) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	e := call{began: time.Now()}
	c, err := f.client(func(a client.Answer) {
		e.attempts = append(e.attempts, attempt{ended: time.Now(), took: a.Duration, code: codeOf(a.Err)})
	})
	switch {
	case err != nil:
		e.err = err
	case n < 20:
		f.write(ctx, c, &e)
	case n < 30:
		f.find(ctx, c, &e)
	case n < 35:
		f.view(ctx, c, &e)
	default:
		f.read(ctx, c, &e, k)
	}
	e.ended = time.Now()
	f.lock.Lock()
	f.calls = append(f.calls, e)
	f.lock.Unlock()
}

func (f *traffic) read(ctx context.Context, c *client.Client, e *call, k knownRead) {
	var answer any
	e.kind = k.kind
	answer, e.credits, e.err = k.ask(ctx, c)
	if e.err != nil {
		e.credits, e.doubt = 0, k.credits
		return
	}
	if got, err := json.Marshal(answer); err != nil || !bytes.Equal(got, k.want) {
		e.wrong = fmt.Sprintf("another answer than before: %d bytes for %d: %v", len(got), len(k.want), err)
	}
}

// take takes a record that no other call uses; "" for none.
func (f *traffic) take() (id string, number int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.free) == 0 {
		return "", 0
	}
	id, f.free = f.free[0], f.free[1:]
	f.numbers++
	return id, f.numbers
}

func (f *traffic) release(id string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.free = append(f.free, id)
}

func (f *traffic) write(ctx context.Context, c *client.Client, e *call) {
	e.kind = writeCall
	id, number := f.take()
	if id == "" {
		e.wrong = "no record is free"
		return
	}
	defer f.release(id)
	text := fmt.Sprintf("cluster write %d", number)
	f.lock.Lock()
	f.model.tokens[id] = append(f.model.tokens[id], token{text: text})
	f.lock.Unlock()
	row, err := c.Book.Projects.Upsert(ctx, client.ProjectUpsert{
		ProjectID: id, Notes: client.To(text), Status: client.To(text), Tags: []string{text},
	})
	if e.err = err; err != nil {
		return
	}
	if row.Notes != text {
		e.wrong = fmt.Sprintf("wrote %q, the answer has %q", text, row.Notes)
	}
	f.lock.Lock()
	own := f.model.tokens[id]
	own[len(own)-1].acknowledged = true
	f.model.acknowledged++
	f.lock.Unlock()
}

// find searches a record by what was written last, if that was acknowledged.
func (f *traffic) find(ctx context.Context, c *client.Client, e *call) {
	e.kind = findCall
	id, _ := f.take()
	if id == "" {
		e.wrong = "no record is free"
		return
	}
	defer f.release(id)
	f.lock.Lock()
	own := f.model.tokens[id]
	f.lock.Unlock()
	if len(own) == 0 || !own[len(own)-1].acknowledged {
		f.write(ctx, c, e) // of another record
		return
	}
	e.doubt = 1
	text := own[len(own)-1].text
	p, err := c.Book.Projects.Search(ctx, client.Search{Limit: 2, Filters: client.Filters{"tags": client.Is(text)}})
	if e.err = err; err != nil {
		return
	}
	e.credits, e.doubt = int64(p.Credits), 0
	if len(p.Records) != 1 || p.Records[0].ID != id || p.Records[0].Notes != text {
		e.wrong = fmt.Sprintf("%q was acknowledged for %s, and a search finds %d records", text, id, len(p.Records))
	}
}

func (f *traffic) view(ctx context.Context, c *client.Client, e *call) {
	e.kind = viewCall
	f.lock.Lock()
	f.numbers++
	name := fmt.Sprintf("Cluster View %d", f.numbers)
	f.lock.Unlock()
	_, e.err = c.Views.Upsert(ctx, client.ViewUpsert{Dataset: client.ViewOfProject, Type: client.ViewStatic, Name: name})
	if e.err == nil {
		f.lock.Lock()
		f.model.views[name] = true
		f.lock.Unlock()
	}
}

// stop ends the load and returns its calls, in the order they began.
func (f *traffic) stop() []call {
	close(f.stopped)
	f.group.Wait()
	slices.SortFunc(f.calls, func(a, b call) int { return a.began.Compare(b.began) })
	return f.calls
}

// succeed waits until this many calls of each kind began and succeeded from now on.
func (f *traffic) succeed(t *testing.T, n int, most time.Duration) {
	t.Helper()
	since := time.Now()
	err := rig.Until(most, fmt.Sprintf("%d calls of each kind succeed", n), func() error {
		got := map[string]int{searchCall: 0, getCall: 0, writeCall: 0, findCall: 0, viewCall: 0}
		f.lock.Lock()
		for _, e := range f.calls {
			if e.began.After(since) && e.err == nil {
				got[e.kind]++
			}
		}
		f.lock.Unlock()
		for _, kind := range slices.Sorted(maps.Keys(got)) {
			if got[kind] < n {
				return fmt.Errorf("%d of kind %s do", got[kind], kind)
			}
		}
		return nil
	})
	rig.Check(t, err)
}

// codeOf is the code of an error, or what kind of error without one.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		if e.Code == "" {
			return fmt.Sprint(e.Status)
		}
		return fmt.Sprintf("%d %v", e.Status, e.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return "no answer"
}

// tally counts texts, as "3 × a, 1 × b"; "none" without one.
func tally(texts []string) string {
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	var all []string
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d × %s", counts[text], text))
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}
