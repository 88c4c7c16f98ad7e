package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/people"
)

// freeLimit sets the API's limit for free operations.
func (w *world) freeLimit(t *testing.T, perSecond, burst int) {
	t.Helper()
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	w.server.Limiter = ratelimit.New(redis, "test:"+uuid.NewString()+":")
	w.server.FreeLimit = ratelimit.Limit{PerSecond: perSecond, Burst: burst}
}

// A dry run answers the exact count and the price of each page, through each base.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const accounts = 1_030
	data := searchtest.NewWorld()
	for i := range accounts {
		data.Add(
			searchtest.Record(
				t,
				catalog.Accounts,
				fmt.Sprintf(`{"id":%q,"name":"Firm %d","city":"Calgary"}`, searchtest.ID("a", i+1), i+1),
			),
		)
	}
	data.Add(
		searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Ada","email":"ada@firm.example"}`, searchtest.ID("c", 1))),
	)
	w.load(t, data)
	w.holds(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 1_000)}, Scopes: workspace.AllScopes()})
	w.freeLimit(t, 1, 30)
	for i := range 3 {
		w.call(
			t, key, "POST", "/workspace/accounts/upsert",
			fmt.Sprintf(`{"account_id":%q,"notes":"kept"}`, searchtest.ID("a", i+1)),
		).into(t, nil, nil)
	}
	var view struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"dynamic","name":"V","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &view, nil)
	var page []struct{ ID string }
	var paging struct {
		SearchAfter string `json:"search_after"`
	}
	w.call(t, key, "POST", "/data/accounts/search", `{"limit":100,"offset":900}`).into(t, &page, &paging)
	last := fmt.Sprintf(`"limit":100,"search_after":%q`, paging.SearchAfter)
	for _, c := range []struct {
		path, members  string
		count, credits int
	}{
		{"/data/accounts/search", ``, accounts, 25},
		{"/data/accounts/search", `"limit":100,"offset":1000`, accounts, 30},
		{"/data/accounts/search", `"offset":2000`, accounts, 0},
		{"/data/accounts/search", last, accounts, 30},
		{"/data/accounts/search", `"query":"firm","sort":{"field":"relevance","order":"desc"}`, accounts, 25},
		{"/data/accounts/search", `"sort":{"field":"name","order":"desc"}`, accounts, 25},
		{"/data/accounts/search", `"limit":100,"max_bytes":1000`, accounts, 100}, // the most
		{"/data/accounts/search", `"query":"nothing"`, 0, 0},
		{"/workspace/accounts/search", ``, 3, 3},
		{"/workspace/accounts/search", `"filters":{"notes":{"value":"kept"}},"limit":2`, 3, 2},
		{"/workspace/views/" + view.View.ID + "/records/search", `"limit":50`, accounts, 50},
	} {
		body := `{"dry_run":true}`
		if c.members != "" {
			body = `{"dry_run":true,` + c.members + `}`
		}
		a := w.call(t, key, "POST", c.path, body)
		var got struct{ Count, Credits int }
		var cost struct{ Credits int }
		a.into(t, &got, &cost)
		if got.Count != c.count || got.Credits != c.credits || cost.Credits != 0 || a.header.Get("X-Credits-Charged") != "0" ||
			a.header.Get("RateLimit-Limit") != "30" {
			t.Errorf("%s %s: %s, %v", c.path, body, a.text, a.header)
		}
	}
	if a := w.call(t, key, "POST", "/data/accounts/search", `{"dry_run":1}`); a.code() != "validation" {
		t.Errorf("dry_run 1: %s", a.text)
	}
	// Free operations do not reveal whether an address exists.
	for path, body := range map[string]string{
		"/data/contacts/search":      `{"dry_run":true,"filters":{"email":{"value":"x"}}}`,
		"/data/projects/search":      `{"dry_run":true,"relations":{"without_contact":{"email":{"known":true}}}}`,
		"/data/accounts/search":      `{"dry_run":true,"none":[{"relations":{"has_contact":{"email":{"value":"x"}}}}]}`,
		"/workspace/contacts/search": `{"dry_run":true,"any":[{"filters":{"email":{"value":"x"}}}]}`,
	} {
		if a := w.call(t, key, "POST", path, body); a.code() != "validation" || !strings.Contains(a.text, `"email"`) {
			t.Errorf("%s %s: %d %s", path, body, a.status, a.text)
		}
	}
	for text, count := range map[string]int{"ada": 1, "ada@firm.example": 0} {
		var got struct{ Count int }
		w.call(t, key, "POST", "/data/contacts/search", fmt.Sprintf(`{"dry_run":true,"query":%q}`, text)).into(t, &got, nil)
		if got.Count != count {
			t.Errorf("%d contacts for %s", got.Count, text)
		}
	}
	for text, count := range map[string]int{"ada": 1, "ada@firm.example": 0} {
		w.call(
			t, key, "POST", "/workspace/contacts/upsert",
			fmt.Sprintf(`{"contact_id":%q,"notes":"kept"}`, searchtest.ID("c", 1)),
		).into(t, nil, nil)
		var view struct{ View struct{ ID string } }
		w.call(
			t, key, "POST", "/workspace/views/upsert",
			fmt.Sprintf(`{"dataset":"contact","view_type":"dynamic","name":%q,"definition":{"version":1,"q":%q,"fields":{}}}`, text, text),
		).into(t, &view, nil)
		for path, body := range map[string]string{"search": `{"dry_run":true}`, "facets": `{}`} {
			var got struct{ Count int }
			if w.call(t, key, "POST", "/workspace/views/"+view.View.ID+"/records/"+path, body).into(t, &got, nil); got.Count != count {
				t.Errorf("%s of a View of %s: %d contacts", path, text, got.Count)
			}
		}
	}
	var usage struct {
		Used   int `json:"used_credits"`
		ByHour []struct{ Credits int }
	}
	w.call(t, key, "GET", "/data/usage", "").into(t, &usage, nil)
	if usage.Used != 100 { // of the page
		t.Errorf("used: %+v", usage)
	}
}

// Dry runs are refused with an empty bucket of their caller, work without Redis, and are
// refused at the ceiling, with the time when credits return.
func TestDryRunsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm"}`, searchtest.ID("a", 1))))
	w.load(t, data)
	in := w.workspace(t, "A", workspace.Pro, 1)
	keyOf := func() string {
		_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
		return key
	}
	one, two := keyOf(), keyOf()
	w.freeLimit(t, 1, 2)
	dry := func(key string) answer { return w.call(t, key, "POST", "/data/accounts/search", `{"dry_run":true}`) }
	for range 2 {
		dry(one).into(t, nil, nil)
	}
	if a := dry(one); a.status != http.StatusTooManyRequests || a.code() != "too_many_requests" ||
		a.header.Get("Retry-After") != "1" || a.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("the third: %d %s %v", a.status, a.text, a.header)
	}
	dry(two).into(t, nil, nil)
	w.call(t, one, "POST", "/data/accounts/search", `{}`).into(t, nil, nil) // searches are not limited
	for _, body := range []string{`{"dry_run":true}`, `{}`} {
		a := w.call(t, two, "POST", "/data/accounts/search", body)
		next, err := time.Parse(time.RFC3339, a.header.Get("X-Credits-Next-At"))
		if a.code() != "rate_limited" || err != nil || time.Until(next) > 25*time.Hour || time.Until(next) < 23*time.Hour ||
			a.header.Get("Retry-After") != strconv.Itoa(24*3600) {
			t.Errorf("%s beyond the ceiling: %d %s %v", body, a.status, a.text, a.header)
		}
	}
	if a := w.call(t, keyOf(), "POST", "/data/accounts/facets", `{}`); a.code() != "rate_limited" ||
		a.header.Get("RateLimit-Remaining") != "" {
		t.Errorf("facets beyond the ceiling drew on the bucket: %d %s %v", a.status, a.text, a.header)
	}
	w.server.Ledger = &awayLedger{}
	if a := dry(two); a.status != http.StatusOK {
		t.Errorf("without the ledger: %d %s", a.status, a.text)
	}
	// A dry run that fails has its own error then.
	three := keyOf()
	for _, c := range []struct{ body, code string }{
		{`{"dry_run":true,"limit":"x"}`, "validation"},
		{`{"dry_run":true,"search_after":"x"}`, "bad_request"},
		{`{"dry_run":false,"limit":"x"}`, "unavailable"},
	} {
		if a := w.call(t, three, "POST", "/data/accounts/search", c.body); a.code() != c.code {
			t.Errorf("%s without the ledger: %d %s", c.body, a.status, a.text)
		}
	}
	a := dry(three)
	for a.status == http.StatusOK { // until the bucket is empty
		a = dry(three)
	}
	if a.code() != "too_many_requests" {
		t.Errorf("an empty bucket without the ledger: %d %s", a.status, a.text)
	}
}
