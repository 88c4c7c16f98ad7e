//go:build attack

package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/service/api"
	"atlas/service/endpoint"
)

// atOnce is the number of concurrent requests of an operation.
const atOnce = 200

// garbage is how much garbage, in MiB, a server always has (cheapGarbage of
// cmd/internal/server). Smaller heap budgets cannot be measured.
const garbage = 64

// Each operation of the OpenAPI document stays within its budget: the rows that its
// most expensive requests fetch from Elasticsearch per credit, and the growth of the
// server's heap under 200 of them at once.
func TestBudgets(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "budgets", fmt.Sprintf("%d at once of the most expensive requests of each operation, on records as large as they may be", atOnce), seed)
	random := rand.New(rand.NewPCG(seed, 16))
	r := rig.Start(t, rig.Options{Records: -1})
	loadHeavy(t, r)
	var counted atomic.Int64
	s := r.Serve(rig.PatientRedis, "ATLAS_ELASTICSEARCH_URL="+countRows(t, r.Elasticsearch[0], &counted))
	v := newVictim(t, r, s, random)
	e := newExpensive(t, s, v)
	rig.Check(t, r.Settled(5*time.Minute))
	operations := readSpec(t, must(t, s.By(v.Workspace), "GET", "/openapi.json", nil).Raw).operations
	operations = slices.DeleteFunc(operations, func(o operation) bool { return o.id == "get_openapi" })

	budgets := map[string]endpoint.Budget{}
	for _, route := range (&api.Server{}).Routes() {
		budgets[route.Operation] = route.Budget
	}
	within, wrong := 0, 0
	var rowsMost, heapMost float64
	for _, o := range operations {
		budget, ok := budgets[o.id]
		requests := e.of(t, o)
		if !ok || len(requests) == 0 {
			t.Errorf("%s has no budget, or no request", o.id)
			continue
		}
		rows := 0.0
		for _, q := range requests {
			// The projection of the previous request's writes fetches rows too.
			rig.Check(t, r.Settled(5*time.Minute))
			before := counted.Load()
			a := e.send(t, o, q)
			if a.Status >= 500 {
				wrong++
				t.Errorf("%s: %d %.300s", o.id, a.Status, a.Raw)
			}
			rows = max(rows, float64(counted.Load()-before)/float64(q.credits))
		}
		rig.Check(t, r.Settled(5*time.Minute))
		heap, refused, failed := e.heapOf(t, o, requests)
		t.Logf("%-32s rows %6.0f of %6d, heap %4.0f of %4d MiB, %3d refused with 503", o.id, rows, budget.Rows, heap, budget.Heap, refused)
		wrong += failed
		if refused == atOnce {
			t.Errorf("%s: all were refused, and nothing was measured", o.id)
			continue
		}
		allowed := max(budget.Heap, garbage)
		if rows > float64(budget.Rows) || heap > float64(allowed) {
			t.Errorf("%s: %.0f rows for a credit (budget %d), %.0f MiB of heap (%d)", o.id, rows, budget.Rows, heap, allowed)
			continue
		}
		within++
		rowsMost, heapMost = max(rowsMost, rows), max(heapMost, heap)
	}
	f.Exactly("operations within their budgets", float64(within), float64(len(operations)), fmt.Sprintf("of %d", len(operations)))
	f.Exactly("requests failed otherwise than with the documented 503", float64(wrong), 0, "")
	f.Report("rows for a credit, at most", rowsMost, "")
	f.Report("heap for 200 at once, at most", heapMost, "MiB")
}

// costly is an expensive request.
type costly struct {
	path    string
	body    any
	credits int // that it reserves, at least 1
	// own returns a new body for each request.
	own func() any
}

// expensive makes expensive requests.
type expensive struct {
	server    *rig.Server
	v         *victim
	key, user rig.Caller
	account   string // a Dynamic contact View and others
	contacts  string
	n         atomic.Int64
}

func newExpensive(t *testing.T, s *rig.Server, v *victim) *expensive {
	t.Helper()
	e := &expensive{server: s, v: v, key: s.By(v.Workspace), user: s.ByUser(v.Workspace, v.ownerToken)}
	e.contacts, e.account = makeView(
		t, e.key, "contact", "dynamic", "Expensive contact",
	), makeView(t, e.key, "account", "static", "Expensive account")
	// Many contacts are held too, so that both searches of the View have rows.
	for at := 0; at < heavyHeld; at += 100 {
		inputs := make100(func(i int) any {
			return object{"contact_id": heavyID("contacts", at+i), "notes": strings.Repeat("n", 1000), "tags": []string{"heavy"}}
		})
		must(t, e.key, "POST", "/workspace/contacts/upsert/batch", object{"inputs": inputs})
	}
	for i := range 100 {
		must(t, e.key, "POST", "/workspace/views/upsert", object{
			"dataset": "project", "view_type": "dynamic", "name": fmt.Sprintf("Long %d", i),
			"definition": longDefinition(),
		})
		must(t, e.key, "POST", "/workspace/invitations", object{"email": fmt.Sprintf("invited%d@example.com", i), "role": "member"})
	}
	for i := range 25 {
		must(t, e.user, "POST", "/workspace/skills/create", object{
			"scope": "workspace", "name": fmt.Sprintf("Long %d", i), "slug": fmt.Sprintf("long-%d", i),
			"description": "d", "content": strings.Repeat("c", 100_000),
		})
	}
	for _, d := range []string{"accounts", "projects"} {
		inputs := make100(func(i int) any { return object{singular(d) + "_id": heavyID(d, i), "notes": strings.Repeat("n", 9000)} })
		must(t, e.key, "POST", "/workspace/"+d+"/upsert/batch", object{"inputs": inputs})
	}
	return e
}

func make100(of func(i int) any) []any {
	all := make([]any, 100)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

func longDefinition() object {
	values := make([]string, 100)
	for i := range values {
		values[i] = fmt.Sprintf("A city with a long name, number %d", i)
	}
	return object{"version": 1, "q": "", "fields": object{"city": values}}
}

// includes of a get.
var includes = map[string]string{
	"account": "contacts,projects,signals", "contact": "account,projects", "project": "accounts,contacts,signals",
	"signal": "project,accounts",
}

// of returns the most expensive requests of an operation. The examples of the document
// are used for operations without a case here.
func (e *expensive) of(t *testing.T, o operation) []costly {
	t.Helper()
	const notes = 9000
	switch name, d := o.id, datasetOf(o.path); {
	case name == "search_view_records":
		path := "/workspace/views/" + e.contacts + "/records/search"
		return []costly{
			{path: path, body: object{"limit": 1, "offset": 10_000}, credits: 1},
			{path: path, body: object{"limit": 100}, credits: 100}, {path: path, body: object{"limit": 1}, credits: 1},
		}
	case strings.HasPrefix(name, "search_") && name != "search_fields":
		return []costly{
			{path: o.path, body: object{"query": "heavy", "limit": 100}, credits: 100},
			{path: o.path, body: object{"query": "heavy", "limit": 1}, credits: 1},
			{path: o.path, body: object{"limit": 1, "offset": 10_000}, credits: 1},
		}
	case o.method == "GET" && strings.HasPrefix(o.path, "/data/") && includes[strings.TrimPrefix(name, "get_")] != "":
		return []costly{{path: "/data/" + d + "/" + heavyID(d, 0) + "?include=" + includes[singular(d)], credits: 1}}
	case o.method == "GET" && strings.HasPrefix(name, "get_workspace_"):
		return []costly{{path: "/workspace/" + d + "/" + heavyID(d, 0), credits: 1}}
	case strings.HasPrefix(name, "upsert_workspace_") && o.batch == "":
		return []costly{{path: o.path, body: object{singular(d) + "_id": heavyID(d, 0), "notes": strings.Repeat("n", notes)}, credits: 1}}
	case strings.HasPrefix(name, "upsert_workspace_"):
		all := []costly{{path: o.path, body: object{"inputs": make100(func(i int) any {
			return object{singular(d) + "_id": heavyID(d, i), "notes": strings.Repeat("n", notes)}
		})}, credits: 1}}
		if d == "accounts" { // all but one match nothing
			all = append(all, costly{
				path:    o.path,
				body:    object{"inputs": make100(func(int) any { return object{"match": object{"domain": "heavy.example"}} })},
				credits: 1,
			})
		}
		return all
	case name == "add_view_records_batch":
		return []costly{{
			path:    "/workspace/views/" + e.account + "/records/add/batch",
			body:    object{"inputs": make100(func(i int) any { return object{"record_id": heavyID("accounts", i)} })},
			credits: 1,
		}}
	case name == "upsert_view":
		return []costly{{path: o.path, credits: 1, own: func() any { return e.view() }}}
	case name == "upsert_views_batch":
		return []costly{{path: o.path, credits: 1, body: object{"inputs": make100(func(int) any {
			return object{"dataset": "project", "view_type": "dynamic", "name": "Long 0", "definition": longDefinition()}
		})}}}
	case name == "get_view":
		return []costly{{path: "/workspace/views/" + e.account, credits: 1}}
	case name == "get_skill":
		return []costly{{path: o.path, body: object{"locator": "workspace/long-0"}, credits: 1}}
	case name == "create_skill":
		return []costly{{path: o.path, credits: 1, own: func() any {
			return object{
				"scope": "workspace", "name": fmt.Sprintf("Another %d", e.n.Add(1)), "description": "d",
				"content": strings.Repeat("c", 100_000),
			}
		}}}
	case o.method == "GET" && strings.HasPrefix(name, "list_"):
		return []costly{{path: o.path + "?limit=100", credits: 1}}
	}
	path := o.path
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + nobody + after
	}
	path = strings.Replace(path, "/data/fields/"+nobody+"/"+nobody, "/data/fields/accounts/city", 1)
	if len(o.examples) == 0 {
		return []costly{{path: path, credits: 1}}
	}
	var all []costly
	for _, example := range o.examples {
		all = append(all, costly{path: path, body: example, credits: 1})
	}
	return all
}

// nobody is the id of no record: deletions of it leave the data for other operations.
const nobody = "0197a1b2-0000-7000-8000-00000000dead"

func (e *expensive) view() any {
	return object{"dataset": "project", "view_type": "dynamic", "name": fmt.Sprintf("Another %d", e.n.Add(1)), "definition": longDefinition()}
}

func datasetOf(path string) string {
	for _, d := range []string{"accounts", "contacts", "projects", "signals"} {
		if strings.HasPrefix(path, "/data/"+d) || strings.HasPrefix(path, "/workspace/"+d) {
			return d
		}
	}
	return ""
}

func (e *expensive) send(t *testing.T, o operation, q costly) rig.Answer {
	body := q.body
	if q.own != nil {
		body = q.own()
	}
	c := e.key
	if strings.Contains(o.id, "favorite") || o.id == "accept_invitation" {
		c = e.user
	}
	a, err := c.Do(context.WithoutCancel(t.Context()), o.method, q.path, body)
	if err != nil {
		t.Errorf("%s: %v", o.id, err)
	}
	return a
}

// heapOf sends many requests at once. It returns the growth of the server's heap since
// the start or the last garbage collection, in MiB, and how many requests were refused
// and how many failed otherwise.
func (e *expensive) heapOf(t *testing.T, o operation, requests []costly) (heap float64, refused, failed int) {
	t.Helper()
	read := func() float64 {
		m, err := e.server.Metrics(t.Context())
		rig.Check(t, err)
		return m["go_memstats_heap_alloc_bytes"] / (1 << 20)
	}
	least := read()
	answers := make(chan int, atOnce)
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() { answers <- e.send(t, o, requests[i%len(requests)]).Status })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		now := read()
		least = min(least, now)
		heap = max(heap, now-least)
		select {
		case <-done:
			tick.Stop()
			close(answers)
			for status := range answers {
				switch {
				case status == http.StatusServiceUnavailable:
					refused++
				case status >= 500 || status == 0:
					failed++
				}
			}
			return heap, refused, failed
		case <-tick.C:
		}
	}
}
