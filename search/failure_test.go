package search_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// alteration changes a real answer of Elasticsearch on its way back.
type alteration func(w http.ResponseWriter, status int, body []byte)

// altered is an engine that reaches Elasticsearch through a server, which alters the
// answers to paths that contain a text. It is for failures only.
func altered(t *testing.T, e *search.Engine, part string, alter alteration) *search.Engine {
	t.Helper()
	origin := backends.Elasticsearch(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, origin+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header = r.Header.Clone()
		res, err := http.DefaultClient.Do(out)
		if err != nil {
			if r.Context().Err() == nil {
				t.Error(err)
			}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"Content-Type", "X-Elastic-Product"} {
			w.Header().Set(name, res.Header.Get(name))
		}
		if strings.Contains(r.URL.Path, part) {
			alter(w, res.StatusCode, body)
			return
		}
		w.WriteHeader(res.StatusCode)
		w.Write(body)
	}))
	t.Cleanup(server.Close)
	return through(t, e, server)
}

// through is an engine that reaches Elasticsearch through a server.
func through(t *testing.T, e *search.Engine, server *httptest.Server) *search.Engine {
	t.Helper()
	return &search.Engine{Elastic: searchtest.NewClient(t, server.URL), Names: e.Names, Cursors: e.Cursors, Timeout: search.DefaultTimeout}
}

// proxied is an engine that reaches Elasticsearch through a server, which calls first with
// each request, and forwards it unless first has answered it.
func proxied(t *testing.T, e *search.Engine, first func(http.ResponseWriter, *http.Request) (answered bool)) *search.Engine {
	t.Helper()
	target, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !first(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return through(t, e, server)
}

// answer replaces the answer.
func answer(status int, body string) alteration {
	return func(w http.ResponseWriter, _ int, _ []byte) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// edit rewrites the answer. The test fails when that changes nothing.
func edit(t *testing.T, pattern, replacement string) alteration {
	re := regexp.MustCompile(pattern)
	return func(w http.ResponseWriter, status int, body []byte) {
		changed := re.ReplaceAll(body, []byte(replacement))
		if bytes.Equal(changed, body) {
			t.Errorf("%s is not in %.500s", pattern, body)
		}
		w.WriteHeader(status)
		w.Write(changed)
	}
}

func hangUp(w http.ResponseWriter, _ int, _ []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// cut sends half of the answer with the Content-Length of all of it.
func cut(w http.ResponseWriter, _ int, body []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:len(body)/2])
}

// esError is an error answer of Elasticsearch.
func esError(status int, kind string) alteration {
	return answer(
		status,
		fmt.Sprintf(
			`{"error":{"type":%q,"reason":"secret of the backend","root_cause":[{"type":%q,"reason":"x"}]},"status":%d}`,
			kind,
			kind,
			status,
		),
	)
}

// broken are answers that every operation must refuse.
func broken(t *testing.T) map[string]alteration {
	return map[string]alteration{
		"busy":                   esError(429, "es_rejected_execution_exception"),
		"broken":                 esError(500, "search_phase_execution_exception"),
		"a gateway's 502":        answer(502, "<html>Bad Gateway</html>"),
		"a gateway's 503":        answer(503, ""),
		"out of time":            answer(504, `{"error":{"type":"timeout_exception","reason":"x"}}`),
		"no index":               esError(404, "index_not_found_exception"),
		"a page of another kind": answer(200, "<html>Welcome</html>"),
		"another's 404":          answer(404, "<html>Not Found</html>"),
		"nothing":                answer(200, ""),
		"null":                   answer(200, "null"),
		"a list":                 answer(200, "[]"),
		"a number":               answer(200, "7"),
		"cut":                    edit(t, `(?s)^(.*).{10}$`, "$1"),
		"cut on the way":         cut,
		"hung up":                hangUp,
	}
}

// unavailable fails unless the error makes the client retry later, without internals.
func unavailable(t *testing.T, err error) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Unavailable || f.RetryAfter <= 0 || f.Unwrap() == nil {
		t.Fatalf("got %v, want unavailable, with a cause and a time to come back", err)
	}
	if strings.Contains(f.Message, "secret") || strings.Contains(f.Message, "exception") {
		t.Errorf("the message shows the backend's text: %s", f.Message)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "testdata/cases.yaml")
	e, x := newEngine(t)
	x.Load(t, f.World)

	searches := broken(t)
	for name, alter := range map[string]alteration{
		"timed out":               edit(t, `"timed_out":false`, `"timed_out":true`),
		"a shard failed":          edit(t, `"failed":0`, `"failed":1`),
		"an empty object":         answer(200, `{}`),
		"no word of shards":       edit(t, `"_shards":\{[^}]*\},?`, ``),
		"no total":                edit(t, `"total":\{[^}]*\},?`, ``),
		"fewer rows than counted": edit(t, `(?s)"hits":\[.*\]`, `"hits":[]`),
		"no rows at all":          edit(t, `(?s),"hits":\[.*\]`, ``),
		"a row missing":           edit(t, `(?s)"hits":\[\{.*?"sort":\[[^\]]*\]\},`, `"hits":[`),
		"rows without records":    edit(t, `"_source":\{`, `"_sauce":{`),
		"rows without a sort":     edit(t, `"sort":\[`, `"short":[`),
		"records that are none":   edit(t, `(?s)"_source":\{[^{}]*\}`, `"_source":"x"`),
		"not from Elasticsearch": func(w http.ResponseWriter, status int, body []byte) {
			w.Header().Del("X-Elastic-Product")
			w.WriteHeader(status)
			w.Write(body)
		},
	} {
		searches[name] = alter
	}
	for name, alter := range searches {
		t.Run("search/"+name, func(t *testing.T) {
			t.Parallel()
			page, err := altered(t, e, "/_search", alter).Search(t.Context(), parse(t, catalog.Signals, dataBase, `{"limit":3}`))
			unavailable(t, err)
			if page.Rows != nil || page.Next != "" || page.Total != 0 {
				t.Errorf("and a page: %+v", page)
			}
		})
	}
	for name, alter := range broken(t) {
		t.Run("get/"+name, func(t *testing.T) {
			t.Parallel()
			record, err := altered(t, e, "/_source/", alter).Get(t.Context(), catalog.Signals, searchtest.ID("s", 1), nil)
			unavailable(t, err)
			if record != nil {
				t.Errorf("and a record: %s", record)
			}
		})
	}
	several := broken(t)
	for name, alter := range map[string]alteration{
		"timed out":                edit(t, `"timed_out":false`, `"timed_out":true`),
		"a shard failed":           edit(t, `"failed":0`, `"failed":2`),
		"one search fewer":         edit(t, `(?s)"responses":\[\{`, `"responses":[],"x":[{`),
		"an answer without shards": edit(t, `"_shards":\{[^}]*\},?`, ``),
		"one search failed":        edit(t, `(?s)"responses":\[\{`, `"responses":[{"error":{"type":"search_phase_execution_exception","reason":"secret"},`),
		"an empty object":          answer(200, `{}`),
	} {
		several[name] = alter
	}
	for name, alter := range several {
		t.Run("include/"+name, func(t *testing.T) {
			t.Parallel()
			record, err := altered(
				t,
				e,
				"/_msearch",
				alter,
			).Get(t.Context(), catalog.Signals, searchtest.ID("s", 1), query.Includes(catalog.Signals))
			unavailable(t, err)
			if record != nil {
				t.Errorf("and a record: %s", record)
			}
		})
		t.Run("frequent values/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := altered(t, e, "/_msearch", alter).FrequentValues(t.Context())
			unavailable(t, err)
		})
	}
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		checkTooLate(t, e)
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		gone := altered(t, e, "/", hangUp)
		_, err := gone.Search(t.Context(), parse(t, catalog.Signals, dataBase, `{}`))
		unavailable(t, err)
	})
	t.Run("nothing loaded", func(t *testing.T) {
		t.Parallel()
		empty := &search.Engine{Elastic: e.Elastic, Names: e.Names, Cursors: e.Cursors, Timeout: search.DefaultTimeout}
		empty.Names.Prefix += "none-"
		_, err := empty.Search(t.Context(), parse(t, catalog.Signals, dataBase, `{}`))
		unavailable(t, err)
		_, err = empty.Get(t.Context(), catalog.Signals, searchtest.ID("s", 1), nil)
		unavailable(t, err)
		_, err = empty.FrequentValues(t.Context())
		unavailable(t, err)
	})
	// A bad cursor is the client's mistake and never reaches Elasticsearch.
	t.Run("a bad cursor", func(t *testing.T) {
		t.Parallel()
		untouched := altered(t, e, "/", func(http.ResponseWriter, int, []byte) { t.Error("Elasticsearch was asked") })
		if _, err := untouched.Search(
			t.Context(), parse(t, catalog.Signals, dataBase, `{"search_after":"AQ"}`),
		); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("got %v", err)
		}
	})
}

// checkTooLate checks that each operation times out when there is no answer.
func checkTooLate(t *testing.T, e *search.Engine) {
	forever := make(chan struct{})
	late := altered(t, e, "/", func(http.ResponseWriter, int, []byte) { <-forever })
	t.Cleanup(func() { close(forever) }) // before the server waits for its handlers
	late.Timeout = time.Millisecond
	_, err := late.Search(t.Context(), parse(t, catalog.Signals, dataBase, `{}`))
	unavailable(t, err)
	_, err = late.Get(t.Context(), catalog.Signals, searchtest.ID("s", 1), nil)
	unavailable(t, err)
	_, err = late.FrequentValues(t.Context())
	unavailable(t, err)
}
