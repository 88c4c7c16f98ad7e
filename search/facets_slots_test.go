package search_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// facetsOf asks for the facets of projects that match a text, for a workspace.
func facetsOf(ctx context.Context, t testing.TB, e *search.Engine, workspace, text string) error {
	t.Helper()
	r, err := facetRequest(t, catalog.Projects, map[string]any{"query": text, "facets": []any{map[string]any{"field": "stage"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Facets(ctx, query.FacetSearch{Request: r, Workspace: workspace, Sets: []query.Query{r.Query}})
	return err
}

// A workspace that requests many different facets leaves half of the places to others.
func TestFacetsOfOneWorkspaceLeaveSlots(t *testing.T) {
	t.Parallel()
	direct, _ := newEngine(t)
	const many, half = 20, 4
	arrived, release := make(chan struct{}, many), make(chan struct{})
	e := proxied(t, direct, func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("greedy")) {
			select {
			case arrived <- struct{}{}:
			case <-release: // a later round trip
			}
			<-release
		}
		return false
	})
	var all sync.WaitGroup
	for i := range many {
		text := fmt.Sprint("greedy ", i)
		if i == many-1 {
			text = "modest" // waits for a place of this workspace, unlike the equal one below
		}
		all.Go(func() {
			if err := facetsOf(t.Context(), t, e, "A", text); err != nil {
				t.Error(err)
			}
		})
	}
	for range half {
		<-arrived
	}
	if err := facetsOf(t.Context(), t, e, "B", "modest"); err != nil {
		t.Error("of another workspace:", err)
	}
	if n := len(arrived); n != 0 {
		t.Errorf("%d more requests of a workspace are counted", n)
	}
	close(release)
	all.Wait()
}

// Nor do others wait for the places of a workspace when they request suggestions, for which
// the values of the whole dataset are counted first.
func TestSuggestionsDoNotWaitForSlotsOfOthers(t *testing.T) {
	t.Parallel()
	direct, _ := newEngine(t)
	const half = 4
	arrived, asked, release := make(chan struct{}, half), make(chan struct{}, 1), make(chan struct{})
	e := proxied(t, direct, func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte("greedy")):
			select {
			case arrived <- struct{}{}:
			case <-release: // a later round trip
			}
			<-release
		case strings.Contains(r.URL.Path, "signals"):
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		return false
	})
	var all sync.WaitGroup
	for i := range half {
		all.Go(func() {
			if err := facetsOf(t.Context(), t, e, "A", fmt.Sprint("greedy ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	for range half {
		<-arrived
	}
	cities := func(workspace string) error {
		_, err := suggestTo(t, e, workspace, catalog.Signals, map[string]any{"prefix": "cal"})
		return err
	}
	all.Go(func() {
		if err := cities("A"); err != nil {
			t.Error(err)
		}
	})
	<-asked // for the version
	time.Sleep(100 * time.Millisecond)
	if err := cities("B"); err != nil {
		t.Error("of another workspace:", err)
	}
	close(release)
	all.Wait()
}

// Counting ends when no caller waits.
func TestFacetsEndWithTheirLastWaiter(t *testing.T) {
	t.Parallel()
	direct, _ := newEngine(t)
	arrived, ended := make(chan struct{}), make(chan struct{})
	e := proxied(t, direct, func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_msearch") {
			return false
		}
		_, _ = io.ReadAll(r.Body) // the server watches the connection from then on
		close(arrived)
		<-r.Context().Done()
		close(ended)
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	began := time.Now()
	if err := facetsOf(ctx, t, e, "A", "slow"); fault.CodeOf(err) != fault.Unavailable {
		t.Error(err)
	}
	<-ended
	if took := time.Since(began); took > search.DefaultTimeout/2 {
		t.Errorf("a run without waiters ended after %v", took)
	}
}

// A panic while facets are counted is the error of the requests that wait for them.
func TestPanicOfFacets(t *testing.T) {
	t.Parallel()
	direct, _ := newEngine(t)
	client, err := elastic.New(elastic.Config{Addresses: []string{
		backends.Elasticsearch(t),
	}, Observe: func(_ context.Context, c elastic.Call) {
		if c.Operation == "msearch" {
			panic("a mistake")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := &search.Engine{Elastic: client, Names: direct.Names, Timeout: search.DefaultTimeout}
	for range 2 {
		if err := facetsOf(t.Context(), t, e, "A", "x"); fault.CodeOf(err) != fault.Internal || !strings.Contains(err.Error(), "a mistake") {
			t.Error(err)
		}
	}
}
