package api_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"atlas/search/searchtest"
	"atlas/service/endpoint"
	"atlas/workspace/postgres"
)

// outage is a proxy to Postgres that breaks at one commit of the application.
type outage struct {
	proxy *toxiproxy.Proxy

	lock sync.Mutex
	// stream is the direction of the connection that breaks when a commit begins:
	// "upstream" loses the commit, "downstream" its answer. "hang" drops the answer and
	// keeps the connection open. "after" breaks after the answer. Empty is no outage.
	stream  string
	commits int // to let through first
	begun   int // transactions since the outage
	over    bool
}

// newOutageWorld is a world with Views whose application reaches Postgres through a
// proxy.
func newOutageWorld(t *testing.T) (*viewWorld, *outage) {
	t.Helper()
	w := newWorld(t)
	u, err := url.Parse(w.databases.App)
	fatal(t, err)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	o := &outage{proxy: toxiproxy.NewProxy(server, "postgres", "127.0.0.1:0", u.Host)}
	fatal(t, o.proxy.Start())
	t.Cleanup(o.proxy.Stop)
	u.Host = o.proxy.Listen
	store, err := postgres.Open(t.Context(), u.String(), postgres.Options{MaxConns: 4, Tracer: o})
	fatal(t, err)
	t.Cleanup(store.Close)
	w.server.Workspaces = store
	return w.withViews(t), o
}

// plan breaks the connection at the commit after the given number of commits.
func (o *outage) plan(stream string, commits int) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.stream, o.commits, o.begun, o.over = stream, commits, 0, false
}

// end restores the connection and returns how many transactions were begun after it
// broke.
func (o *outage) end(t *testing.T) int {
	t.Helper()
	o.lock.Lock()
	defer o.lock.Unlock()
	if !o.over {
		t.Error("no commit was cut")
	}
	o.stream = ""
	o.proxy.Toxics.ResetToxics(context.Background())
	return o.begun
}

func (o *outage) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	o.lock.Lock()
	defer o.lock.Unlock()
	switch {
	case o.stream == "":
	case o.over && data.SQL == "begin":
		o.begun++
	case !o.over && data.SQL == "commit" && o.stream != "after":
		o.pass(o.stream)
	}
	return context.WithValue(ctx, o, data.SQL)
}

func (o *outage) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.stream == "after" && !o.over && ctx.Value(o) == "commit" {
		o.pass("downstream")
	}
}

// pass lets a commit through, or breaks the connection at the planned one.
func (o *outage) pass(stream string) {
	if o.commits > 0 {
		o.commits--
		return
	}
	toxic := fmt.Sprintf(`{"type":"limit_data","stream":%q,"attributes":{"bytes":0}}`, stream)
	if stream == "hang" {
		toxic = `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`
	}
	if _, err := o.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		panic(err)
	}
	o.over = true
}

// names lists the names of the workspace's Views.
func (w *viewWorld) names(t *testing.T) []string {
	t.Helper()
	var data struct{ Views []shownView }
	w.call(t, w.member, "GET", "/workspace/views?"+w.in, "").into(t, &data, nil)
	names := []string{}
	for _, v := range data.Views {
		names = append(names, v.Name)
	}
	return names
}

// outages maps both ways in which the outcome of a commit becomes unknown to whether it
// was committed.
var outages = map[string]bool{"upstream": false, "downstream": true}

// TestOutageWithinABatchOfViews: completed items are reported, the item with an unknown
// outcome is stored completely or not at all, and the rest is not tried.
func TestOutageWithinABatchOfViews(t *testing.T) {
	t.Parallel()
	for stream, done := range outages {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			w, o := newOutageWorld(t)
			body := `{"inputs":[` + strings.Join([]string{
				viewBody("account", "static", "A"), viewBody("account", "static", "a"), viewBody("account", "static", "B"),
				viewBody("account", "static", "C"), viewBody("account", "static", "D"), `{"dataset":"account"}`,
			}, ",") + `]}`
			o.plan(stream, 2)
			short, all := w.results(t, w.member, "/workspace/views/upsert/batch", body)
			if begun := o.end(t); begun != 0 {
				t.Errorf("%d items were tried after the outage", begun)
			}
			if diff := cmp.Diff([]string{"ok", "view_name_conflict", "ok", "unavailable", "unavailable", "invalid_input"}, short); diff != "" {
				t.Errorf("upserts (-want +got):\n%s", diff)
			}
			want := []string{"A", "B"}
			if done {
				want = append(want, "C")
			}
			if diff := cmp.Diff(want, w.names(t)); diff != "" {
				t.Errorf("Views after upserts (-want +got):\n%s", diff)
			}
			if r := all.Results; r[0].Data == nil || r[0].Data.View.ID != r[0].ViewID || r[3].ViewID != "" ||
				r[3].Error.Message == r[4].Error.Message {
				t.Errorf("results: %+v", r)
			}

			c, d := w.create(t, w.key, viewBody("project", "static", "Y")).ID, w.create(t, w.key, viewBody("project", "static", "Z")).ID
			o.plan(stream, 1)
			short, all = w.results(
				t,
				w.member,
				"/workspace/views/delete/batch",
				fmt.Sprintf(`{"ids":[%q,%q,%q,"x"]}`, all.Results[0].ViewID, c, d),
			)
			if begun := o.end(t); begun != 0 {
				t.Errorf("%d deletions were tried after the outage", begun)
			}
			if diff := cmp.Diff([]string{"ok", "unavailable", "unavailable", "invalid_input"}, short); diff != "" ||
				all.Results[1].ViewID != c {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			if got := w.names(t); slices.Contains(got, "A") || slices.Contains(got, "Y") == done || !slices.Contains(got, "Z") {
				t.Errorf("Views after deletions: %v", got)
			}

			// Nothing is known to be stored: neither the failed item nor the one with
			// an unknown outcome.
			o.plan(stream, 0)
			a := w.call(
				t, w.member, "POST", "/workspace/views/upsert/batch",
				`{"inputs":[`+viewBody("account", "static", "b")+`,`+viewBody("account", "static", "E")+`]}`,
			)
			if o.end(t); a.status != 503 || a.header.Get("Retry-After") != "1" || a.code() != "unavailable" {
				t.Errorf("no item known to be done: %d %s", a.status, a.text)
			}
			if got := w.names(t); slices.Contains(got, "E") != done {
				t.Errorf("after a 503: %v", got)
			}
		})
	}
}

// TestHangWithinABatchOfViews: the request waits for its timeout once, not once for
// each remaining item.
func TestHangWithinABatchOfViews(t *testing.T) {
	t.Parallel()
	w, o := newOutageWorld(t)
	w.names(t) // connects
	w.server.RequestTimeout = 3 * time.Second
	o.plan("hang", 1)
	began := time.Now()
	short, _ := w.results(t, w.member, "/workspace/views/upsert/batch", `{"inputs":[`+
		viewBody("account", "static", "A")+`,`+viewBody("account", "static", "B")+`,`+viewBody("account", "static", "C")+`]}`)
	took := time.Since(began)
	w.server.RequestTimeout = endpoint.DefaultRequestTimeout
	if begun := o.end(t); begun != 0 || took > 2*3*time.Second {
		t.Errorf("%d items were tried after the outage, in %s", begun, took)
	}
	if diff := cmp.Diff([]string{"ok", "unavailable", "unavailable"}, short); diff != "" {
		t.Errorf("upserts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B"}, w.names(t)); diff != "" {
		t.Errorf("Views (-want +got):\n%s", diff)
	}
}

// TestOutageWithinOtherBatches: these batches are one transaction. If the outcome of
// the commit is unknown, all or nothing is stored, and the answer says so.
func TestOutageWithinOtherBatches(t *testing.T) {
	t.Parallel()
	firms := []string{searchtest.ID("a", 1), searchtest.ID("a", 2)}
	for stream, done := range outages {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			w, o := newOutageWorld(t)
			views := []string{
				w.create(t, w.key, viewBody("account", "static", "V0")).ID,
				w.create(t, w.key, viewBody("account", "static", "V1")).ID,
			}
			inBook := func() (n int) {
				for _, id := range firms {
					if w.call(t, w.key, "GET", "/workspace/accounts/"+id, "").status == 200 {
						n++
					}
				}
				return n
			}
			inView := func() int {
				var data struct{ View shownView }
				w.call(t, w.key, "GET", "/workspace/views/"+views[0], "").into(t, &data, nil)
				return *data.View.Records
			}
			favorites := func() int {
				var data struct{ Views []shownView }
				w.call(t, w.member, "GET", "/workspace/favorite-views?"+w.in, "").into(t, &data, nil)
				return len(data.Views)
			}
			inputs := func(key string, ids []string) string {
				return fmt.Sprintf(`{"inputs":[{%[1]q:%[2]q},{%[1]q:%[3]q},{%[1]q:"x"}]}`, key, ids[0], ids[1])
			}
			deletions := func(ids []string) string { return fmt.Sprintf(`{"ids":[%q,%q,"x"]}`, ids[0], ids[1]) }
			for _, c := range []struct {
				path, body string
				count      func() int
				after      int // the count once all items are done
			}{
				{"/workspace/accounts/upsert/batch", inputs("account_id", firms), inBook, 2},
				{"/workspace/accounts/delete/batch", deletions(firms), inBook, 0},
				{"/workspace/views/" + views[0] + "/records/add/batch", inputs("record_id", firms), inView, 2},
				{"/workspace/views/" + views[0] + "/records/delete/batch", deletions(firms), inView, 0},
				{"/workspace/favorite-views/upsert/batch", inputs("view_id", views), favorites, 2},
				{"/workspace/favorite-views/delete/batch", deletions(views), favorites, 0},
			} {
				before := c.count()
				o.plan(stream, 0)
				a := w.call(t, w.member, "POST", c.path, c.body)
				if o.end(t); a.status != 503 || a.code() != "unavailable" {
					t.Errorf("%s: %d %s", c.path, a.status, a.text)
				}
				want := before
				if done {
					want = c.after
				}
				if got := c.count(); got != want {
					t.Errorf("%s: %d, want %d", c.path, got, want)
				}
				// The completed items are also reported if the connection breaks after
				// the commit.
				o.plan("after", 0)
				short, _ := w.results(t, w.member, c.path, c.body)
				o.end(t)
				if diff := cmp.Diff([]string{"ok", "ok", "invalid_input"}, short); diff != "" || c.count() != c.after {
					t.Errorf("%s, cut after the commit: now %d (-want +got):\n%s", c.path, c.count(), diff)
				}
			}
		})
	}
}
