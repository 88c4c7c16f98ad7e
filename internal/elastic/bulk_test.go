package elastic_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
)

func TestMain(m *testing.M) { backends.Main(m) }

func client(t *testing.T, address string) *elastic.Client {
	t.Helper()
	c, err := elastic.New(elastic.Config{Addresses: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// index makes an index of its own that takes numbers only, and returns its name
// and its alias.
func index(t *testing.T, c *elastic.Client) (name, alias string) {
	t.Helper()
	name = "elastic-" + strings.ToLower(rand.Text())
	alias = name + "-alias"
	body := `{"settings":{"number_of_replicas":0},"mappings":{"dynamic":"strict","properties":{"n":{"type":"long"},"pad":{"type":"keyword","index":false,"doc_values":false}}},"aliases":{"` + alias + `":{}}}`
	if err := c.CreateIndex(t.Context(), name, []byte(body)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.DeleteIndices(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return name, alias
}

func batch(docs ...string) *elastic.Batch {
	b := &elastic.Batch{}
	for i, doc := range docs {
		b.Index(fmt.Sprint("id", i), []byte(doc))
	}
	return b
}

func numbers(n int) []string {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	return docs
}

func positions(refused []elastic.Refusal) []int {
	var all []int
	for _, r := range refused {
		all = append(all, r.Position)
	}
	slices.Sort(all)
	return all
}

func wantCount(t *testing.T, c *elastic.Client, index string, want int64) {
	t.Helper()
	if err := c.Refresh(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	got, err := c.Count(t.Context(), index)
	if err != nil || got != want {
		t.Errorf("%d documents, %v; want %d", got, err, want)
	}
}

var quick = elastic.Retry{For: 20 * time.Second, First: time.Millisecond, Max: 10 * time.Millisecond}

func TestBulkReportsEachOutcome(t *testing.T) {
	t.Parallel()
	c := client(t, backends.Elasticsearch(t))
	name, alias := index(t, c)
	b := batch(`{"n":1}`, `{"n":"x"}`, `{"n":2}`, `{"other":1}`, `{"n":`)
	refused, err := c.Bulk(t.Context(), alias, b, quick)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 3, 4}, positions(refused)); diff != "" {
		t.Error(diff)
	}
	for _, r := range refused {
		if r.Status != http.StatusBadRequest || r.Reason == "" || r.Type == "" {
			t.Errorf("%+v", r)
		}
	}
	if got := string(b.Doc(2)); got != `{"n":2}` {
		t.Errorf("Doc(2) is %s", got)
	}
	wantCount(t, c, name, 2)
}

// A missing alias is an error, and no index of its name is created.
func TestBulkToNothing(t *testing.T) {
	t.Parallel()
	c := client(t, backends.Elasticsearch(t))
	name := "elastic-gone-" + strings.ToLower(rand.Text())
	_, err := c.Bulk(t.Context(), name, batch(numbers(3)...), quick)
	if e, ok := errors.AsType[*elastic.Error](err); !ok || e.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	if found, err := c.Aliases(t.Context(), name+"*"); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
}

// flaky stands before Elasticsearch and breaks some of the traffic.
func flaky(t *testing.T, breaks func(w http.ResponseWriter, r *http.Request, body []byte) bool, answer func([]byte) []byte) string {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	if answer != nil {
		proxy.ModifyResponse = func(res *http.Response) error {
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			body = answer(body)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			res.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !breaks(w, r, body) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestBulkOutlivesPassingFailures(t *testing.T) {
	t.Parallel()
	direct := client(t, backends.Elasticsearch(t))
	name, alias := index(t, direct)
	var attempt atomic.Int64
	var failures atomic.Int64
	c := client(t, flaky(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		switch attempt.Add(1) {
		case 1:
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			panic(http.ErrAbortHandler) // the connection is lost
		case 3:
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			w.WriteHeader(http.StatusInternalServerError)
		default:
			return false
		}
		return true
	}, nil))
	retry := quick
	retry.Notify = func(error, time.Duration) { failures.Add(1) }
	refused, err := c.Bulk(t.Context(), alias, batch(numbers(50)...), retry)
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	// The client itself retries lost requests, so that failure may go unnoticed.
	if failures.Load() < 2 {
		t.Errorf("%d failures were noticed", failures.Load())
	}
	wantCount(t, direct, name, 50)
}

// Only the failed items are retried.
func TestBulkRetriesFailedItemsAlone(t *testing.T) {
	t.Parallel()
	direct := client(t, backends.Elasticsearch(t))
	name, alias := index(t, direct)
	var sizes []int // one request at a time
	c := client(t, flaky(t, func(_ http.ResponseWriter, _ *http.Request, body []byte) bool {
		sizes = append(sizes, bytes.Count(body, []byte("\n"))/2)
		return false
	}, func(answer []byte) []byte {
		if len(sizes) > 2 {
			return answer
		}
		var a struct {
			Items []map[string]map[string]any `json:"items"`
		}
		if err := json.Unmarshal(answer, &a); err != nil {
			t.Error(err)
		}
		for i := range a.Items {
			if i%5 == 0 {
				a.Items[i]["index"] = map[string]any{"status": 429, "error": map[string]any{
					"type": "es_rejected_execution_exception", "reason": "full",
				}}
			}
		}
		answer, err := json.Marshal(a)
		if err != nil {
			t.Error(err)
		}
		return answer
	}))
	docs := numbers(100)
	docs[1] = `{"n":"no number"}`
	refused, err := c.Bulk(t.Context(), alias, batch(docs...), quick)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1}, positions(refused)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{100, 20, 4}, sizes); diff != "" {
		t.Error(diff)
	}
	wantCount(t, direct, name, 99)
}

// A request that is too large is halved until it fits; one document that is too
// large alone is refused.
func TestBulkHalvesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	direct := client(t, backends.Elasticsearch(t))
	name, alias := index(t, direct)
	const most = 2_000
	c := client(t, flaky(t, func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		if len(body) <= most {
			return false
		}
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	}, nil))
	docs := numbers(300)
	docs[17] = `{"pad":"` + strings.Repeat("x", most) + `"}`
	refused, err := c.Bulk(t.Context(), alias, batch(docs...), quick)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{17}, positions(refused)); diff != "" {
		t.Error(diff)
	}
	wantCount(t, direct, name, 299)
}

func TestBulkGivesUp(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	c := client(t, closed.URL)
	retry := elastic.Retry{For: 30 * time.Millisecond, First: time.Millisecond, Max: 5 * time.Millisecond}
	_, err := c.Bulk(t.Context(), "any", batch(numbers(1)...), retry)
	if fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}

	// The cause of a context that ends is returned, and at once.
	why := errors.New("why it ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	retry = elastic.Retry{For: time.Hour, First: time.Hour, Notify: func(error, time.Duration) { cancel(why) }}
	if _, err := c.Bulk(ctx, "any", batch(numbers(1)...), retry); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	c := client(t, backends.Elasticsearch(t))
	name, alias := index(t, c)
	other, otherAlias := index(t, c)
	served := name + "-served"
	err := c.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: name, Alias: served}, {Index: other, Alias: otherAlias, Remove: true}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Aliases(t.Context(), name+"*")
	if diff := cmp.Diff(map[string][]string{name: {alias, served}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// One change that cannot be made, and none is.
	err = c.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: other, Alias: served}, {Index: other, Alias: otherAlias, Remove: true}})
	if e, ok := errors.AsType[*elastic.Error](err); !ok || e.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	if got, err := c.Aliases(t.Context(), other); err != nil || len(got[other]) > 0 {
		t.Errorf("%v %v", got, err)
	}
	if err := c.DeleteIndices(t.Context(), "elastic-not-there"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
}
