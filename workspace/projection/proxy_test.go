package projection_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
)

// proxy forwards requests to Elasticsearch. It can be unavailable, and it can hold
// writes back and send them after their senders have given up.
type proxy struct {
	client *elastic.Client
	to     *url.URL

	lock sync.Mutex
	away bool
	// holdBack selects requests to store in heldBack; their senders lose the connection.
	holdBack func(r *http.Request) bool
	heldBack []recordedRequest
	// refused is a record whose documents are replaced by invalid ones.
	refused string
}

type recordedRequest struct {
	method, url string
	body        []byte
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	fatal(t, err)
	p := &proxy{to: to}
	forward := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if p.refused != "" && isBulk(r) {
			body = refusing(body, p.refused)
			r.ContentLength = int64(len(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.lock.Lock()
		lost := p.away
		if p.holdBack != nil && p.holdBack(r) {
			p.heldBack = append(p.heldBack, recordedRequest{r.Method, r.URL.RequestURI(), body})
			lost = true
		}
		p.lock.Unlock()
		if lost {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.client, err = elastic.New(elastic.Config{Addresses: []string{server.URL}})
	fatal(t, err)
	return p
}

func (p *proxy) set(away bool, holdBack func(r *http.Request) bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.away, p.holdBack = away, holdBack
}

func (p *proxy) recordedCount() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return len(p.heldBack)
}

// release sends the held back requests.
func (p *proxy) release(t *testing.T) []string {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	var answers []string
	for _, k := range p.heldBack {
		r, err := http.NewRequestWithContext(t.Context(), k.method, p.to.String()+k.url, bytes.NewReader(k.body))
		fatal(t, err)
		r.Header.Set("Content-Type", "application/x-ndjson")
		res, err := http.DefaultClient.Do(r)
		fatal(t, err)
		answer, err := io.ReadAll(res.Body)
		fatal(t, err)
		_ = res.Body.Close()
		answers = append(answers, string(answer))
	}
	p.heldBack = nil
	return answers
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }
