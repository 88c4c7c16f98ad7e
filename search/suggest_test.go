package search_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// suggest asks for suggestions.
func suggest(t testing.TB, e *search.Engine, d query.Dataset, body map[string]any) ([]query.Suggestion, error) {
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
	return e.Suggest(t.Context(), r)
}

// TestSuggestModel compares suggestions of random records with those of a model.
func TestSuggestModel(t *testing.T) {
	t.Parallel()
	const requests = 300
	for _, shards := range []int{1, 3} {
		r := rand.New(rand.NewPCG(uint64(shards), 3)) // #nosec G404 -- not a secret
		w := searchtest.NamedWorld(t, r, 400)
		x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
		e := &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}
		x.Load(t, w)
		for _, d := range query.Datasets {
			model := searchtest.SuggestModel{Dataset: d, Matching: modelOf(t, e, w, d).Matching}
			rows := model.Matching(map[string]any{})
			// Searching is not what is tested: all records are found once, and those with
			// a filter once for each.
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
					if (d == query.Accounts || d == query.Projects) && r.IntN(2) == 0 {
						body["field"] = "name"
					}
				}
				if r.IntN(3) == 0 {
					filters := []any{map[string]any{"city": map[string]any{"known": true}}, map[string]any{"state": map[string]any{"value": "ab"}}, map[string]any{"city": map[string]any{"value": "nowhere"}}}
					body["filters"] = filters[r.IntN(len(filters))]
				}
				got, err := suggest(t, e, d, body)
				if len(query.TypedWords(body["prefix"].(string))) == 0 {
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
