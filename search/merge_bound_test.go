package search_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// rowsAsked counts, between an engine and Elasticsearch, the rows that are requested
// and not answered yet.
type rowsAsked struct {
	address   string
	mu        sync.Mutex
	now, most int
	arrived   chan struct{} // of each request for many rows
	held      chan struct{} // which waits until this is closed
}

var askedSize = regexp.MustCompile(`"size":(\d+)`)

func newRowsAsked(t *testing.T) *rowsAsked {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &rowsAsked{arrived: make(chan struct{}, 100), held: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // who went away knows
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		rows := 0
		for _, size := range askedSize.FindAllSubmatch(body, -1) {
			n, _ := strconv.Atoi(string(size[1]))
			rows += n
		}
		a.add(rows)
		defer a.add(-rows)
		if rows > 100 {
			a.arrived <- struct{}{}
			select {
			case <-a.held:
			case <-r.Context().Done():
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.address = server.URL
	return a
}

func (a *rowsAsked) add(rows int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += rows
	a.most = max(a.most, a.now)
}

// All searches of a workspace with a high offset together have at most half of
// Engine.SkippedRows in memory. The others wait, until there is room or their
// timeout.
func TestSkippedRowsAreBounded(t *testing.T) {
	t.Parallel()
	const people, offset, bound, searches = 1_500, 1_000, 5_000, 24
	everybody := make([]person, people)
	for i := range everybody {
		r := contact(t, i, 1, `"name":"Same",`)
		everybody[i] = person{r, r}
	}
	v := newViews(t, everybody)
	between := newRowsAsked(t)
	e := &search.Engine{
		Elastic: searchtest.NewClient(t, between.address), Names: v.engine.Names, Cursors: v.engine.Cursors,
		Timeout: time.Minute, SkippedRows: 2 * bound,
	}
	m := v.merged(t, `{"limit":1,"offset":1000}`)
	var group sync.WaitGroup
	for range searches {
		group.Go(func() {
			p, err := m.run(t.Context(), e)
			if err != nil {
				t.Error(err)
				return
			}
			if ids := recordIDs(t, p); len(ids) != 1 || ids[0] != searchtest.ID("c", offset) {
				t.Errorf("found %v", searchtest.Short(ids))
			}
		})
	}
	<-between.arrived // there is room for two
	<-between.arrived
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := m.run(soon, e)
	unavailable(t, err)
	close(between.held)
	group.Wait()
	if len(between.arrived) != searches-2 {
		t.Errorf("%d more searches for rows, want %d", len(between.arrived), searches-2)
	}
	if between.most > bound+searches*100 { // counting and the pages themselves ask for a few
		t.Errorf("%d rows were asked for at once", between.most)
	}
}

// An offset after the last match returns the total without ranking.
func TestNothingIsRankedPastTheEnd(t *testing.T) {
	t.Parallel()
	const people = 1_100
	everybody := make([]person, people)
	for i := range everybody {
		r := contact(t, i, i%2, `"name":"Same",`)
		everybody[i] = person{r, r}
	}
	v := newViews(t, everybody)
	between := newRowsAsked(t)
	close(between.held)
	fetched := 0
	e := &search.Engine{
		Elastic: searchtest.NewClient(t, between.address), Names: v.engine.Names, Cursors: v.engine.Cursors,
		Timeout: time.Minute, Fetched: func(_ context.Context, rows int) { fetched += rows },
	}
	held := v.merged(t, `{"limit":1,"offset":10000}`).searches[1]
	for name, find := range map[string]func() (query.Page, error){
		"Data": func() (query.Page, error) {
			return e.Search(t.Context(), parse(t, catalog.Contacts, dataBase, `{"limit":1,"offset":1100}`))
		},
		"Data, by relevance": func() (query.Page, error) {
			return e.Search(t.Context(), parse(t, catalog.Contacts, dataBase, `{"query":"same","limit":1,"offset":10000}`))
		},
		"held records": func() (query.Page, error) { return e.Search(t.Context(), held) },
		"merged":       func() (query.Page, error) { return v.merged(t, `{"limit":1,"offset":10000}`).run(t.Context(), e) },
	} {
		p, err := find()
		if err != nil || len(p.Rows) > 0 || p.Total != search.TotalCap || !p.Capped || p.Next != "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if between.most > 0 || fetched > 0 {
		t.Errorf("%d rows were asked for at once, %d came", between.most, fetched)
	}
	if _, err := v.merged(t, `{"limit":1,"offset":1050}`).run(t.Context(), e); err != nil || fetched < people/2+1_050 {
		t.Errorf("%d rows are said to have come, %v", fetched, err)
	}
}
