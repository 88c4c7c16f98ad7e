//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// Postgres is restarted by a fast shutdown and by a kill, alternately, while clients
// write batches. Acknowledged items are stored. A batch of records that was refused is
// stored completely or not at all. A batch of Views, a transaction each, may stop in the
// middle: then the first one that is unavailable exists or not, and later ones do not.
func TestPostgresRestarted(t *testing.T) {
	const clients, rounds, each, batch = 12, 6, 40, 20
	seed := figures.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	f := figures.New(t, "postgres-restarted", "Postgres restarted and killed 3 times each under 12 clients that write batches", seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve("ATLAS_REDIS_TIMEOUT=2s")
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	projects := projectIDs(t, c, clients*each)

	writers, stop := startWriters(t, c, projects, clients, batch, seed)
	worst := map[string]float64{}
	type outage struct{ from, to time.Time }
	var outages []outage
	for round := range rounds {
		waitForWrites(t, writers, clients, time.Minute)
		way, end := "restart", r.Halt
		if round%2 == 1 {
			way, end = "kill", r.Kill
		}
		from := time.Now()
		end(devstack.Postgres)
		sleep(t, time.Duration(500+random.IntN(2000))*time.Millisecond)
		r.Resume(devstack.Postgres)
		back := time.Now()
		outages = append(outages, outage{from, back.Add(recoversWithin)})
		waitForWrites(t, writers, 3*clients, time.Minute)
		worst[way] = max(worst[way], recovery(t, s, exchangesOf(writers), back, devstack.Postgres))
	}
	stop()

	all := exchangesOf(writers)
	refused := count(all, func(e exchange) bool { return e.status == http.StatusServiceUnavailable })
	stopped := count(all, func(e exchange) bool { return e.stopped })
	stray := count(all, func(e exchange) bool {
		return e.stopped && !slices.ContainsFunc(outages, func(o outage) bool { return e.ended.After(o.from) && e.began.Before(o.to) })
	})
	acknowledged, views, untried := 0, 0, 0
	for _, wr := range writers {
		acknowledged += wr.acknowledged
		views += len(wr.views)
		untried += len(wr.untried)
	}
	f.AtLeast("items acknowledged", float64(acknowledged), rounds*clients*batch, "")
	f.AtLeast("batches refused", float64(refused), rounds, fmt.Sprintf("of %d", len(all)))
	f.Report("batches of Views that an outage stopped in the middle", float64(stopped), "")
	f.Exactly("of these without an outage", float64(stray), 0, "")
	f.Exactly("answers outside the contract", float64(wrong(t, all)), 0, "")
	f.AtMost("until no batch is refused, after a restart", worst["restart"], recoversWithin.Seconds(), "s")
	f.AtMost("until no batch is refused, after a kill", worst["kill"], recoversWithin.Seconds(), "s")

	var lost, half []error
	for _, wr := range writers {
		l, h := wr.check(t.Context())
		lost, half = append(lost, l...), append(half, h...)
	}
	for _, err := range slices.Concat(lost, half)[:min(5, len(lost)+len(half))] {
		t.Log(err)
	}
	f.Exactly("acknowledged items lost", float64(len(lost)), 0, fmt.Sprintf("of %d", acknowledged))
	f.Exactly("records with half of a write", float64(len(half)), 0, fmt.Sprintf("of %d", len(projects)))
	f.Report("Views made", float64(views), "")
	tried := 0
	for _, wr := range writers {
		for _, view := range wr.untried {
			if exists, err := wr.hasView(t.Context(), view); err != nil || exists {
				t.Logf("the View %q was not tried: it exists: %t, %v", view, exists, err)
				tried++
			}
		}
	}
	f.Exactly("Views that exist though not tried", float64(tried), 0, fmt.Sprintf("of %d", untried))
	began := time.Now()
	if err := r.Settled(time.Minute); err != nil {
		t.Error(err)
	}
	f.AtMost("until all is projected", time.Since(began).Seconds(), 60, "s")
	f.Exactly("records that searches do not find by what was written", float64(unfound(t, c, writers)), 0, "")
}

// projectIDs are the ids of n projects.
func projectIDs(t *testing.T, c rig.Caller, n int) (ids []string) {
	t.Helper()
	for cursor := any(nil); len(ids) < n; {
		body := map[string]any{"limit": 100}
		if cursor != nil {
			body["search_after"] = cursor
		}
		a, err := c.Want(t.Context(), 200, "POST", "/data/projects/search", body)
		rig.Check(t, err)
		some, err := a.IDs()
		if err != nil || a.Metadata().SearchAfter == nil {
			t.Fatalf("only %d projects: %v", len(ids), err)
		}
		ids, cursor = append(ids, some...), *a.Metadata().SearchAfter
	}
	return ids[:n]
}

// token is one write of a record: its notes, status and tags all contain the token's
// text.
type token struct {
	text         string
	acknowledged bool
}

// batchWriter writes batches of its own records and Views, one after the other.
type batchWriter struct {
	c      rig.Caller
	name   string
	own    []string
	batch  int
	random *rand.Rand

	// tokens are the writes of each record, in order.
	tokens map[string][]token
	// views has the names of the Views whose creation was acknowledged, untried those
	// behind the first one that was unavailable.
	views        map[string]bool
	untried      []string
	acknowledged int // items

	lock      sync.Mutex
	exchanges []exchange
}

// startWriters starts n writers, each with its share of the projects, until stop is
// called, which returns when all have ended.
func startWriters(t *testing.T, c rig.Caller, projects []string, n, batch int, seed uint64) (writers []*batchWriter, stop func()) {
	t.Helper()
	stopped, each := make(chan struct{}), len(projects)/n
	var group sync.WaitGroup
	for i := range n {
		wr := &batchWriter{c: c, name: fmt.Sprintf("writer %d", i), own: projects[i*each : (i+1)*each], batch: batch,
			random: rand.New(rand.NewPCG(seed, uint64(100+i))), tokens: map[string][]token{}, views: map[string]bool{}}
		writers = append(writers, wr)
		group.Go(func() { wr.run(t.Context(), stopped) })
	}
	return writers, func() {
		close(stopped)
		group.Wait()
	}
}

func (w *batchWriter) run(ctx context.Context, stopped <-chan struct{}) {
	for n := 0; ; n++ {
		var e exchange
		if n%4 == 3 {
			e = w.writeViews(ctx, n)
		} else {
			e = w.writeRecords(ctx, n)
		}
		w.lock.Lock()
		w.exchanges = append(w.exchanges, e)
		w.lock.Unlock()
		pause := 10 * time.Millisecond
		if !e.succeeded() {
			pause = afterRefusal
		}
		select {
		case <-stopped:
			return
		case <-time.After(pause):
		}
	}
}

func (w *batchWriter) writeRecords(ctx context.Context, n int) exchange {
	text := fmt.Sprintf("%s write %d", w.name, n)
	var inputs []any
	var ids []string
	for _, i := range w.random.Perm(len(w.own))[:w.batch] {
		id := w.own[i]
		ids = append(ids, id)
		inputs = append(inputs, map[string]any{"project_id": id, "notes": text, "workspace_status": text, "tags": []string{text}})
		w.tokens[id] = append(w.tokens[id], token{text: text})
	}
	return w.send(ctx, "/workspace/projects/upsert/batch", inputs, func(i int) {
		own := w.tokens[ids[i]]
		own[len(own)-1].acknowledged = true
	}, nil)
}

func (w *batchWriter) writeViews(ctx context.Context, n int) exchange {
	var inputs []any
	var names []string
	for i := range 5 {
		view := fmt.Sprintf("%s View %d.%d", w.name, n, i)
		names = append(names, view)
		inputs = append(inputs, map[string]any{"dataset": "project", "view_type": "static", "name": view})
	}
	return w.send(ctx, "/workspace/views/upsert/batch", inputs, func(i int) { w.views[names[i]] = true },
		func(i int) { w.untried = append(w.untried, names[i]) })
}

// send sends a batch. Items answered with "ok" are acknowledged. After the first of them
// an outage makes all others unavailable, if each is a transaction; what is behind the
// first one of these was not tried. untried is nil for a batch that is one transaction.
// Other statuses are errors, because all items are valid.
func (w *batchWriter) send(ctx context.Context, path string, inputs []any, acknowledge, untried func(i int)) exchange {
	began := time.Now()
	a, err := w.c.Do(ctx, "POST", path, map[string]any{"inputs": inputs})
	e := exchange{began: began, ended: time.Now(), id: a.Header.Get("X-Request-Id"), status: a.Status}
	if err != nil {
		e.wrong = err.Error()
		return e
	}
	if a.Status != http.StatusOK {
		if err := a.Unavailable(); err != nil {
			e.wrong = err.Error()
		}
		return e
	}
	var answer struct {
		Results []struct {
			Index  int
			Status string
		}
	}
	if err := a.Data(&answer); err != nil || len(answer.Results) != len(inputs) {
		e.wrong = fmt.Sprintf("%d results of %d: %v", len(answer.Results), len(inputs), err)
	}
	for i, result := range answer.Results {
		switch {
		case result.Index == i && result.Status == "ok" && !e.stopped:
			acknowledge(i)
			w.acknowledged++
		case result.Index == i && result.Status == "unavailable" && i > 0 && untried != nil:
			if e.stopped {
				untried(i)
			}
			e.stopped = true
		default:
			e.wrong = fmt.Sprintf("item %d is answered %d %s", i, result.Index, result.Status)
		}
	}
	return e
}

// check reads everything back. A record must have its last acknowledged write or a
// complete later one that was refused.
func (w *batchWriter) check(ctx context.Context) (lost, half []error) {
	for id, tokens := range w.tokens {
		last := -1
		for i, tk := range tokens {
			if tk.acknowledged {
				last = i
			}
		}
		a, err := w.c.Do(ctx, "GET", "/workspace/projects/"+id, nil)
		var row struct {
			Notes  string
			Status string `json:"workspace_status"`
			Tags   []string
		}
		switch {
		case err != nil:
			lost = append(lost, err)
			continue
		case a.Status == http.StatusNotFound && last < 0:
			continue
		case a.Status != http.StatusOK:
			lost = append(lost, fmt.Errorf("%s: %d %s", id, a.Status, a.Raw))
			continue
		}
		if err := a.Data(&row); err != nil {
			lost = append(lost, err)
			continue
		}
		if row.Notes != row.Status || !slices.Equal(row.Tags, []string{row.Notes}) {
			half = append(half, fmt.Errorf("%s holds %+v", id, row))
		}
		if at := slices.IndexFunc(tokens, func(tk token) bool { return tk.text == row.Notes }); at < last || at < 0 {
			lost = append(lost, fmt.Errorf("%s holds %q, write %d; acknowledged was %d", id, row.Notes, at, last))
		}
	}
	for view := range w.views {
		if exists, err := w.hasView(ctx, view); err != nil || !exists {
			lost = append(lost, fmt.Errorf("the View %q is not there: %w", view, err))
		}
	}
	return lost, half
}

func (w *batchWriter) hasView(ctx context.Context, name string) (bool, error) {
	type view struct{ Name string }
	var listed struct{ Views []view }
	a, err := w.c.Want(ctx, 200, "GET", "/workspace/views?query="+url.QueryEscape(name), nil)
	err = errors.Join(err, a.Data(&listed))
	return slices.Contains(listed.Views, view{name}), err
}

// unfound counts the records that a search for their notes does not find.
func unfound(t *testing.T, c rig.Caller, writers []*batchWriter) (n int) {
	t.Helper()
	for _, w := range writers {
		held := map[string][]string{}
		for id := range w.tokens {
			a, err := c.Want(t.Context(), 200, "GET", "/workspace/projects/"+id, nil)
			var row struct{ Notes string }
			rig.Check(t, errors.Join(err, a.Data(&row)))
			held[row.Notes] = append(held[row.Notes], id)
		}
		for notes, ids := range held {
			a, err := c.Want(t.Context(), 200, "POST", "/workspace/projects/search", map[string]any{
				"limit": 100, "filters": map[string]any{"tags": map[string]any{"value": notes}}})
			rig.Check(t, err)
			found, err := idsIn(a)
			rig.Check(t, err)
			for _, id := range ids {
				if !slices.Contains(found, id) {
					n++
				}
			}
		}
	}
	return n
}

func exchangesOf(writers []*batchWriter) (all []exchange) {
	for _, w := range writers {
		w.lock.Lock()
		all = append(all, w.exchanges...)
		w.lock.Unlock()
	}
	return all
}

// waitForWrites waits until n more batches succeed.
func waitForWrites(t *testing.T, writers []*batchWriter, n int, most time.Duration) {
	t.Helper()
	since := time.Now()
	err := rig.Until(most, fmt.Sprintf("%d batches succeed", n), func() error {
		got := count(exchangesOf(writers), func(e exchange) bool { return e.succeeded() && e.began.After(since) })
		if got < n {
			return fmt.Errorf("%d do", got)
		}
		return nil
	})
	rig.Check(t, err)
}
