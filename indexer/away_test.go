package indexer_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/search/searchtest"
)

// cable carries bytes between a client and Elasticsearch until it is cut.
type cable struct {
	to       string
	listener net.Listener
	carried  atomic.Int64

	mu    sync.Mutex
	cut   bool
	ends  map[net.Conn]bool
	after int64 // bytes, after which it cuts itself; 0: never
}

func newCable(t *testing.T, after int64) *cable {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{to: to.Host, listener: listener, ends: map[net.Conn]bool{}, after: after}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			carrying.Go(func() { c.carry(near) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.set(true)
		carrying.Wait()
	})
	return c
}

func (c *cable) address() string { return "http://" + c.listener.Addr().String() }

// hold keeps a connection for set; false when the cable is cut.
func (c *cable) hold(end net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = end.Close()
		return false
	}
	c.ends[end] = true
	return true
}

// set cuts the cable, with all connections, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for end := range c.ends {
		if cut {
			_ = end.Close()
			delete(c.ends, end)
		}
	}
}

func (c *cable) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (c *cable) carry(near net.Conn) {
	if !c.hold(near) {
		return
	}
	far, err := net.Dial("tcp", c.to)
	if err != nil || !c.hold(far) {
		_ = near.Close()
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	buf := make([]byte, 32<<10)
	for {
		n, err := near.Read(buf)
		if c.after > 0 && c.carried.Add(int64(n)) > c.after {
			c.after = 0
			c.set(true)
		}
		if _, writeErr := far.Write(buf[:n]); err != nil || writeErr != nil {
			break
		}
	}
	_ = far.Close()
	back.Wait()
}

// While Elasticsearch is unavailable, memory does not grow. Afterwards the load continues and
// completes.
func TestElasticsearchAway(t *testing.T) {
	w := newWorld(t)
	const records = 2_500
	dir := generated(t, records, 9)
	c := newCable(t, 1<<20)
	o := w.options(dir)
	o.Elastic = searchtest.NewClient(t, c.address())
	o.SortMemory, o.BatchBytes, o.Workers = 1<<20, 64<<10, 2
	var failures atomic.Int64
	var held, heldMost uint64
	o.Retry = elastic.Retry{For: time.Minute, First: time.Millisecond, Max: 20 * time.Millisecond, Notify: func(error, time.Duration) {
		failures.Add(1)
	}}
	// The cable is mended when both senders have failed often.
	o.Progress = func(p indexer.Progress) {
		if !c.isCut() {
			return
		}
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		if held == 0 {
			held = now.HeapAlloc
		}
		heldMost = max(heldMost, now.HeapAlloc)
		if failures.Load() >= 60 {
			c.set(false)
		}
	}
	report := w.load(t, o)
	if report.Documents() != records || failures.Load() < 60 {
		t.Errorf("%d documents after %d failures", report.Documents(), failures.Load())
	}
	if held == 0 || heldMost > held+8<<20 {
		t.Errorf("the load held %d MiB when Elasticsearch went, and up to %d until it was back", held>>20, heldMost>>20)
	}
}

// A load tolerates an Elasticsearch that is briefly unavailable at any request, even if the
// request was executed.
func TestEveryCallIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, w.options(folder(t, simple(3))))
	o := w.options(folder(t, simple(4)))
	o.Now = func() time.Time { return loadedAt.Add(time.Second) }
	asked := map[string]int{}
	var lock sync.Mutex
	o.Elastic = through(t, func(rw http.ResponseWriter, r *http.Request, body []byte) bool {
		lock.Lock()
		defer lock.Unlock()
		key := r.Method + r.URL.Path
		asked[key]++
		// The client retries three times before it reports a failure.
		if asked[key]%5 == 0 {
			return false
		}
		if asked[key] == 1 && (r.Method == http.MethodPut || r.URL.Path == "/_aliases") {
			if _, err := w.elastic.Do(r.Context(), elastictest.Request{Method: r.Method, Path: r.URL.Path, Body: body}); err != nil {
				t.Error(err)
			}
		}
		rw.Header().Set("X-Elastic-Product", "Elasticsearch")
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	}, nil)
	report := w.load(t, o)
	if _, served := w.generations(t); served != report.Generation || served == first.Generation {
		t.Errorf("%s is served", served)
	}
}
