package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

// newCursors returns Cursors with a key of the tests.
func newCursors(t testing.TB) *search.Cursors {
	t.Helper()
	c, err := search.NewCursors([]byte("a key that signs nothing but tests"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newEngine returns an engine on indices of the test. They have two shards, so that
// pages are merged.
func newEngine(t testing.TB) (*search.Engine, searchtest.Indices) {
	t.Helper()
	return newEngineOf(t, 2)
}

func newEngineOf(t testing.TB, shards int) (*search.Engine, searchtest.Indices) {
	t.Helper()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
	return &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}, x
}

// dataSearch is a Data search without HTTP. change changes the query that is run.
func dataSearch(e *search.Engine, change ...func(*query.Query)) searchtest.Search {
	return func(ctx context.Context, d catalog.Dataset, body []byte) (searchtest.Page, error) {
		v, issues := input.Decode(body)
		if err := input.Issues(issues).Err(); err != nil {
			return searchtest.Page{}, err
		}
		q, err := query.Parse(v, d, query.Base{Kind: catalog.Data})
		if err != nil {
			return searchtest.Page{}, err
		}
		for _, f := range change {
			f(&q)
		}
		page, err := e.Search(ctx, q)
		if err != nil {
			return searchtest.Page{}, err
		}
		p := searchtest.Page{Total: page.Total, Capped: page.Capped, Next: page.Next}
		for _, record := range page.Rows {
			var r struct {
				ID string          `json:"id"`
				IX json.RawMessage `json:"ix"`
			}
			if err := json.Unmarshal(record, &r); err != nil {
				return p, err
			}
			if r.IX != nil {
				return p, errors.New("a record has fields that are for searching only")
			}
			p.IDs = append(p.IDs, r.ID)
		}
		return p, nil
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "testdata/cases.yaml")
	e, x := newEngine(t)
	x.Load(t, f.World)
	t.Run("cases", func(t *testing.T) {
		for _, c := range f.Cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				searchtest.Check(t, c, dataSearch(e))
			})
		}
	})
	t.Run("simplified", func(t *testing.T) {
		simplify := func(q *query.Query) { q.Where = query.All{query.Simplify(q.Where)} }
		for _, c := range f.Cases {
			got, err := dataSearch(e)(t.Context(), c.Dataset, c.Body)
			want, other := dataSearch(e, simplify)(t.Context(), c.Dataset, c.Body)
			if err != nil || other != nil || !slices.Equal(got.IDs, want.IDs) || got.Total != want.Total {
				t.Errorf("%s: %v %v, simplified %v %v", c.Name, got.IDs, err, want.IDs, other)
			}
		}
	})
	t.Run("sorts", func(t *testing.T) { checkEverySort(t, e, f.World) })
	t.Run("seek", func(t *testing.T) { checkSeek(t, e, f) })
	t.Run("front", func(t *testing.T) { checkFront(t, e, f.World) })
	t.Run("get", func(t *testing.T) { checkGet(t, e) })
	t.Run("frequent values", func(t *testing.T) { checkFrequentValues(t, e) })
}
