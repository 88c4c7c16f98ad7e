package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// suggest asks for suggestions.
func suggest(t testing.TB, e *search.Engine, d catalog.Dataset, body map[string]any) ([]query.Suggestion, error) {
	t.Helper()
	return suggestTo(t, e, "", d, body)
}

// suggestTo asks for suggestions for a workspace.
func suggestTo(t testing.TB, e *search.Engine, workspace string, d catalog.Dataset, body map[string]any) ([]query.Suggestion, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	v, issues := input.Decode(text)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	r, err := query.SuggestRule(d).Parse(v)
	if err != nil {
		return nil, err
	}
	r.Workspace = workspace
	return e.Suggest(t.Context(), r)
}

// TestSuggestModel compares suggestions of random records with those of a model.
func TestSuggestModel(t *testing.T) {
	t.Parallel()
	requests := 150
	if testing.Short() {
		requests = 30
	}
	for _, shards := range []int{1, 3} {
		r := rand.New(rand.NewPCG(uint64(shards), 3)) // #nosec G404 -- not a secret
		w := searchtest.NamedWorld(t, r, 400)
		x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
		e := &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}
		x.Load(t, w)
		for _, d := range catalog.Datasets {
			model := searchtest.SuggestModel{Dataset: d, Matching: modelOf(t, e, w, d).Matching}
			rows := model.Matching(map[string]any{})
			// Searching is not under test: all records are searched for once, and those
			// with a filter once for each.
			found := map[string][]searchtest.Row{}
			search := model.Matching
			model.Matching = func(body map[string]any) []searchtest.Row {
				key, _ := json.Marshal(body)
				if _, there := found[string(key)]; !there {
					found[string(key)] = search(body)
				}
				return found[string(key)]
			}
			suggestions := 0
			for range requests {
				row := rows[r.IntN(len(rows))]
				texts := []string{}
				for _, key := range []string{"name", "title", "city", "state"} {
					if text, known := row[key].(string); known {
						texts = append(texts, text)
					}
				}
				body := map[string]any{"prefix": searchtest.AnyPrefix(r, texts[r.IntN(len(texts))]), "limit": 1 + r.IntN(20)}
				if r.IntN(3) == 0 {
					body["field"] = "city"
					if (d == catalog.Accounts || d == catalog.Projects) && r.IntN(2) == 0 {
						body["field"] = "name"
					}
				}
				if r.IntN(3) == 0 {
					filters := []any{
						map[string]any{"city": map[string]any{"known": true}},
						map[string]any{"state": map[string]any{"value": "ab"}},
						map[string]any{"city": map[string]any{"value": "nowhere"}},
					}
					body["filters"] = filters[r.IntN(len(filters))]
				}
				got, err := suggest(t, e, d, body)
				if len(catalog.TypedWords(body["prefix"].(string), catalog.NewestFolding)) == 0 {
					if err == nil {
						t.Errorf("%s %v: no words, no error", d, body)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s %v: %v", d, body, err)
				}
				want := model.Answer(body)
				want = want[:min(len(want), body["limit"].(int))]
				suggestions += len(want)
				if diff := cmp.Diff(slices.Concat([]query.Suggestion{}, want), slices.Concat([]query.Suggestion{}, got)); diff != "" {
					t.Errorf("%d shards, %s %v (-want +got):\n%s", shards, d, body, diff)
				}
			}
			if suggestions < requests {
				t.Errorf("%s: %d requests had only %d suggestions", d, requests, suggestions)
			}
		}
	}
}

// Equal requests are computed once until an index changes, also those that arrive together;
// so are the values of all records, whatever is typed.
func TestSuggestionsAreCached(t *testing.T) {
	t.Parallel()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 2})
	node, counted := countedNode(t)
	e := &search.Engine{Elastic: searchtest.NewClient(t, node), Names: x.Names, Timeout: search.DefaultTimeout}
	ask := func(body map[string]any, want int) int64 {
		before := counted.Load()
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if got, err := suggest(t, e, catalog.Projects, body); err != nil || len(got) != want {
					t.Errorf("%v: %+v, %v, want %d", body, got, err, want)
				}
			})
		}
		all.Wait()
		return counted.Load() - before
	}
	if ask(map[string]any{"prefix": "to"}, 0); t.Failed() {
		t.Fatal("an empty dataset")
	}
	w := searchtest.NewWorld()
	for n := 1; n <= 2; n++ {
		w.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Tower %d","city":"Toronto"}`, searchtest.ID("p", n), n)))
		x.Load(t, w)
		if ran := ask(map[string]any{"prefix": "to"}, n+1); ran != 2 { // names, values
			t.Errorf("twelve equal requests made %d searches", ran)
		}
		if ran := ask(map[string]any{"prefix": "tor"}, 1); ran != 1 {
			t.Errorf("another letter made %d searches", ran)
		}
		if ran := ask(map[string]any{"prefix": "toronto", "field": "city"}, 1); ran != 0 {
			t.Errorf("a city made %d searches", ran)
		}
		filtered := map[string]any{"prefix": "tor", "field": "city", "filters": map[string]any{"name": map[string]any{"value": "tower 1"}}}
		if ran := ask(filtered, 1); ran != 1 {
			t.Errorf("a city with a filter made %d searches", ran)
		}
	}
}

// countedNode is a proxy of Elasticsearch that counts the searches.
func countedNode(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	target, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	var searches atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "search") {
			searches.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(node.Close)
	return node.URL, &searches
}

// More terms match than a query may have clauses, and more values than one aggregation
// lists.
func TestSuggestOfManyTerms(t *testing.T) {
	t.Parallel()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 1})
	node, counted := countedNode(t)
	e := &search.Engine{Elastic: searchtest.NewClient(t, node), Names: x.Names, Timeout: search.DefaultTimeout}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	w, words, n := searchtest.NewWorld(), []string{}, 0
	add := func() {
		n++
		w.Add(searchtest.Record(
			t, catalog.Accounts,
			fmt.Sprintf(`{"id":%q,"name":%q,"city":%q}`, searchtest.ID("a", n), strings.Join(words, " "), fmt.Sprintf("Sankt %05d", n)),
		))
		words = words[:0]
	}
	// One letter is inserted and one is replaced.
	for i := range 9 {
		for j := range 9 {
			for _, a := range letters {
				for _, b := range letters {
					word := slices.Insert([]rune("12345678"), i, a)
					word[j] = b
					if words = append(words, string(word)); len(words) == 90 {
						add()
					}
				}
			}
		}
	}
	for len(w.Records(catalog.Accounts)) < 1_200 {
		words = append(words, fmt.Sprintf("%08d", n))
		add()
	}
	x.Load(t, w)
	names, err := suggest(t, e, catalog.Accounts, map[string]any{
		"prefix": "12345678", "field": "name", "limit": 20,
		"filters": map[string]any{"created_at": map[string]any{"known": true}},
	})
	if err != nil || len(names) != 20 {
		t.Errorf("%+v, %v", names, err)
	}
	if counted.Load() != 2 {
		t.Errorf("%d searches: the terms are fewer than a query may have", counted.Load())
	}
	for i, s := range names {
		if i > 0 && catalog.Fold(s.Value) <= catalog.Fold(names[i-1].Value) || s.Count != 0 {
			t.Errorf("%+v", s)
		}
	}
	for _, filters := range []any{map[string]any{}, map[string]any{"created_at": map[string]any{"known": true}}} {
		got, err := suggest(t, e, catalog.Accounts, map[string]any{"prefix": "snakt", "field": "city", "limit": 2, "filters": filters})
		if want := []query.Suggestion{
			{Field: "city", Value: "Sankt 00001", Count: 1}, {Field: "city", Value: "Sankt 00002", Count: 1},
		}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
