package elastic_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/google/go-cmp/cmp"

	"atlas/internal/elastic"
	"atlas/internal/fault"
)

// observed collects the calls of an observer.
type observed struct {
	lock  sync.Mutex
	calls []elastic.Call
}

func (o *observed) see(_ context.Context, c elastic.Call) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.calls = append(o.calls, c)
}

// TestCallsPastTheBoundAreRefusedAtOnce holds calls back until one more was
// refused: had it waited, the test would not end.
func TestCallsPastTheBoundAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	const limit = 4
	arrived, answer := make(chan struct{}, limit+1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answer
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	var seen observed
	c, err := elastic.New(elastic.Config{Addresses: []string{server.URL}, MaxCalls: limit, Observe: seen.see})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		_, err := c.Do(t.Context(), esapi.SearchRequest{Index: []string{"things"}, Body: strings.NewReader("{}")})
		return err
	}
	var group sync.WaitGroup
	for range limit {
		group.Go(func() {
			if err := ask(); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit {
		<-arrived
	}
	if n := c.InFlight(); n != limit || c.MaxCalls() != limit {
		t.Errorf("%d of %d calls are under way", n, c.MaxCalls())
	}
	refused := ask()
	f, ok := errors.AsType[*fault.Error](refused)
	if !ok || f.Code != fault.Unavailable || f.RetryAfter != time.Second || !errors.Is(refused, elastic.ErrTooManyCalls) {
		t.Errorf("past the bound: %v", refused)
	}
	close(answer)
	group.Wait()
	if err := ask(); err != nil {
		t.Error("after they ended:", err)
	}
	if n := c.InFlight(); n != 0 {
		t.Errorf("%d calls are under way, and none is", n)
	}
	got := map[elastic.Outcome]int{}
	for _, call := range seen.calls {
		if got[call.Outcome]++; call.Operation != "search" || (call.Took > 0) == (call.Outcome == elastic.Shed) {
			t.Errorf("%+v", call)
		}
	}
	if diff := cmp.Diff(map[elastic.Outcome]int{elastic.OK: limit + 1, elastic.Shed: 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomesAndOperations(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		switch r.URL.Path {
		case "/x/_search", "/x/_bulk":
			_, _ = w.Write([]byte("{}"))
		case "/x/_source/1":
			w.WriteHeader(http.StatusNotFound)
		case "/_msearch":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/_cat/indices":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			<-gone
		}
	}))
	defer server.Close()
	defer close(gone)
	var seen observed
	c, err := elastic.New(elastic.Config{Addresses: []string{server.URL}, Observe: seen.see})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	left, leave := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, leave)
	x := []string{"x"}
	for _, call := range []struct {
		ctx       context.Context
		request   esapi.Request
		operation string
		outcome   elastic.Outcome
	}{
		{t.Context(), esapi.SearchRequest{Index: x}, "search", elastic.OK},
		{t.Context(), esapi.BulkRequest{Index: "x", Body: strings.NewReader("")}, "bulk", elastic.OK},
		{t.Context(), esapi.GetSourceRequest{Index: "x", DocumentID: "1"}, "get", elastic.Refused},
		{t.Context(), esapi.MsearchRequest{Body: strings.NewReader("")}, "msearch", elastic.Failed},
		{t.Context(), esapi.CatIndicesRequest{}, "other", elastic.Failed},
		{short, esapi.CountRequest{Index: x}, "count", elastic.TimedOut},
		{left, esapi.MgetRequest{Index: "x", Body: strings.NewReader("{}")}, "mget", elastic.Abandoned},
	} {
		_, _ = c.Do(call.ctx, call.request)
		if got := seen.calls[len(seen.calls)-1]; got.Operation != call.operation || got.Outcome != call.outcome {
			t.Errorf("%T: %+v, want %s %s", call.request, got, call.operation, call.outcome)
		}
	}
}

// TestErrorsShowNoValues has Elasticsearch refuse a document, whose value it
// then shows.
func TestErrorsShowNoValues(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		`failed to parse field [n] of type [long] in document with id '1'. Preview of field's value: 'a secret note'`,
		`failed to create query: For input string: \"a secret note\"`,
		`failed to parse date field [a secret note] with format [strict_date]`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":{"type":"some_exception","reason":"` + reason + `"},"status":400}`))
		}))
		defer server.Close()
		_, err := client(t, server.URL).Do(t.Context(), esapi.IndexRequest{Index: "x", DocumentID: "1", Body: strings.NewReader("{}")})
		e, ok := errors.AsType[*elastic.Error](err)
		if !ok || e.Type != "some_exception" {
			t.Fatal(err)
		}
		if got := err.Error(); len(e.Reason) < 20 || strings.Contains(got, "secret") {
			t.Errorf("%s", got)
		}
	}
}

// A node that accepts connections and never answers is not waited for forever, and the wait
// counts as time of a retry.
func TestCallsWithoutAnAnswerAreGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const limit = 50 * time.Millisecond
	var seen observed
	var onTimeout []string
	c, err := elastic.New(elastic.Config{
		Addresses: []string{"http://" + listener.Addr().String()}, CallTimeout: limit, Observe: seen.see,
		OnTimeout: func(_ context.Context, operation string, after time.Duration) {
			onTimeout = append(onTimeout, operation+" "+after.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Count(t.Context(), "things")
	if fault.CodeOf(err) != fault.Unavailable || !elastic.Passing(err) ||
		!strings.Contains(errors.Unwrap(err).Error(), "gave no answer within 50ms") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"count 50ms"}, onTimeout); diff != "" || seen.calls[0].Outcome != elastic.TimedOut {
		t.Error(diff, seen.calls)
	}
	err = elastic.Retry{For: limit / 2, First: time.Millisecond, Max: time.Millisecond}.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.Count(ctx, "things")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "did not recover") || len(onTimeout) != 2 {
		t.Errorf("%v after %v", err, onTimeout)
	}
}
