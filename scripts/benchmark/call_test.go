package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// echo answers each request with its own body and counts them.
type echo struct {
	*httptest.Server
	lock  sync.Mutex
	count map[string]int
	now   int // under way
	most  int // at once
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{count: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.lock.Lock()
		e.count[string(body)]++
		e.now++
		e.most = max(e.most, e.now)
		e.lock.Unlock()
		_, _ = w.Write(body)
		e.lock.Lock()
		e.now--
		e.lock.Unlock()
	}))
	t.Cleanup(e.Close)
	return e
}

// calls are n different ones, which expect their own bodies back.
func calls(t *testing.T, address string, n int) []*call {
	t.Helper()
	u, err := url.Parse(address + "/x")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*call, n)
	for i := range list {
		body := fmt.Appendf(nil, "body %d", i)
		list[i] = &call{method: http.MethodPost, url: u, header: http.Header{}, body: body}
		list[i].expect(body)
	}
	return list
}

func TestClosedLoopSendsEachCallAsOften(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	c := newClient(4)
	defer c.close()
	took, err := c.closedLoop(t.Context(), calls(t, e.URL, 5), 4, 15)
	if err != nil || took.took <= 0 || len(took.each) != 15 || took.perSecond() <= 0 || slices.Min(took.each) <= 0 {
		t.Fatal(took, err)
	}
	want := map[string]int{"body 0": 3, "body 1": 3, "body 2": 3, "body 3": 3, "body 4": 3}
	if d := cmp.Diff(want, e.count); d != "" {
		t.Error(d)
	}
	if e.most > 4 {
		t.Errorf("%d requests at once over 4 connections", e.most)
	}
}

func TestAnotherAnswerEndsTheLoop(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	c := newClient(4)
	defer c.close()
	for name, loop := range map[string]func([]*call) error{
		"closed": func(l []*call) error { _, err := c.closedLoop(t.Context(), l, 2, 1_000_000); return err },
		"open":   func(l []*call) error { _, err := c.openLoop(t.Context(), l, 1_000, 1_000_000); return err },
	} {
		list := calls(t, e.URL, 3)
		list[2].expect([]byte("body 7"))
		if err := loop(list); err == nil || !strings.Contains(err.Error(), "otherwise than before") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenLoopCountsFromWhenDue(t *testing.T) {
	t.Parallel()
	// The server is away from the first request on for a while, then quick.
	const away = 300 * time.Millisecond
	var once sync.Once
	back := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		once.Do(func() { time.AfterFunc(away, func() { close(back) }) })
		<-back
		_, _ = w.Write(body)
	}))
	defer s.Close()
	c := newClient(maxInFlight)
	defer c.close()
	const rate, total = 1_000, 600 // more come due meanwhile than may be under way
	latencies, err := c.openLoop(t.Context(), calls(t, s.URL, 7), rate, total)
	if err != nil {
		t.Fatal(err)
	}
	if len(latencies) != total {
		t.Fatalf("%d latencies", len(latencies))
	}
	// The one due after so many milliseconds waited for the rest, started or not.
	for i, l := range latencies[:250] {
		if least := away - time.Duration(i)*time.Millisecond - 20*time.Millisecond; l < least {
			t.Fatalf("request %d took %v, and was held up for at least %v", i, l, least)
		}
	}
}

func TestOpenLoopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	c := newClient(4)
	defer c.close()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	// All but the first are due long after the test.
	if _, err := c.openLoop(ctx, calls(t, e.URL, 1), 0.001, 10); !errors.Is(err, stop) {
		t.Error(err)
	}
}

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
	rec, err := newRecorder(t.Context(), backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, rec.url+"/atlas-%C3%A9/_search?timeout=1s&filter_path=a,b%20c", strings.NewReader(`{"size":3}`))
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
	to, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := exchanges[0].call(to)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(1)
	defer c.close()
	if _, err := c.check(t.Context(), direct, nil); err != nil {
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
