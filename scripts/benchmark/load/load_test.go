package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
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

// requests are n different ones, which expect their own bodies back.
func requests(t *testing.T, address string, n int) []*Request {
	t.Helper()
	u, err := url.Parse(address + "/x")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*Request, n)
	for i := range list {
		body := fmt.Appendf(nil, "body %d", i)
		list[i] = &Request{Method: http.MethodPost, URL: u, Header: http.Header{}, Body: body}
		list[i].Expect(body)
	}
	return list
}

func TestClosedSendsEachRequestAsOften(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	c := NewClient(4)
	defer c.CloseIdleConnections()
	result, err := c.Closed(t.Context(), requests(t, e.URL, 5), 4, 15)
	if err != nil || result.Took <= 0 || result.TotalCount() != 15 || result.PerSecond() <= 0 || result.Min() <= 0 {
		t.Fatal(result, err)
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
	c := NewClient(4)
	defer c.CloseIdleConnections()
	for name, loop := range map[string]func([]*Request) error{
		"closed": func(l []*Request) error { _, err := c.Closed(t.Context(), l, 2, 1_000_000); return err },
		"open":   func(l []*Request) error { _, err := c.Open(t.Context(), l, 1_000, 1_000_000); return err },
	} {
		list := requests(t, e.URL, 3)
		list[2].Expect([]byte("body 7"))
		if err := loop(list); err == nil || !strings.Contains(err.Error(), "otherwise than before") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenCountsFromWhenDue(t *testing.T) {
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
	c := NewClient(MaxInFlight)
	defer c.CloseIdleConnections()
	const rate, total = 1_000, 600 // more come due meanwhile than may be under way
	latencies, err := c.Open(t.Context(), requests(t, s.URL, 7), rate, total)
	if err != nil {
		t.Fatal(err)
	}
	// The request due after i milliseconds waits for the rest, started or not.
	for i := 0; i < 250; i += 10 {
		least := away - time.Duration(i)*time.Millisecond - 20*time.Millisecond
		longer := 0.0
		for _, bar := range latencies.Distribution() {
			if bar.From >= least.Nanoseconds()*999/1000 {
				longer += float64(bar.Count)
			}
		}
		if int(longer) <= i {
			t.Fatalf("%.0f requests took %v, and %d were held up for so long", longer, least, i+1)
		}
	}
	if latencies.TotalCount() != total {
		t.Errorf("%d latencies", latencies.TotalCount())
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	c := NewClient(4)
	defer c.CloseIdleConnections()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	// All but the first are due long after the test.
	if _, err := c.Open(ctx, requests(t, e.URL, 1), 0.001, 10); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestClosedEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var done atomic.Int32
	_, err := Closed(t.Context(), 4, 1_000_000, func() func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			if done.Add(1) >= 10 {
				return broken
			}
			return nil
		}
	})
	if n := done.Load(); !errors.Is(err, broken) || n > 14 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	l := NewLatencies()
	for i := range 100 {
		l.Record(time.Duration(100-i) * time.Millisecond)
	}
	for p, want := range map[float64]float64{50: 50, 99: 99, 100: 100} {
		if got := l.Percentile(p); got < want || got > want*1.001 {
			t.Errorf("percentile %v is %v, want %v ms", p, got, want)
		}
	}
}

func TestTurnsRunsAllAsOften(t *testing.T) {
	t.Parallel()
	var order []int
	things := make([]func(int) (time.Duration, error), 3)
	for i := range things {
		things[i] = func(turn int) (time.Duration, error) {
			if turn != len(order)/3 {
				t.Errorf("%d in turn %d gets turn %d", i, len(order)/3, turn)
			}
			order = append(order, i)
			return time.Duration(i+1) * time.Millisecond, nil
		}
	}
	took, err := Turns(0, things...)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range took {
		if ms := l.Percentile(50); l.TotalCount() != FewestTurns || ms < float64(i+1) || ms > float64(i+1)*1.001 {
			t.Errorf("%d: %d times, %v ms", i, l.TotalCount(), ms)
		}
	}
	for n, i := range order {
		if i != n%3 {
			t.Errorf("%d was %d", n, i)
		}
	}
	broken := errors.New("broken")
	turns := 0
	_, err = Turns(time.Hour, func(turn int) (time.Duration, error) {
		if turns++; turn == 2 {
			return 0, broken
		}
		return 0, nil
	})
	if !errors.Is(err, broken) || turns != 3 {
		t.Errorf("%v after %d turns", err, turns)
	}
}

func TestAlarmIsNotEarlyAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, a.close)
	for _, in := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		due := time.Now().Add(in)
		if err := a.wait(ctx, due); err != nil {
			t.Fatal(err)
		}
		if early := time.Until(due); early > 0 {
			t.Errorf("%v too early for %v", early, in)
		}
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := a.wait(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v", err)
	}
}

// Answers that differ only in the times that Elasticsearch took are the same.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	one, sum := Fingerprint([]byte(`{"took":3,"responses":[{"took":12,"id":1}]}`))
	if size, other := Fingerprint([]byte(`{"took":345,"responses":[{"took":0,"id":1}]}`)); size != one || other != sum {
		t.Errorf("%d %x, want %d %x", size, other, one, sum)
	}
	if size, other := Fingerprint([]byte(`{"took":3,"responses":[{"took":12,"id":2}]}`)); size != one || other == sum {
		t.Errorf("another id: %d %x, want %d and another sum than %x", size, other, one, sum)
	}
}
