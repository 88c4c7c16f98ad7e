package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// exchange is a request that the service made of Elasticsearch, and its answer.
type exchange struct {
	method string
	target string // path and parameters, as on the wire
	header http.Header
	body   []byte
	status int
	answer []byte
}

// recorder stands between the service and Elasticsearch while requests are
// prepared, never while they are measured: so the requests that are later sent
// straight to Elasticsearch are the service's own, to the byte, whatever it
// makes of a client's.
type recorder struct {
	url    string
	to     *url.URL
	server *http.Server

	lock sync.Mutex
	seen []exchange
}

// newRecorder passes on to this address.
func newRecorder(ctx context.Context, to string) (*recorder, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{url: "http://" + l.Addr().String(), to: target}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 8,
			DisableCompression:  true, // the client asked for none
		},
		ModifyResponse: r.answered,
	}
	r.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		asked := exchange{method: q.Method, target: q.URL.RequestURI(), header: q.Header.Clone(), body: body}
		proxy.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), askedKey{}, asked)))
	})}
	go func() { _ = r.server.Serve(l) }() // until close
	return r, nil
}

type askedKey struct{}

// answered keeps the exchange. The answer is buffered for it.
func (r *recorder) answered(res *http.Response) error {
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(answer))
	e := res.Request.Context().Value(askedKey{}).(exchange)
	if !strings.Contains(e.target, "/_search") && !strings.Contains(e.target, "/_msearch") {
		return nil // the service's own upkeep, of held records
	}
	e.status, e.answer = res.StatusCode, answer
	r.lock.Lock()
	defer r.lock.Unlock()
	r.seen = append(r.seen, e)
	return nil
}

// take returns what came since the last take.
func (r *recorder) take() []exchange {
	r.lock.Lock()
	defer r.lock.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// only is the one request that came since the last take, to be sent straight to
// Elasticsearch, and the answer it got.
func (r *recorder) only() (*call, []byte, error) {
	seen := r.take()
	if len(seen) != 1 || seen[0].status != http.StatusOK {
		return nil, nil, fmt.Errorf("%d requests of Elasticsearch, expected one that succeeds", len(seen))
	}
	direct, err := seen[0].call(r.to)
	return direct, seen[0].answer, err
}

func (r *recorder) close() { _ = r.server.Close() }

// call is the same request, sent to another address.
func (e exchange) call(to *url.URL) (*call, error) {
	target, err := url.Parse(e.target)
	if err != nil {
		return nil, err
	}
	c := &call{method: e.method, url: to.ResolveReference(target), header: e.header, body: e.body}
	// Set by the client of each request itself.
	for _, name := range []string{"Content-Length", "Connection", "Accept-Encoding"} {
		c.header.Del(name)
	}
	c.expect(e.answer)
	return c, nil
}
