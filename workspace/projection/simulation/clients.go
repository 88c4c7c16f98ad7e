package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

// actor is a client, a loader or an operator. It has its own random numbers, so its
// actions depend only on the answers it gets.
type actor struct {
	*world
	name   string
	random *rand.Rand
}

func (w *world) actor(name string, number, round int) *actor {
	return &actor{w, name, rand.New(rand.NewPCG(w.random.Uint64(), uint64(1000*round+number)))} // #nosec G115 G404 -- small, and a seed must repeat
}

// Times of a client: the request timeout of the API, and its longest pause.
const (
	requestTimeout = 10 * time.Second
	maxThinkTime   = 2 * time.Second
)

type actorKey struct{}

// requestContext names the actor; calls of one process are sorted by it.
func (a *actor) requestContext(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(context.Background(), actorKey{}, "."+a.name), limit)
}

func (a *actor) randomID(of []uuid.UUID) uuid.UUID { return of[a.random.IntN(len(of))] }

// client writes and searches.
func (a *actor) client() {
	defer a.busy.Add(-1)
	for range a.plan.operations {
		time.Sleep(upTo(a.random, maxThinkTime))
		server := a.servers[a.random.IntN(len(a.servers))].current.Load()
		in := a.workspaces[a.random.IntN(len(a.workspaces))]
		d := catalog.Held[a.random.IntN(len(catalog.Held))]
		switch n := a.random.IntN(10); {
		case server == nil: // it is down
		case n < 4:
			a.write(server, in, d)
		case n == 4 && len(a.views) > 0:
			a.changeMembers(server, in)
		default:
			a.search(server, in, d)
		}
	}
}

// write changes or deletes an overlay.
func (a *actor) write(server *process, in workspace.ID, d catalog.Dataset) {
	ctx, cancel := a.requestContext(requestTimeout)
	defer cancel()
	id := a.randomID(a.records)
	if a.random.IntN(4) == 0 {
		if _, err := server.rows.DeleteOverlays(ctx, in, d, book.Deletions(id)); err == nil {
			server.projector.Wake(in)
		}
		return
	}
	found, err := server.global.Lookup(ctx, d, []string{id.String()})
	if err != nil || found[id.String()] == nil {
		return
	}
	now := time.Now().UTC()
	status := fmt.Sprintf("s%d", a.lastStatus.Add(1))
	change := book.OverlayChange{"workspace_status": status}
	fresh, _ := change.Apply(book.Overlay{Record: id, CreatedAt: now, UpdatedAt: now})
	if d == catalog.Accounts {
		fresh.Trend, fresh.ScoredAt = "steady", now
	}
	if _, err := server.rows.UpsertOverlays(ctx, in, d, []book.OverlayUpsert{{Fresh: fresh, Change: change}}); err == nil {
		server.projector.Wake(in)
	}
}

// changeMembers changes the records of a Static View, or deletes it.
func (a *actor) changeMembers(server *process, in workspace.ID) {
	ctx, cancel := a.requestContext(requestTimeout)
	defer cancel()
	n := a.random.IntN(len(a.views))
	view, d, id := a.views[n], viewDataset(n), []uuid.UUID{a.randomID(a.records)}
	var err error
	switch n := a.random.IntN(6); {
	case n < 4:
		err = server.rows.AddMembers(ctx, in, view, d, id)
	case n == 4:
		err = server.rows.RemoveMembers(ctx, in, view, d, id)
	default:
		err = server.rows.DeleteView(ctx, in, view)
	}
	if err == nil {
		server.projector.Wake(in)
	}
}

// search searches the book, a Static View or a Dynamic View of all contacts, as the
// API does, and records violations in the result.
func (a *actor) search(server *process, in workspace.ID, d catalog.Dataset) {
	ctx, cancel := a.requestContext(requestTimeout)
	defer cancel()
	want := &searchCheck{afterCommit: a.commits.Load()}
	ctx = context.WithValue(ctx, searchCheckKey{}, want)
	var err error
	kind := a.random.IntN(4)
	switch n := a.random.IntN(max(1, len(a.views))); {
	case kind == 0 && len(a.views) > 0:
		want.view = &views.View{Workspace: in, ID: views.ID(a.views[n]), Dataset: viewDataset(n), Type: views.Static}
		if err = server.rows.CheckView(ctx, in, a.views[n]); err == nil {
			_, err = server.records.SearchView(ctx, *want.view, query.Query{Dataset: want.view.Dataset})
		}
	case kind == 1:
		want.view = &views.View{Workspace: in, Dataset: catalog.Contacts, Type: views.Dynamic}
		_, err = server.records.SearchView(ctx, *want.view, query.Query{Dataset: want.view.Dataset})
	default:
		_, err = server.records.SearchBook(ctx, in, query.Query{Dataset: d})
	}
	if err != nil {
		a.refused.Add(1) // 503
		return
	}
	a.answered.Add(1)
	for _, problem := range want.problems {
		a.violation("at %v a search by %s that had to see commit %d: %s", a.now(), a.name, want.afterCommit, problem)
	}
}

// viewDataset is the dataset of Static View n. Most are of contacts, because Static
// Views make contacts visible.
func viewDataset(n int) catalog.Dataset {
	if n%2 == 0 {
		return catalog.Contacts
	}
	return catalog.Accounts
}

// loader applies deltas to the global records and switches their generations, one after the
// other, as the lease of loads enforces. Its process may be killed; then the next one
// continues, like an operator who repeats the command.
func (a *actor) loader(loader *server) {
	const delta, load = 0, 1
	jobs := slices.Concat(slices.Repeat([]int{delta}, a.plan.deltas), slices.Repeat([]int{load}, a.plan.switches))
	a.random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	for _, job := range jobs {
		if a.busy.Load() == 0 {
			return // the clients have ended
		}
		time.Sleep(upTo(a.random, 2*maxThinkTime))
		if job == delta {
			a.delta(loader)
		} else {
			a.load(loader)
		}
	}
}

// delta changes a global record and later calls Changed until that succeeds:
// searches see a change before the delta ends.
func (a *actor) delta(loader *server) {
	d, id := catalog.Held[a.random.IntN(len(catalog.Held))], a.randomID(a.records)
	kind := a.random.IntN(8)
	scenario(loader.running().link, fmt.Sprintf("delta %s %s", d, short(id)), func() {
		r := a.cluster.indicesOf(a.names.Alias(string(d)))[0].global[id.String()]
		a.revisions++
		r.revision = a.revisions
		switch {
		case kind == 0 && a.plan.flicker:
			a.setGlobal(d, id, nil)
			return
		case kind == 1:
			r.children++
		case kind == 2:
			r.signals[0]++
		}
		a.setGlobal(d, id, &r)
	})
	time.Sleep(upTo(a.random, 4*maxThinkTime))
	a.retryUntilDone(func(ctx context.Context) error {
		return loader.running().projector.Changed(ctx, d, []string{id.String()})
	})
}

// load switches to a generation with other records, and may end before Switched.
func (a *actor) load(loader *server) {
	seed := a.random.Uint64()
	scenario(loader.running().link, "load", func() {
		random := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- a seed must repeat
		a.switchGlobal(func(_ catalog.Dataset, _ uuid.UUID, r globalRecord) globalRecord {
			if random.IntN(2) == 0 {
				a.revisions++
				r.revision = a.revisions
			}
			return r
		})
	})
	if a.random.IntN(2) == 0 {
		ctx, cancel := a.requestContext(requestTimeout)
		defer cancel()
		_ = loader.running().projector.Switched(ctx, "") // otherwise the sweep detects it
	}
}

// retryUntilDone calls what until it succeeds.
func (a *actor) retryUntilDone(what func(context.Context) error) {
	for {
		ctx, cancel := a.requestContext(requestTimeout)
		err := what(ctx)
		cancel()
		if err == nil {
			return
		}
		time.Sleep(upTo(a.random, maxThinkTime))
	}
}

// operator rebuilds the held indices. Its process may be killed.
func (a *actor) operator(server *server) {
	for range a.plan.rebuilds {
		if a.busy.Load() == 0 {
			return
		}
		time.Sleep(upTo(a.random, 5*maxThinkTime))
		process := server.start(false)
		ctx, cancel := a.requestContext(upTo(a.random, 2*time.Minute))
		_ = process.projector.Rebuild(ctx, nil)
		cancel()
		process.projector.Close()
		server.current.Store(nil)
	}
}
