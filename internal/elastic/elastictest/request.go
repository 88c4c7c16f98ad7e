// Package elastictest sends tests' own requests to Elasticsearch, such as those that a
// proxy passes on. It is for tests and benchmarks only.
package elastictest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// Request is any call of the REST API. It implements esapi.Request.
type Request struct {
	Method string
	Path   string // absolute, escaped
	Query  url.Values
	Body   []byte // JSON, or NDJSON
}

// Do implements esapi.Request.
func (r Request) Do(ctx context.Context, transport esapi.Transport) (*esapi.Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	target := r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.Perform(request)
	if err != nil {
		return nil, err
	}
	return &esapi.Response{StatusCode: response.StatusCode, Body: response.Body, Header: response.Header}, nil
}
