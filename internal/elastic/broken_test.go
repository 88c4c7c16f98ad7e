package elastic_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// A node that dies in the middle of an answer is left out, and the request is retried on
// another. Without another, no part of an answer is returned.
func TestAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	const answer = `{"hits": "all of them"}`
	node := func(breaks bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			_, _ = w.Write([]byte(answer[:10])) // the client may have disconnected
			if err := http.NewResponseController(w).Flush(); err != nil || breaks {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write([]byte(answer[10:]))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	search := esapi.SearchRequest{Index: []string{"things"}, Body: strings.NewReader("{}")}

	broken, whole := node(true), node(false)
	c, err := elastic.New(elastic.Config{Addresses: []string{broken, whole}})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if res, err := c.Do(t.Context(), search); err != nil || string(res.Body) != answer {
			t.Errorf("one of two nodes breaks off: %q, %v", res.Body, err)
		}
	}

	var seen observed
	alone, err := elastic.New(elastic.Config{Addresses: []string{broken}, CallTimeout: 10 * time.Second, Observe: seen.see})
	if err != nil {
		t.Fatal(err)
	}
	res, err := alone.Do(t.Context(), search)
	if fault.CodeOf(err) != fault.Unavailable || res.Body != nil || !strings.Contains(err.Error(), "unexpected EOF") ||
		seen.calls[0].Outcome != elastic.Failed {
		t.Errorf("the only node breaks off: %q, %v, %+v", res.Body, err, seen.calls)
	}
}

// What another server or an operator can change is unavailable; the rest is a defect.
func TestFaultOf(t *testing.T) {
	t.Parallel()
	for want, errs := range map[fault.Code][]*elastic.Error{
		fault.Unavailable: {
			{Status: 404, Type: "index_not_found_exception"}, {Status: 404, Type: "aliases_not_found_exception"},
			{Status: 401}, {Status: 403}, {Status: 429}, {Status: 503},
		},
		fault.Internal: {{Status: 404, Type: "resource_not_found_exception"}, {Status: 400, Type: "parsing_exception"}},
	} {
		for _, err := range errs {
			if got := fault.CodeOf(elastic.FaultOf(err)); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
}
