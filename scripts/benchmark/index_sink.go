package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// newSink serves an Elasticsearch that stores no documents: it acknowledges and counts what a
// load sends, and forwards all other requests to a real one. With it, measuring a load of ten
// million records takes minutes.
func newSink(elasticsearch string) (*httptest.Server, error) {
	to, err := url.Parse(elasticsearch)
	if err != nil {
		return nil, err
	}
	s := &sink{pass: httputil.NewSingleHostReverseProxy(to), taken: map[string]int{}}
	return httptest.NewServer(s), nil
}

type sink struct {
	pass  http.Handler
	mu    sync.Mutex
	taken map[string]int // by index
}

// ServeHTTP implements http.Handler.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	index := strings.TrimSuffix(name, "-loading")
	switch call {
	case "_bulk":
		n, err := countLines(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.taken[index] += n / 2
		s.mu.Unlock()
		const item = `{"index":{"status":201}}`
		items := strings.TrimSuffix(strings.Repeat(item+",", n/2), ",")
		s.answer(w, `{"items":[`+items+`]}`)
	case "_count":
		s.mu.Lock()
		n := s.taken[index]
		s.mu.Unlock()
		s.answer(w, fmt.Sprintf(`{"count":%d,"_shards":{"total":1,"failed":0}}`, n))
	default:
		s.pass.ServeHTTP(w, r)
	}
}

func (s *sink) answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	// Elasticsearch clients refuse a server without this header.
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	_, _ = io.WriteString(w, body)
}

func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, 256<<10)
	for {
		read, err := r.Read(buf)
		n += bytes.Count(buf[:read], []byte("\n"))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
