package search_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// searchesOfBody are the searches of an _msearch.
func searchesOfBody(r *http.Request) int {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Count(body, []byte("\n")) / 2
}

// Tasks find what they find alone, in few round trips of at most eight searches, one at a
// time.
func TestTogether(t *testing.T) {
	t.Parallel()
	direct, x := newEngine(t)
	w := searchtest.NewWorld()
	for i := range 12 {
		w.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i+1), i)))
	}
	x.Load(t, w)
	var trips, flying atomic.Int64
	e := proxied(t, direct, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "_search") {
			t.Errorf("%s goes by itself", r.URL.Path)
		}
		if strings.HasSuffix(r.URL.Path, "_msearch") {
			trips.Add(1)
			if n := searchesOfBody(r); n > 8 {
				t.Errorf("%d searches in a round trip", n)
			}
			if flying.Add(1) > 1 {
				t.Error("two round trips at once")
			}
			time.Sleep(2 * time.Millisecond)
			flying.Add(-1)
		}
		return false
	})
	bodies := []string{`{}`, `{"limit":1}`, `{"sort":{"field":"created_at","order":"asc"}}`, `{"offset":1,"limit":2}`, `{"query":"firm 3"}`}
	const tasks = 40
	var found [tasks]query.Page
	e.Together(t.Context(), tasks, func(ctx context.Context, i int) {
		p, err := e.Search(ctx, parse(t, catalog.Accounts, query.Base{Kind: catalog.Data}, bodies[i%len(bodies)]))
		if err != nil {
			t.Error(err)
		}
		found[i] = p
	})
	for i, p := range found {
		want, err := direct.Search(t.Context(), parse(t, catalog.Accounts, query.Base{Kind: catalog.Data}, bodies[i%len(bodies)]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Rows, p.Rows); diff != "" || want.Total != p.Total || want.Next != p.Next {
			t.Errorf("%s: %d and %d (-alone +together):\n%s", bodies[i%len(bodies)], want.Total, p.Total, diff)
		}
	}
	if n := trips.Load(); n > tasks/2 {
		t.Errorf("%d round trips for %d searches", n, tasks)
	}
}

// A caller that gives up leaves the others alone, and a task that panics stops its caller only.
func TestTogetherEnds(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Together(ctx, 3, func(ctx context.Context, _ int) {
		if _, err := e.Search(ctx, parse(t, catalog.Accounts, query.Base{Kind: catalog.Data}, `{}`)); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("a client that is gone: %v", err)
		}
	})
	ran := atomic.Int64{}
	defer func() {
		if p := recover(); p == nil || ran.Load() != 1 {
			t.Errorf("%v, %d others ran", p, ran.Load())
		}
	}()
	e.Together(t.Context(), 2, func(ctx context.Context, i int) {
		if i == 0 {
			panic("a mistake")
		}
		if _, err := e.Search(ctx, parse(t, catalog.Accounts, query.Base{Kind: catalog.Data}, `{}`)); err != nil {
			t.Error(err)
		}
		ran.Add(1)
	})
}
