package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A change is made once, and replayed without secrets.
func TestRepetitionsOfChanges(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	w.holds(t)
	a1, a2 := searchtest.ID("a", 1), searchtest.ID("a", 2)
	n := 0
	// twice sends a request twice and compares the answers.
	twice := func(method, path, body string, withheld ...string) answer {
		t.Helper()
		n++
		once := fmt.Sprint("key ", n)
		first := w.keyed(t, key, once, method, path, body)
		if first.status != http.StatusOK || first.header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s %s: %d %s", method, path, first.status, first.text)
		}
		again := w.keyed(t, key, once, method, path, body)
		replayed(t, path, again)
		if len(withheld) == 0 {
			if diff := cmp.Diff(uncharged(t, first), uncharged(t, again)); diff != "" {
				t.Errorf("%s: another answer (-first +again):\n%s", path, diff)
			}
		} else if !strings.Contains(again.text, `"withheld":["`+strings.Join(withheld, `","`)+`"]`) {
			t.Errorf("%s: %s", path, again.text)
		}
		if conflict := w.keyed(t, key, once, method, path+"?workspace_id="+unknownID, body); method == "POST" &&
			conflict.status == http.StatusOK {
			t.Errorf("%s: another workspace: %s", path, conflict.text)
		}
		return first
	}
	var view struct{ View struct{ ID string } }
	twice("POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"One"}`).into(t, &view, nil)
	twice("POST", "/workspace/views/upsert", fmt.Sprintf(`{"id":%q,"name":"Two","revision":1}`, view.View.ID))
	twice("POST", "/workspace/views/"+view.View.ID+"/records/add", fmt.Sprintf(`{"record_id":%q}`, a1))
	twice(
		"POST",
		"/workspace/views/upsert/batch",
		`{"inputs":[{"dataset":"account","view_type":"static","name":"Three"},{"dataset":"account","view_type":"static","name":"Two"},{"x":1}]}`,
	)
	twice("DELETE", "/workspace/views/"+view.View.ID, "")
	twice("POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q,"notes":"n"}`, a1))
	twice(
		"POST", "/workspace/accounts/upsert/batch",
		fmt.Sprintf(`{"inputs":[{"account_id":%q,"tags":["x"]},{"account_id":%q},{"account_id":%q}]}`, a1, unknownID, a2),
	)
	twice("POST", "/workspace/skills/create", `{"scope":"workspace","slug":"s","name":"S","description":"d","content":"c"}`)
	invited := twice("POST", "/workspace/invitations", `{"email":"new@a.example","role":"member"}`, "accept_url")
	var hook struct{ Webhook struct{ ID, Secret string } }
	twice(
		"POST", "/workspace/webhooks/upsert", `{"url":"https://hooks.example.com/x","events":["load.switched"]}`,
		"webhook.secret",
	).into(t, &hook, nil)
	twice("POST", "/workspace/webhooks/"+hook.Webhook.ID+"/rotate", "", "webhook.secret")
	twice("POST", "/workspace/webhooks/"+hook.Webhook.ID+"/test", "")
	twice("POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_filed"}`)

	var made struct {
		APIKey struct{ ID, Secret string } `json:"api_key"`
	}
	twice("POST", "/workspace/api-keys", `{"name":"k","scopes":["data:read"]}`, "api_key.secret").into(t, &made, nil)
	rotated := twice("POST", "/workspace/api-keys/"+made.APIKey.ID+"/rotate", "", "api_key.secret")
	twice("DELETE", "/workspace/api-keys/"+made.APIKey.ID, "")
	if made.APIKey.Secret == "" || !strings.Contains(rotated.text, `"secret":"atlas_k1_`) {
		t.Fatal("no secrets of API keys to look for")
	}

	// Stored answers have no secret.
	var link struct {
		AcceptURL string `json:"accept_url"`
	}
	invited.into(t, &link, nil)
	_, token, _ := strings.Cut(link.AcceptURL, "token=")
	if token == "" || !strings.HasPrefix(hook.Webhook.Secret, "whsec_") {
		t.Fatal("no secrets to look for")
	}
	admin, err := pgx.Connect(t.Context(), w.databases.Admin)
	fatal(t, err)
	defer func() { _ = admin.Close(context.Background()) }()
	var rows, bytes, found int
	fatal(
		t,
		admin.QueryRow(t.Context(), `SELECT count(*), sum(octet_length(answer)), count(*) FILTER (WHERE position($1::bytea IN answer) > 0 OR position('whsec_'::bytea IN answer) > 0 OR position('"secret"'::bytea IN answer) > 0) FROM stored_answers`,
			[]byte(token)).
			Scan(&rows, &bytes, &found),
	)
	if rows != n || found != 0 {
		t.Errorf("%d of %d stored answers, %d with secrets", rows, n, found)
	}
	t.Logf("%d answers of %d bytes", rows, bytes)
}

// The replay of an upsert shows the row as it is now, and no deleted one.
func TestRepetitionsOfUpserts(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	w.holds(t)
	a1, a2 := searchtest.ID("a", 1), searchtest.ID("a", 2)
	batch := fmt.Sprintf(`{"inputs":[{"account_id":%q,"tags":["x"]},{"account_id":%q,"tags":["x"]}]}`, a1, a2)
	w.keyed(t, key, "b", "POST", "/workspace/accounts/upsert/batch", batch).into(t, nil, nil)
	w.keyed(t, key, "s", "POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q}`, a1)).into(t, nil, nil)
	w.call(t, key, "POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q,"tags":["y"]}`, a2)).into(t, nil, nil)
	w.call(t, key, "DELETE", "/workspace/accounts/"+a1, "").into(t, nil, nil)
	again := w.keyed(t, key, "b", "POST", "/workspace/accounts/upsert/batch", batch)
	replayed(t, "batch", again)
	var data struct {
		Results []struct {
			Status string
			Data   struct{ Tags []string }
		}
	}
	var m struct{ Succeeded, Failed int }
	again.into(t, &data, &m)
	if len(data.Results) != 2 || data.Results[0].Status != "not_found" || data.Results[1].Status != "ok" ||
		data.Results[1].Data.Tags[0] != "y" || m.Succeeded != 1 || m.Failed != 1 {
		t.Errorf("%s", again.text)
	}
	if a := w.keyed(t, key, "s", "POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q}`, a1)); a.code() != "not_found" {
		t.Errorf("a row that is gone: %d %s", a.status, a.text)
	}
}

// Of 50 equal concurrent creations, one creates; others of the workspace have their own keys.
func TestEqualCreationsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds(t)
	in := w.workspace(t, "A", workspace.Pro, 10)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	_, other := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	const path, body = "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"One"}`
	var first atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			switch a := w.keyed(t, key, "k", "POST", path, body); {
			case a.status == http.StatusConflict && a.code() == "idempotency_in_progress" && a.header.Get("Retry-After") != "":
			case a.status != http.StatusOK:
				t.Errorf("%d %s", a.status, a.text)
			case a.header.Get("Idempotency-Replayed") == "":
				first.Add(1)
			}
		})
	}
	wg.Wait()
	var list struct{ Views []struct{ ID string } }
	w.call(t, key, "GET", "/workspace/views?workspace_id="+in.String(), "").into(t, &list, nil)
	if first.Load() != 1 || len(list.Views) != 1 {
		t.Errorf("%d were the first: %d Views", first.Load(), len(list.Views))
	}
	if a := w.keyed(t, other, "k", "POST", path, body); a.code() != "view_name_conflict" {
		t.Errorf("another caller with the same key: %d %s", a.status, a.text)
	}
	// A failed request may be repeated.
	w.call(t, key, "DELETE", "/workspace/views/"+list.Views[0].ID, "").into(t, nil, nil)
	if a := w.keyed(t, other, "k", "POST", path, body); a.status != http.StatusOK || a.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the key of a failed request: %d %s", a.status, a.text)
	}
	// Without Redis, changes are still done once.
	w.server.Ledger = &awayLedger{}
	for i := range 2 {
		if a := w.keyed(t, key, "away", "POST", path, `{"dataset":"account","view_type":"static","name":"Two"}`); a.status != http.StatusOK ||
			(a.header.Get("Idempotency-Replayed") == "true") != (i == 1) {
			t.Errorf("without Redis: %d %s", a.status, a.text)
		}
	}
}

// A completed change is replayed even if the ceiling has been used up since.
func TestRepetitionsOfChangesBeyondTheCeiling(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1)
	w.holds(t)
	const path, body = "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"One"}`
	w.keyed(t, key, "k", "POST", path, body).into(t, nil, nil)
	w.call(t, key, "POST", "/data/accounts/search", `{"limit":1}`).into(t, nil, nil)
	replayed(t, "beyond the ceiling", w.keyed(t, key, "k", "POST", path, body))
	if a := w.keyed(t, key, "l", "POST", path, body); a.code() != "rate_limited" {
		t.Errorf("a new request: %d %s", a.status, a.text)
	}
}

// Of equal concurrent batches each item is done once, and every answer is complete.
func TestEqualBatchesAtOnce(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	w.holds(t)
	var inputs []string
	for i := range 20 {
		inputs = append(inputs, fmt.Sprintf(`{"dataset":"account","view_type":"static","name":"View %d"}`, i))
	}
	body := `{"inputs":[` + strings.Join(inputs, ",") + `]}`
	var answers sync.Map
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			for {
				a := w.keyed(t, key, "k", "POST", "/workspace/views/upsert/batch", body)
				if a.code() == "idempotency_in_progress" {
					continue // repeat it, sooner than Retry-After
				}
				if a.status != http.StatusOK || !strings.Contains(a.text, `"succeeded":20`) {
					t.Errorf("%d %s", a.status, a.text)
				}
				answers.Store(a.text, true)
				return
			}
		})
	}
	wg.Wait()
	n := 0
	for text := range answers.Range {
		if n++; n > 1 {
			t.Errorf("another answer: %s", text)
		}
	}
}
