package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/experiments/rig"
)

func TestRecordedRequestsAreSentAgainToTheByte(t *testing.T) {
	t.Parallel()
	type seen struct{ Method, Target, Body, Type string }
	var lock sync.Mutex
	var arrived []seen
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lock.Lock()
		arrived = append(arrived, seen{r.Method, r.URL.RequestURI(), string(body), r.Header.Get("Content-Type")})
		lock.Unlock()
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		_, _ = w.Write([]byte(`{"hits":1}`))
	}))
	defer backend.Close()
	to, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{to: to}
	address := rig.Tap(t, backend.URL, nil, rec.add)
	q, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, address+"/atlas-%C3%A9/_search?timeout=1s&filter_path=a,b%20c",
		strings.NewReader(`{"size":3}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || string(answer) != `{"hits":1}` || res.Header.Get("X-Elastic-Product") != "Elasticsearch" {
		t.Fatalf("passed on: %s %v %v", answer, res.Header, err)
	}
	exchanges := rec.take()
	if len(exchanges) != 1 || len(rec.take()) != 0 {
		t.Fatalf("recorded %d exchanges", len(exchanges))
	}
	c := load.NewClient(1)
	defer c.CloseIdleConnections()
	if _, err := c.Check(t.Context(), directly(exchanges[0], to), nil); err != nil {
		t.Fatal(err)
	}
	if len(arrived) != 2 {
		t.Fatalf("%d requests arrived", len(arrived))
	}
	if d := cmp.Diff(arrived[0], arrived[1]); d != "" {
		t.Error(d)
	}
	if want := (seen{"POST", "/atlas-%C3%A9/_search?timeout=1s&filter_path=a,b%20c", `{"size":3}`, "application/json"}); arrived[0] != want {
		t.Error(cmp.Diff(want, arrived[0]))
	}
}
