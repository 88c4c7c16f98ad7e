// The race detector makes the work of some answers ten times as much, and of others not.
//go:build !race

package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"atlas/search/query"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// workOf is the CPU time of f in its own goroutine, independent of other load: the minimum of
// three, or the first that is at most enough.
func workOf(enough time.Duration, f func()) (least time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	clock := func() time.Duration {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
			panic(err)
		}
		return time.Duration(now.Nano())
	}
	for i := range 3 {
		began := clock()
		f()
		took := clock() - began
		if i == 0 || took < least {
			least = took
		}
		if least <= enough {
			break
		}
	}
	return least
}

// The budget of an answer; answers take a tenth of it.
const (
	// mostWork is that of a request without a body.
	mostWork = 5 * time.Millisecond
	// workPerByte is the additional limit for each byte of a refused body or query string.
	workPerByte = 400 * time.Nanosecond
)

// asks is a request to the API, without a key.
func asks(method, path, params, body string, header ...string) *http.Request {
	r := &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: params}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: "atlas.example", RequestURI: path, Header: http.Header{}, Body: http.NoBody, RemoteAddr: "192.0.2.1:1",
	}
	if body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// costs measures a request with workOf, and reports when it is over the budget.
func costs(
	t *testing.T, h http.Handler, name string, method, path, params, body string, header ...string,
) (took time.Duration, status int) {
	t.Helper()
	most := mostWork + time.Duration(len(params)+len(body))*workPerByte
	took = workOf(most, func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, asks(method, path, params, body, header...))
		status = w.Code
	})
	if took > most {
		t.Errorf("%.10s %s: %v of %v, status %d", method, name, took, most, status)
	}
	if took > time.Second {
		t.FailNow()
	}
	return took, status
}

// open is the API without backends. Strangers get documents; its gate admits everybody, and a
// valid request panics at the first backend, except searches, which find nothing.
func open() http.Handler {
	s := &Server{
		Core: endpoint.Core{
			Log:         slog.New(slog.DiscardHandler),
			Gate:        anybody{},
			Ledger:      unspent{},
			MaxRequests: 10_000,
			Pages:       noPages{},
			PublicURL:   "https://atlas.example",
		},
		Search:      nothing{},
		MCP:         &MCP{},
		TokenIssuer: "https://issuer.example",
	}
	s.Unpaced = true
	return s.Handler()
}

type anybody struct{}

func (anybody) Authenticate(context.Context, []string) (auth.Identity, error) {
	return auth.Identity{Kind: auth.ByUser}, nil
}

func (anybody) SignedIn(context.Context, auth.User, time.Time, identity.Own) (auth.Identity, error) {
	return auth.Identity{Kind: auth.ByUser}, nil
}

func (anybody) Resolve(context.Context, auth.Identity, []string, bool) (workspace.ID, error) {
	return workspace.ID(workspace.NewUUID()), nil
}

func (anybody) Authorize(_ context.Context, i auth.Identity, in workspace.ID) (auth.Principal, error) {
	return auth.Principal{
		Kind: auth.ByUser, Workspace: workspace.Workspace{ID: in, Plan: workspace.Pro}, User: i.User(),
		Role: people.Owner, Scopes: workspace.AllScopes(),
	}, nil
}

type unspent struct{ endpoint.Ledger }

func (unspent) Check(context.Context, string, int64, credits.Key) (credits.Window, error) {
	return credits.Window{}, nil
}

type nothing struct{ Engine }

func (nothing) Search(context.Context, query.Query) (query.Page, error) { return query.Page{}, nil }

type noPages struct{}

func (noPages) Serve(http.ResponseWriter, *http.Request) bool { return false }

const someID = "0197a1b2-0000-7000-8000-000000000009"

// hostilePaths are the most expensive paths for comparing, parsing or storing.
func hostilePaths() map[string]string {
	all := map[string]string{"*": "*", "": "", "/": "/", "no slash": "data/projects/search"}
	for name, part := range map[string]string{
		"letters": "a/", "slashes": "/", "names": "data/projects/search/", "near names": "workspaec/veiws/serach/",
		"ids": someID + "/", "batches": "data-batch/",
		"versions": "api/v1/", "parameters": ":id/", "one segment": "a", "words": "workspace_status_",
		"wide letters": "Ⅷ", "no letters": "\xff\x00/",
	} {
		for _, size := range []int{60, 500, endpoint.MaxPath, 4 << 10, 62 << 10} { // a head has at most 64 KiB
			for _, before := range []string{
				"/", endpoint.Version + "/", endpoint.Version + "/workspace/views/" + someID + "/", endpoint.DocsPath + "/", unsubscribePath + "/",
				"/.well-known/",
			} {
				all[fmt.Sprintf("%s of %d B below %s", name, size, before)] = before + strings.Repeat(part, max(size/len(part), 1))
			}
		}
	}
	return all
}

// Every method and path is answered within a budget of work, and none with a server error.
func TestNoAddressCostsMuch(t *testing.T) {
	h := open()
	h.ServeHTTP(httptest.NewRecorder(), asks(http.MethodGet, endpoint.DocsPath, "", "")) // makes the pages
	for name, path := range hostilePaths() {
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "PRI", strings.Repeat("M", 100)} {
			_, status := costs(t, h, name, method, path, "", "", "Accept", "text/html")
			if status >= http.StatusInternalServerError {
				t.Errorf("%.10s %s: status %d", method, name, status)
			}
			beyond := len(path) > endpoint.MaxPath || strings.Count(path, "/") > endpoint.MaxSegments
			if beyond != (status == http.StatusRequestURITooLong) {
				t.Errorf("%.10s %s: status %d for %d bytes", method, name, status, len(path))
			}
		}
	}
}

// repeated is a text of about a size, of the texts that each makes, between others.
func repeated(size int, before, between, after string, each func(i int) string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(each(i))
	}
	return b.String() + after
}

// wrongBodies are bodies of a route that are wrong in as many ways as fit in.
func wrongBodies(r endpoint.Route) map[string]string {
	const size = 128 << 10
	pad := strings.Repeat("e", 200)
	numbered := func(format string) func(i int) string {
		return func(i int) string { return fmt.Sprintf(format, i) }
	}
	all := map[string]string{
		"depth": strings.Repeat(`{"any":[`, size/8), "lists": strings.Repeat("[", size),
		"no JSON": strings.Repeat("a", size), "quotes": strings.Repeat(`"`, size),
		"a name":       `{"` + strings.Repeat("filters", size/7) + `":1}`,
		"members":      repeated(size, "{", ",", "}", numbered(`"filterz%d":{}`)),
		"long members": repeated(size, "{", ",", "}", numbered(`"`+pad+`%d":1`)),
	}
	for _, name := range []string{
		"query", "typos", "filters", "relations", "any", "none", "sort", "fields", "facets", "prefix", "ids", "inputs",
		"items", "definition", "dataset", "name", "domains", "events", "url", "emails", "role", "content", "since",
	} {
		if !r.Body.Has(name) {
			continue
		}
		of := func(before, after string) func(format string) string {
			return func(format string) string {
				return repeated(size, fmt.Sprintf(`{%q:%s`, name, before), ",", after+"}", numbered(format))
			}
		}
		list, object := of("[", "]"), of("{", "}")
		all[name+", a text"] = fmt.Sprintf(`{"dry_run":true,%q:"%s"}`, name, strings.Repeat("a:b -c ", size/7))
		all[name+", words"], all[name+", long words"] = list(`"primray_use%d"`), list(`"`+pad+`%d"`)
		all[name+", objects"] = list(`{"filterz":{"stahe":{"valeu":%d}},"acount_id":"x","nmae":1}`)
		all[name+", groups"] = list(
			`{"filters":{"stahe":{},"cots":{"value":"1"},"primray_use":{"value":["ofice"]}},"relations":{"has_signals":{"signaltype":%d}}}`,
		)
		all[name+", members"], all[name+", long members"] = object(`"primray_use%d":{"value":1}`), object(`"`+pad+`%d":{"value":1}`)
		all[name+", values"] = repeated(size, fmt.Sprintf(`{%q:{"stage":{"value":[`, name), ",", `]}}}`, numbered(`"permited%d"`))
		all[name+", a definition"] = repeated(
			size, fmt.Sprintf(`{%q:{"version":1,"fields":{"stage":[`, name), ",", `]}}}`, numbered(`"permited%d"`),
		)
	}
	return all
}

var parameterName = regexp.MustCompile(`:\w+`)

// No body and no query string costs much more to refuse than to read.
func TestNoRefusalCostsMuch(t *testing.T) {
	h := open()
	params := map[string]string{
		"names":   repeated(60<<10, "", "&", "", func(i int) string { return fmt.Sprintf("limitt%d=1", i) }),
		"values":  repeated(60<<10, "", "&", "", func(i int) string { return fmt.Sprint("include=account", i) }),
		"a value": "include=" + strings.Repeat("accounts,", 6<<10),
		"fields":  "fields=" + strings.Repeat("nmae,", 12<<10), "one value": "query=" + strings.Repeat("a", 60<<10),
	}
	for _, r := range (&Server{}).Routes() {
		path := endpoint.Version + parameterName.ReplaceAllString(r.Path, someID)
		for name, text := range params {
			costs(t, h, r.Operation+", "+name, r.Method, path, text, "")
		}
		if r.Body != nil {
			for name, body := range wrongBodies(r) {
				costs(t, h, r.Operation+", "+name, r.Method, path, "", body)
			}
		}
	}
}

// FuzzCostOfAnswers: no request costs more than its length allows: messages about unknown
// addresses, parameters and bodies, and the hints of dry runs.
func FuzzCostOfAnswers(f *testing.F) {
	text, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var mistakes []struct{ Send, Body string }
	if err := yaml.Unmarshal(text, &mistakes); err != nil {
		f.Fatal(err)
	}
	for _, m := range mistakes {
		method, address, _ := strings.Cut(m.Send, " ")
		path, params, _ := strings.Cut(address, "?")
		f.Add(method, path, params, m.Body)
	}
	f.Add(
		"POST",
		endpoint.Version+"/data/projects/search",
		"",
		`{"dry_run":true,"query":"stage:filed -x \"a b\" c* cost > 1000 garage OR roof office"}`,
	)
	f.Add("POST", "*", "", "")
	h := open()
	h.ServeHTTP(httptest.NewRecorder(), asks(http.MethodGet, endpoint.DocsPath, "", ""))
	f.Fuzz(func(t *testing.T, method, path, params, body string) {
		costs(t, h, path, method, path, params, body)
	})
}
