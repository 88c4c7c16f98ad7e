package api_test

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/service/api"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/people"
)

// accounts loads n accounts.
func (w *world) accounts(t *testing.T, n int) {
	t.Helper()
	data := searchtest.NewWorld()
	for i := range n {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i+1), i+1)))
	}
	w.load(t, data)
}

// eventually waits until servers have read a changed key again.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what, "did not happen")
		}
	}
}

// Fifty concurrent searches of a key, on two servers, pass its budget by less than a page,
// and block nobody else.
func TestBudgetOfAKey(t *testing.T) {
	t.Parallel()
	const budget, page = 100, 30
	w := newWorld(t)
	w.accounts(t, page)
	in, other := w.workspace(t, "A", workspace.Pro, 0), w.workspace(t, "B", workspace.Pro, 0)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in, other}, Budget: workspace.KeyBudget{DailyCredits: budget}})
	siblingID, sibling := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	server := &api.Server{
		Core: endpoint.Core{
			Gate:   w.server.Gate,
			Ledger: w.ledger,
			Log:    w.server.Log,
		},
		Search:     w.server.Search,
		Workspaces: w.server.Workspaces,
		People:     w.server.People,
	}
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	second := &world{base: listening.URL + endpoint.Version}

	body := fmt.Sprintf(`{"limit":%d}`, page)
	var delivered atomic.Int64
	var group sync.WaitGroup
	for i := range 50 {
		at := w
		if i%2 == 1 {
			at = second
		}
		group.Go(func() {
			for {
				a := at.call(t, key, "POST", "/data/accounts/search", body)
				switch a.code() {
				case "":
					n, _ := strconv.ParseInt(a.header.Get("X-Credits-Charged"), 10, 64)
					delivered.Add(n)
				case "unavailable": // the others hold the rest, or the machine is busy
				case "key_budget_used":
					return
				default:
					t.Errorf("%d %s", a.status, a.text)
					return
				}
			}
		})
	}
	group.Wait()
	if n := delivered.Load(); n < budget || n >= budget+page {
		t.Errorf("%d credits of a budget of %d", n, budget)
	}

	a := w.call(t, key, "POST", "/data/accounts/search", body)
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.code() != "key_budget_used" || err != nil || wait < 23*3600 || wait > 24*3600 || a.header.Get("X-Key-Credits-Remaining") != "0" ||
		a.header.Get("X-Credits-Charged") != "0" || a.header.Get("X-Credits-Used") != fmt.Sprint(delivered.Load()) ||
		a.header.Get("X-Credits-Next-At") != "" {
		t.Errorf("%d %s %v", a.status, a.text, a.header)
	}
	// As at the ceiling: before other errors of the request, and also for free operations.
	for path, body := range map[string]string{
		"/data/accounts/search": `{"limit":"x"}`, "/data/accounts/facets": `{}`, "/workspace/views/upsert": `{}`,
	} {
		if a := w.call(t, key, "POST", path, body); a.code() != "key_budget_used" {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	if a := w.call(t, key, "POST", "/data/accounts/search", `{"dry_run":true}`); a.code() != "key_budget_used" {
		t.Errorf("a dry run: %d %s", a.status, a.text)
	}
	// Another key goes on, and this one in its other workspace.
	w.call(t, sibling, "POST", "/data/accounts/search", `{"limit":2}`).into(t, nil, nil)
	elsewhere := w.call(t, key, "POST", "/data/accounts/search?workspace_id="+other.String(), `{"limit":3}`)
	if elsewhere.into(t, nil, nil); elsewhere.header.Get("X-Key-Credits-Remaining") != "97" {
		t.Errorf("%v", elsewhere.header)
	}
	// It sees the reason.
	var usage struct {
		ByKey map[string]int64 `json:"by_key"`
	}
	w.call(t, key, "GET", "/data/usage", "").into(t, &usage, nil)
	if len(usage.ByKey) != 2 || usage.ByKey[id.String()] != delivered.Load() || usage.ByKey[siblingID.String()] != 2 {
		t.Errorf("by key: %v", usage.ByKey)
	}

	more := int64(1000)
	_, err = w.directory.ChangeKey(t.Context(), id, people.KeyChange{DailyCredits: &more})
	fatal(t, err)
	eventually(t, "a higher budget", func() bool {
		return w.call(t, key, "POST", "/data/accounts/search", body).code() == ""
	})
}

// A key with a rate is refused beyond it on every throttled route, and other keys are not.
func TestRateOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accounts(t, 1)
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	w.server.Limiter = ratelimit.New(redis, "test:"+uuid.NewString()+":")
	in := w.workspace(t, "A", workspace.Pro, 0)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Budget: workspace.KeyBudget{RequestsPerSecond: 1}})
	_, sibling := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	requests := []row{
		{method: "POST", path: "/data/accounts/search", body: `{}`}, {method: "GET", path: "/workspace/views"},
		{method: "POST", path: "/workspace/views/upsert", body: `{}`}, {method: "GET", path: "/data/accounts/" + unknownID},
		{method: "GET", path: "/workspace"}, {method: "GET", path: "/data/usage"}, // never throttled by credits
	}
	for _, r := range requests {
		eventually(t, "a refusal of "+r.path, func() bool {
			a := w.call(t, key, r.method, r.path, r.body)
			if a.code() != "too_many_requests" {
				return false
			}
			if a.header.Get("Retry-After") != "1" {
				t.Errorf("%s %v", a.text, a.header)
			}
			return true
		})
		if a := w.call(t, sibling, r.method, r.path, r.body); a.code() == "too_many_requests" {
			t.Errorf("another key: %s", a.text)
		}
	}
	none := 0
	_, err = w.directory.ChangeKey(t.Context(), id, people.KeyChange{RequestsPerSecond: &none})
	fatal(t, err)
	eventually(t, "the end of the limit", func() bool {
		for range 20 {
			if w.call(t, key, "GET", "/workspace/members", "").code() != "" {
				return false
			}
		}
		return true
	})
}
