package elastic_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
)

// A node that dies in the middle of an answer is left out, and another one is
// asked again. With no other, there is no part of an answer.
func TestAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	const answer = `{"hits": "all of them"}`
	node := func(breaks bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			_, _ = w.Write([]byte(answer[:10])) // nobody may be listening any more
			if err := http.NewResponseController(w).Flush(); err != nil || breaks {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write([]byte(answer[10:]))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	search := elastic.Request{Method: http.MethodPost, Path: "/things/_search", Body: []byte("{}")}

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
	if fault.CodeOf(err) != fault.Unavailable || res.Body != nil || !strings.Contains(err.Error(), "unexpected EOF") || seen.calls[0].Outcome != elastic.Failed {
		t.Errorf("the only node breaks off: %q, %v, %+v", res.Body, err, seen.calls)
	}
}
