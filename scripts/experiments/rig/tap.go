package rig

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
)

// Exchange is a request from Atlas to Elasticsearch, and its answer.
type Exchange struct {
	Method string
	Target string // path and parameters, as on the wire
	Header http.Header
	Body   []byte
	Status int
	Answer []byte
}

// Tap starts a proxy in front of Elasticsearch and returns its address. change,
// unless nil, may change a request and returns its body. seen, unless nil, gets
// every exchange before the proxy forwards the answer. Both may run in any
// goroutine.
func Tap(t TB, elasticsearch string, change func(r *http.Request, body []byte) []byte, seen func(Exchange)) string {
	t.Helper()
	to, err := url.Parse(elasticsearch)
	Check(t, err)
	type requestKey struct{}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(to) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}, // the client asked for none
		ErrorLog:  log.New(io.Discard, "", 0),                                        // the client gets the error
		ModifyResponse: func(res *http.Response) error {
			if seen == nil {
				return nil
			}
			answer, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			_ = res.Body.Close()
			res.Body = io.NopCloser(bytes.NewReader(answer))
			e := res.Request.Context().Value(requestKey{}).(Exchange)
			e.Status, e.Answer = res.StatusCode, answer
			seen(e)
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if change != nil {
			body = change(r, body)
			r.ContentLength = int64(len(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		e := Exchange{Method: r.Method, Target: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, e)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Searches reports whether the request is one search or several.
func (e Exchange) Searches() bool {
	path, _, _ := strings.Cut(e.Target, "?")
	return strings.HasSuffix(path, "/_search") || strings.HasSuffix(path, "/_msearch")
}
