// Package load sends prepared requests over HTTP, in closed and open loops, and
// measures how long their answers take. Every answer is compared with the first
// one to the same request.
package load

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Request is sent repeatedly. The data does not change, so each answer must equal
// the first one byte for byte, except for the times that Elasticsearch took.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header // shared, never written to
	Body   []byte
	// Size of the expected answer in bytes, without the times in it.
	Size int
	sum  uint32
}

// castagnoli is the checksum that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Expect sets the expected answer.
func (r *Request) Expect(answer []byte) { r.Size, r.sum = Fingerprint(answer) }

// took begins the times in answers of Elasticsearch, which differ each time.
var took = []byte(`"took":`)

// Fingerprint returns the size and the checksum of an answer without such times.
func Fingerprint(answer []byte) (size int, sum uint32) {
	for {
		part, rest, more := bytes.Cut(answer, took)
		size, sum = size+len(part), crc32.Update(sum, castagnoli, part)
		if !more {
			return size, sum
		}
		answer = bytes.TrimLeft(rest, "0123456789")
	}
}

// Client sends requests over connections that stay open. Each side of a
// comparison has its own.
type Client struct{ *http.Transport }

// NewClient returns a client with at most this many connections.
func NewClient(connections int) Client {
	return Client{&http.Transport{
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections,
		DisableCompression:    true,
		ResponseHeaderTimeout: time.Minute,
	}}
}

// Do sends a request and reads the whole answer into buf, which it returns. A
// status other than 200 is an error.
func (c Client) Do(ctx context.Context, r *Request, buf []byte) ([]byte, error) {
	buf, _, err := c.do(ctx, r, buf)
	return buf, err
}

// do is Do, and returns the header of the answer.
func (c Client) do(ctx context.Context, r *Request, buf []byte) ([]byte, http.Header, error) {
	res, err := c.RoundTrip((&http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: r.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)),
	}).WithContext(ctx))
	if err != nil {
		return buf, nil, err
	}
	defer res.Body.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d to %.200s: %.500s", r.URL, res.StatusCode, r.Body, b.Bytes())
	}
	return b.Bytes(), res.Header, err
}

// Check sends a request and returns an error unless the answer is the expected one.
func (c Client) Check(ctx context.Context, r *Request, buf []byte) ([]byte, error) {
	buf, _, err := c.check(ctx, r, buf)
	return buf, err
}

// check is Check, and returns the header of the answer.
func (c Client) check(ctx context.Context, r *Request, buf []byte) ([]byte, http.Header, error) {
	buf, header, err := c.do(ctx, r, buf)
	if size, sum := Fingerprint(buf); err == nil && (size != r.Size || sum != r.sum) {
		err = fmt.Errorf("%s answered %s otherwise than before, %d bytes instead of %d: %.300s", r.URL, r.Body, size, r.Size, buf)
	}
	return buf, header, err
}

// Timed returns a function for Turns, which sends one of the requests each turn,
// in their order, and checks the answer.
func (c Client) Timed(ctx context.Context, requests ...*Request) func(turn int) (time.Duration, error) {
	var buf []byte
	return func(turn int) (took time.Duration, err error) {
		began := time.Now()
		buf, err = c.Check(ctx, requests[turn%len(requests)], buf)
		return time.Since(began), err
	}
}

// Latencies is a histogram of durations with three significant digits.
type Latencies struct{ *hdrhistogram.Histogram }

// NewLatencies returns an empty histogram of durations up to an hour.
func NewLatencies() Latencies {
	return Latencies{hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)}
}

// Record adds a duration.
func (l Latencies) Record(d time.Duration) {
	_ = l.RecordValue(min(d, time.Hour).Nanoseconds()) // in the bounds
}

// Percentile in milliseconds, p from 0 to 100.
func (l Latencies) Percentile(p float64) float64 { return float64(l.ValueAtQuantile(p)) / 1e6 }

// Result of a closed loop.
type Result struct {
	Latencies
	Took time.Duration
}

// PerSecond is the rate.
func (r Result) PerSecond() float64 { return float64(r.TotalCount()) / r.Took.Seconds() }

// Closed runs work total times in n goroutines, each run as soon as the previous
// one has ended. A worker is made for each goroutine, so it may keep a buffer. The
// first error ends the loop.
func Closed(ctx context.Context, n, total int, worker func() func(ctx context.Context, i int) error) (Result, error) {
	began := time.Now()
	latencies, err := workers(ctx, n, total, func(ctx context.Context) func(i int) (time.Duration, error) {
		work := worker()
		return func(i int) (time.Duration, error) {
			start := time.Now()
			err := work(ctx, i)
			return time.Since(start), err
		}
	})
	return Result{latencies, time.Since(began)}, err
}

// Closed sends total requests over n connections, starting over after the last
// request, each one as soon as the previous one is answered. The first wrong answer
// ends the loop.
func (c Client) Closed(ctx context.Context, requests []*Request, n, total int) (Result, error) {
	return Closed(ctx, n, total, func() func(context.Context, int) error {
		var buf []byte
		return func(ctx context.Context, i int) (err error) {
			buf, err = c.Check(ctx, requests[i%len(requests)], buf)
			return err
		}
	})
}

// MaxInFlight bounds the concurrent requests of an open loop. Above it requests
// start late, which their latencies include.
const MaxInFlight = 128

// Open sends total requests at a fixed rate per second, whether or not earlier
// ones were answered. A latency counts from the moment the request was due, so a
// pause of the server counts in full (no coordinated omission). The first wrong
// answer ends the loop, and so does falling behind without end.
func (c Client) Open(ctx context.Context, requests []*Request, rate float64, total int) (Latencies, error) {
	return c.open(ctx, requests, rate, total, func(int, Timing) {})
}

// Timing is one request of an open loop.
type Timing struct {
	Request          int // its index among the different requests
	Due, Sent, Ended time.Time
	ID               string // the answer's X-Request-Id
	Connected        bool   // on a new connection
}

// OpenTimed is Open, and returns the times of every request.
func (c Client) OpenTimed(ctx context.Context, requests []*Request, rate float64, total int) ([]Timing, error) {
	timings := make([]Timing, total)
	_, err := c.open(ctx, requests, rate, total, func(i int, t Timing) { timings[i] = t })
	return timings, err
}

func (c Client) open(ctx context.Context, requests []*Request, rate float64, total int, timed func(int, Timing)) (Latencies, error) {
	planned := time.Duration(float64(total) / rate * float64(time.Second))
	ctx, cancel := context.WithTimeoutCause(ctx, 3*planned+10*time.Second, fmt.Errorf("%.0f requests/s are more than can be served", rate))
	defer cancel()
	began := time.Now().Add(10 * time.Millisecond)
	return workers(ctx, min(MaxInFlight, total), total, func(ctx context.Context) func(i int) (time.Duration, error) {
		// Each worker waits for its own request: none is handed over.
		alarm, err := newAlarm()
		if err != nil {
			return func(int) (time.Duration, error) { return 0, err }
		}
		context.AfterFunc(ctx, alarm.close)
		var buf []byte
		return func(i int) (time.Duration, error) {
			due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			if err := alarm.wait(ctx, due); err != nil {
				return time.Since(due), err
			}
			t := Timing{Request: i % len(requests), Due: due, Sent: time.Now()}
			traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { t.Connected = !got.Reused }})
			var header http.Header
			var err error
			buf, header, err = c.check(traced, requests[t.Request], buf)
			t.Ended, t.ID = time.Now(), header.Get("X-Request-Id")
			timed(i, t)
			return t.Ended.Sub(due), err
		}
	})
}

// workers calls a function for each number below total from n goroutines, and
// collects the durations that it returns.
func workers(ctx context.Context, n, total int, worker func(ctx context.Context) func(i int) (time.Duration, error)) (Latencies, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		all  = NewLatencies()
		lock sync.Mutex
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range n {
		work := worker(ctx)
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				took, err := work(i)
				if err != nil {
					cancel(err)
				}
				lock.Lock()
				all.Record(took)
				lock.Unlock()
			}
		})
	}
	wg.Wait()
	return all, context.Cause(ctx)
}

// How often Turns runs what it compares.
const (
	FewestTurns = 20
	mostTurns   = 1_000
)

// Turns runs several functions in rotation for about this long, and returns the
// durations that each reports.
func Turns(about time.Duration, things ...func(turn int) (time.Duration, error)) ([]Latencies, error) {
	took := make([]Latencies, len(things))
	for i := range took {
		took[i] = NewLatencies()
	}
	turn := 0
	for end := time.Now().Add(about); turn < FewestTurns || turn < mostTurns && time.Now().Before(end); turn++ {
		for i, thing := range things {
			d, err := thing(turn)
			if err != nil {
				return nil, err
			}
			took[i].Record(d)
		}
	}
	return took, nil
}
