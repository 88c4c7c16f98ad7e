package relevance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"atlas/indexer/generate"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/scripts/benchmark/relevance"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// TestRelevance: searches of the judged queries, repeated with the suggested text where
// nothing was found, are as good as was measured (docs/relevance.md). A change of how words
// are read or scored shows here which queries got worse.
func TestRelevance(t *testing.T) {
	t.Parallel()
	all, err := relevance.Queries()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data     string
		fill     func(dir string) error
		measured float64 // nDCG
	}{
		{relevance.Sample, func(dir string) error {
			_, err := permits.Sample(t.Context(), dir, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
			return err
		}, 0.95},
		{relevance.Generated, func(dir string) error {
			_, err := generate.Generate(t.Context(), generate.Options{Records: 8_000, Seed: 1, Dir: dir})
			return err
		}, 0.95},
	} {
		t.Run(c.data, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.fill(dir); err != nil {
				t.Fatal(err)
			}
			world, err := relevance.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			judged, err := world.Judge(t.Context(), relevance.Of(all, c.data), asked(load(t, dir)))
			if err != nil {
				t.Fatal(err)
			}
			mean := relevance.Mean(judged)
			t.Logf("%d queries: %+.3v", len(judged), mean)
			if mean.NDCG < c.measured-0.02 || mean.Found < 0.95 || mean.Recall < 0.80 || mean.Nothing > 0.03 || mean.Wrong > 0.10 {
				t.Errorf("%d queries: %+.3v; nDCG was %.3f", len(judged), mean, c.measured)
				slices.SortFunc(judged, func(a, b relevance.Judged) int { return cmp.Compare(a.NDCG, b.NDCG) })
				for _, j := range judged[:10] {
					t.Logf("%s %q: %+.2v", j.Dataset, j.Text, j.Score)
				}
			}
		})
	}
}

// load loads the accounts, projects and contacts of a folder.
func load(t *testing.T, dir string) *search.Engine {
	t.Helper()
	data := searchtest.NewWorld()
	for _, d := range []catalog.Dataset{catalog.Accounts, catalog.Projects, catalog.Contacts} {
		err := ndjson.EachLine(dir, string(d), func(_ int64, line []byte) error {
			data.Add(searchtest.Record(t, d, string(line)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 1})
	x.Load(t, data)
	cursors, err := search.NewCursors([]byte("a key that signs nothing but tests"))
	if err != nil {
		t.Fatal(err)
	}
	return &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: cursors, Timeout: search.DefaultTimeout}
}

// asked searches, and searches again with the suggestion.
func asked(e *search.Engine) relevance.Finder {
	find := func(ctx context.Context, d catalog.Dataset, text string) (ids []string, meant string, err error) {
		v, issues := input.Decode(fmt.Appendf(nil, `{"query":%q,"limit":%d}`, text, relevance.Depth))
		if err := input.Issues(issues).Err(); err != nil {
			return nil, "", err
		}
		q, err := query.Parse(v, d, query.Base{Kind: catalog.Data})
		if err != nil {
			return nil, "", err
		}
		page, err := e.Search(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, row := range page.Rows {
			var record struct{ ID string }
			if err := json.Unmarshal(row, &record); err != nil {
				return nil, "", err
			}
			ids = append(ids, record.ID)
		}
		return ids, page.DidYouMean, nil
	}
	return func(ctx context.Context, d catalog.Dataset, text string) ([]string, error) {
		ids, meant, err := find(ctx, d, text)
		if err == nil && len(ids) == 0 && meant != "" {
			ids, _, err = find(ctx, d, meant)
		}
		return ids, err
	}
}

// TestScores: the figures of a page, worked out by hand.
func TestScores(t *testing.T) {
	t.Parallel()
	world := relevance.World{catalog.Projects: {
		{ID: "a", Texts: relevance.Texts{"name": "Garage", "firms": "Deck Homes"}},
		{ID: "b", Texts: relevance.Texts{"name": "Garages with DECK"}},
		{ID: "c", Texts: relevance.Texts{"name": "House"}},
	}}
	for rule, want := range map[string]struct {
		relevant int
		ndcg     float64
	}{
		`{"*":"\\bgarages?\\b"}`: {2, (1/math.Log2(3) + 1/math.Log2(4)) / (1 + 1/math.Log2(3))},
		`{"*":"deck"}`:           {1, 1 / math.Log2(4)},
		`{"firms":"deck"}`:       {1, 1 / math.Log2(3)},
		`{"all":[{"name":"garage"},{"not":{"*":"deck"}}]}`: {1, 1 / math.Log2(3)},
		`{"any":[{"name":"garage"},{"name":"house"}]}`:     {3, 1},
	} {
		var r relevance.Rule
		if err := json.Unmarshal([]byte(rule), &r); err != nil {
			t.Fatal(err)
		}
		judged, err := world.Judge(
			t.Context(), []relevance.Query{{Dataset: catalog.Projects, Rule: r}},
			func(context.Context, catalog.Dataset, string) ([]string, error) { return []string{"c", "a", "b"}, nil },
		)
		if err != nil || judged[0].Relevant != want.relevant || math.Abs(judged[0].NDCG-want.ndcg) > 1e-9 ||
			judged[0].Wrong != float64(3-want.relevant)/3 && math.Abs(judged[0].Wrong-float64(3-want.relevant)/3) > 1e-9 {
			t.Errorf("%s: %+v, %v", rule, judged, err)
		}
	}
	for _, bad := range []string{`{}`, `{"*":"("}`, `{"any":1}`, `{"name":1}`, `[]`} {
		if json.Unmarshal([]byte(bad), new(relevance.Rule)) == nil {
			t.Errorf("%s is a rule", bad)
		}
	}
}
