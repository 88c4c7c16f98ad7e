package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/api"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Routes that credits never throttle still count for the rate of a key, and some have a
// bucket of their own.
func TestPaceOfUnthrottledRoutes(t *testing.T) {
	t.Parallel()
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	limiter := ratelimit.New(redis, "test:"+uuid.NewString()+":")
	a := newAgents(t, 0, func(s *api.Server) { s.Limiter = limiter })
	a.server.Limiter = limiter
	slow := workspace.KeyBudget{RequestsPerSecond: 1}
	_, key := a.world.key(t, people.NewKey{Workspaces: []workspace.ID{a.in}, Scopes: workspace.AllScopes(), Budget: slow})
	for _, c := range [][3]string{
		{"GET", "/workspace", ""}, {"GET", "/workspace/credits", ""}, {"GET", "/data/usage", ""},
		{"POST", "/data/fields/search", `{"dataset":"signals","kind":"date"}`}, {"GET", "/data/fields/projects/stage", ""},
	} {
		refused := 0
		for range 20 {
			if r := a.call(t, key, c[0], c[1], c[2]); r.status == 429 && r.code() == "too_many_requests" {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s: a key of one request a second is never refused", c[1])
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	refused, began := 0, time.Now()
	for range 40 {
		res, err := a.post(t, key, "", list, nil)
		fatal(t, err)
		if res.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if most := 10 + int(time.Since(began)/time.Second) + 1; 40-refused > most {
		t.Errorf("%d messages of a key of one request a second, not %d", 40-refused, most)
	}
}

// Cached answers about fields are equal to computed ones.
func TestReadyFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "W", workspace.Pro, 0)}})
	frequent, err := w.server.Search.FrequentValues(t.Context())
	fatal(t, err)
	for body, wanted := range map[string]query.FieldSearch{
		`{}`: {}, `{"dataset":"projects"}`: {Dataset: "projects"}, `{"kind":"enum"}`: {Kind: catalog.Enum},
		`{"dataset":"signals","kind":"date"}`: {Dataset: "signals", Kind: catalog.Date},
		`{"query":"stage"}`:                   {Query: "stage"}, `{"keys":["stage","nothing"]}`: {Keys: []string{"stage", "nothing"}},
	} {
		found, notFound := wanted.Select(catalog.Descriptors(frequent))
		want, err := json.Marshal(found)
		fatal(t, err)
		for range 2 {
			a := w.call(t, key, "POST", "/data/fields/search", body)
			var got struct {
				Data     any
				Metadata struct {
					Total    int
					NotFound []string `json:"not_found"`
				}
			}
			fatal(t, json.Unmarshal([]byte(a.text), &got))
			var data any
			fatal(t, json.Unmarshal(want, &data))
			if diff := cmp.Diff(data, got.Data); diff != "" || got.Metadata.Total != len(found) {
				t.Errorf("%s: %d of %d (-want +got):\n%s", body, got.Metadata.Total, len(found), diff)
			}
			if wanted.Keys != nil && !cmp.Equal(notFound, got.Metadata.NotFound) {
				t.Errorf("%s: not found %v", body, got.Metadata.NotFound)
			}
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/data/fields/search", strings.NewReader(`{}`))
	fatal(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept-Encoding": {"gzip"}}
	res, err := http.DefaultTransport.RoundTrip(r)
	fatal(t, err)
	defer res.Body.Close()
	z, err := gzip.NewReader(res.Body)
	fatal(t, err)
	if plain, err := io.ReadAll(z); err != nil || !json.Valid(plain) || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("compressed: %v %v", res.Header, err)
	}
}

// Cached lists of tools differ from those of the protocol's library only in the id.
func TestReadyTools(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	_, reader := a.world.key(t, people.NewKey{Workspaces: []workspace.ID{a.in}, Scopes: []workspace.Scope{workspace.DataRead}})
	lists := map[string]json.RawMessage{}
	for i, key := range []string{a.key, a.key, a.key, a.key, reader, reader, reader} {
		id := fmt.Sprint(i)
		if i == 3 {
			id = `"three"`
		}
		res, err := a.post(t, key, "", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{}}`, nil)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		var answer struct {
			Version    string `json:"jsonrpc"`
			ID, Result json.RawMessage
		}
		fatal(t, json.Unmarshal(text, &answer))
		if string(answer.ID) != id || answer.Version != "2.0" ||
			!strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") || len(answer.Result) < 1000 {
			t.Errorf("%s: %.200s %v", id, text, res.Header)
		}
		if before := lists[key]; before != nil && !bytes.Equal(before, answer.Result) {
			t.Errorf("%s: another list", id)
		}
		lists[key] = answer.Result
	}
	if bytes.Equal(lists[a.key], lists[reader]) {
		t.Error("a key that reads sees all tools")
	}
}
