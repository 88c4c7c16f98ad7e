package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/elastic/elastictest"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// keyed is call with an Idempotency-Key.
func (w *world) keyed(t *testing.T, token, idempotencyKey, method, path, body string) answer {
	t.Helper()
	return w.send(t, token, method, path, body, http.Header{"Idempotency-Key": {idempotencyKey}})
}

// replayed checks that an answer is a replay.
func replayed(t *testing.T, what string, a answer) {
	t.Helper()
	if a.status != http.StatusOK || a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s: %d %v %s", what, a.status, a.header, a.text)
	}
}

// uncharged are the members of an answer, without credits.
func uncharged(t *testing.T, a answer) (members map[string]any) {
	t.Helper()
	fatal(t, json.Unmarshal([]byte(a.text), &members))
	if m, is := members["metadata"].(map[string]any); is {
		delete(m, "credits")
	}
	return members
}

// A charged request is answered once: the replay has the same records and metadata, for free.
func TestRepetitionsOfReads(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	w.holds(t)
	a1, a2 := searchtest.ID("a", 1), searchtest.ID("a", 2)
	for _, id := range []string{a1, a2} {
		w.call(t, key, "POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q,"tags":["x"]}`, id)).into(t, nil, nil)
	}
	var made struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	for i, request := range []struct {
		method, path, body string
		charged            string
	}{
		{"POST", "/data/accounts/search", `{"limit":2,"sort":{"field":"name","order":"desc"},"fields":["name"]}`, "2"},
		{"POST", "/data/accounts/search", `{"query":"nothing has this"}`, "0"},
		{"GET", "/data/accounts/" + a1 + "?include=projects&fields=name", "", "1"},
		{"POST", "/data/accounts/get/batch", fmt.Sprintf(`{"ids":[%q,%q,"x",%q]}`, a2, unknownID, a2), "2"},
		{"POST", "/workspace/accounts/search", `{"limit":1,"filters":{"tags":{"value":"x"}}}`, "1"},
		{"GET", "/workspace/accounts/" + a2, "", "1"},
		{"POST", "/workspace/views/" + made.View.ID + "/records/search", `{"limit":3,"filters":{"name":{"known":true}}}`, "3"},
		{"POST", "/workspace/accounts/search", `{"limit":2,"fields":["projects_count","notes","city"]}`, "2"},
		{"POST", "/workspace/views/" + made.View.ID + "/records/search", `{"limit":3,"fields":["projects_count","notes","domains"]}`, "3"},
		{"POST", "/workspace/signal-queue/search", `{}`, "0"},
		{"POST", "/data/accounts/match", `{"inputs":[{"ref":"one","name":"Firm 1"}],"min_confidence":0,"fields":["name"]}`, "1"},
	} {
		once := fmt.Sprintf("key %d", i)
		first := w.keyed(t, key, once, request.method, request.path, request.body)
		if first.status != http.StatusOK || first.header.Get("X-Credits-Charged") != request.charged ||
			first.header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s: %d %v %s", request.path, first.status, first.header, first.text)
		}
		for range 2 {
			again := w.keyed(t, key, once, request.method, request.path, request.body)
			replayed(t, request.path, again)
			if again.header.Get("X-Credits-Charged") != "0" ||
				again.header.Get("X-Credits-Used") != first.header.Get("X-Credits-Used") || !strings.Contains(again.text, `"credits":0`) {
				t.Errorf("%s: charged again: %v %s", request.path, again.header, again.text)
			}
			if diff := cmp.Diff(uncharged(t, first), uncharged(t, again)); diff != "" {
				t.Errorf("%s: another answer (-first +again):\n%s", request.path, diff)
			}
		}
		if request.method == "GET" {
			continue
		}
		conflict := w.keyed(t, key, once, request.method, request.path, request.body+" ")
		if conflict.status != http.StatusUnprocessableEntity || conflict.code() != "idempotency_conflict" {
			t.Errorf("%s: another body: %d %s", request.path, conflict.status, conflict.text)
		}
	}
}

// A key belongs to one operation, and the message of its conflict says so.
func TestKeyBelongsToOneOperation(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	w.holds(t)
	a1, a2 := searchtest.ID("a", 1), searchtest.ID("a", 2)
	first := w.keyed(t, key, "k", "GET", "/data/accounts/"+a1, "")
	if first.status != http.StatusOK {
		t.Fatalf("%d %s", first.status, first.text)
	}
	texts := map[string]string{}
	for name, path := range map[string]string{
		"another id in the path": "/data/accounts/" + a2,
		"another query string":   "/data/accounts/" + a1 + "?fields=name",
	} {
		a := w.keyed(t, key, "k", "GET", path, "")
		if a.status != http.StatusUnprocessableEntity || a.code() != "idempotency_conflict" {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
		texts["the answer"] = a.text
	}
	for _, path := range []string{"/data/accounts/search", "/data/accounts/facets", "/workspace/accounts/upsert"} {
		body := map[bool]string{true: fmt.Sprintf(`{"account_id":%q}`, a1), false: `{}`}[strings.HasPrefix(path, "/workspace")]
		if a := w.keyed(t, key, "k", "POST", path, body); a.status != http.StatusOK || a.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("another operation, %s: %d %v %s", path, a.status, a.header, a.text)
		}
	}

	page, err := os.ReadFile("../../docs/api.md")
	fatal(t, err)
	found := 0
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.Contains(line, "`idempotency_conflict`"):
			found++
			texts["docs/api.md: "+line] = line
		case strings.Contains(line, "422") && strings.Contains(line, "Idempotency-Key"), strings.Contains(line, "another path"):
			texts["docs/api.md: "+line] = line
		}
	}
	if found != 2 || !strings.Contains(string(page), "In another operation it is a separate key.") {
		t.Errorf("docs/api.md has %d lines about the conflict, or does not say that another operation has separate keys", found)
	}
	for where, text := range texts {
		if !strings.Contains(text, "same operation") && !strings.Contains(text, "this operation") ||
			strings.Contains(text, "another path") {
			t.Errorf("%s says of a conflict: %s", where, text)
		}
	}
}

// A replay shows what its caller may see now, and never other records.
func TestRepetitionsReadAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := globals(t)
	w.load(t, data)
	w.holds(t)
	in, elsewhere := w.workspace(t, "A", workspace.Pro, 1000), w.workspace(t, "B", workspace.Pro, 1000)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in, elsewhere}, Scopes: workspace.AllScopes()})
	_, other := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	const path, body = "/data/accounts/search", `{"limit":3}`
	first := w.keyed(t, key, "k", "POST", path, body)
	var rows []struct{ ID string }
	first.into(t, &rows, nil)

	// Another caller and another workspace have keys of their own.
	for name, a := range map[string]answer{
		"another key":         w.keyed(t, other, "k", "POST", path, `{"limit":1}`),
		"another workspace":   w.keyed(t, key, "k", "POST", path+"?workspace_id="+elsewhere.String(), `{"limit":1}`),
		"another operation":   w.keyed(t, key, "k", "POST", "/data/projects/search", `{"limit":1}`),
		"a new key":           w.keyed(t, key, "l", "POST", path, `{"limit":1}`),
		"a failed request":    w.keyed(t, key, "m", "POST", path, `{"limit":1}`),
		"its key, used again": w.keyed(t, key, "n", "POST", path, `{"limit":1}`),
	} {
		if a.status != http.StatusOK || a.header.Get("Idempotency-Replayed") != "" || a.header.Get("X-Credits-Charged") != "1" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.text)
		}
	}

	// A record that is gone is missing.
	engine := w.server.Search.(*search.Engine)
	_, err := engine.Elastic.Do(t.Context(), elastictest.Request{
		Method: http.MethodDelete,
		Path:   "/" + engine.Names.Alias(string(catalog.Accounts)) + "/_doc/" + rows[1].ID + "?refresh=true",
	})
	fatal(t, err)
	again := w.keyed(t, key, "k", "POST", path, body)
	replayed(t, "after a deletion", again)
	var left []struct{ ID string }
	again.into(t, &left, nil)
	if diff := cmp.Diff([]struct{ ID string }{rows[0], rows[2]}, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A dry run costs nothing and stores nothing.
	for range 2 {
		if a := w.keyed(t, key, "dry", "POST", path, `{"dry_run":true}`); a.status != http.StatusOK ||
			a.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("dry run: %d %v %s", a.status, a.header, a.text)
		}
	}

	// Without permission, there is no replay.
	_, err = w.directory.RevokeKey(t.Context(), id)
	fatal(t, err)
	for deadline := time.Now().Add(time.Minute); ; {
		a := w.keyed(t, key, "k", "POST", path, body)
		if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the key is revoked: %d %s", a.status, a.text)
		}
		time.Sleep(100 * time.Millisecond) // until the server sees it
	}
}

// Keys are 1 to 255 printable ASCII characters, given once.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	for _, bad := range []string{"", strings.Repeat("k", 256), "käse", "a\tb"} {
		a := w.keyed(t, key, bad, "POST", "/data/accounts/search", `{"limit":0}`)
		if a.code() != "validation" || !strings.Contains(a.text, "Idempotency-Key") || !strings.Contains(a.text, "limit") {
			t.Errorf("%q: %d %s", bad, a.status, a.text)
		}
	}
	if a := w.keyed(t, key, strings.Repeat("k", 255), "POST", "/data/accounts/search", `{"limit":1}`); a.status != http.StatusOK {
		t.Errorf("255 characters: %d %s", a.status, a.text)
	}
	if a := w.keyed(t, key, "", "GET", "/workspace", ""); a.status != http.StatusOK {
		t.Errorf("where it means nothing: %d %s", a.status, a.text)
	}
	// Requests that only read are repeated, although they need the scope to write.
	for range 2 {
		if a := w.keyed(t, key, "k", "POST", "/workspace/changes", `{}`); a.status != http.StatusOK ||
			a.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("changes of the workspace: %d %v %s", a.status, a.header, a.text)
		}
	}
}

// Of 50 equal concurrent requests to two servers, one is charged.
func TestEqualRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	var charged, again, running atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			a := w.keyed(t, key, "k", "POST", "/data/accounts/search", `{"limit":2}`)
			switch {
			case a.status == http.StatusConflict && a.code() == "idempotency_in_progress" && a.header.Get("Retry-After") != "":
				running.Add(1)
			case a.status != http.StatusOK:
				t.Errorf("%d %s", a.status, a.text)
			case a.header.Get("Idempotency-Replayed") == "true":
				again.Add(1)
			default:
				charged.Add(1)
			}
		})
	}
	wg.Wait()
	var usage struct{ Used int }
	w.call(t, key, "GET", "/workspace/credits", "").into(t, &usage, nil)
	if charged.Load() != 1 || usage.Used != 2 {
		t.Errorf("%d charged %d credits, %d repetitions, %d refused", charged.Load(), usage.Used, again.Load(), running.Load())
	}
}
