// Package elastic talks to Elasticsearch: one client, bytes in, bytes out,
// errors in classes. It knows nothing of what the indices mean.
package elastic

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// Config says how to reach a cluster.
type Config struct {
	// Addresses of the nodes, at least one: http(s)://host:port.
	Addresses []string
	// Username and Password, or APIKey (base64 as Elasticsearch issues it);
	// all empty where security is off.
	Username, Password, APIKey string
	// CACert is a PEM bundle that signs the nodes' certificates; empty: the
	// system's.
	CACert []byte
	// InsecureTLS accepts any certificate; for trials only.
	InsecureTLS bool
	// MaxConnections per node, default 64.
	MaxConnections int
	// DialTimeout bounds connecting to a node, default 2 s.
	DialTimeout time.Duration
}

// Client is a connection pool to one cluster. It is safe for concurrent use.
type Client struct {
	es *elasticsearch.BaseClient
}

// New returns a client. It does not connect.
func New(c Config) (*Client, error) {
	if c.MaxConnections == 0 {
		c.MaxConnections = 64
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 2 * time.Second
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: c.DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConnsPerHost: c.MaxConnections,
		MaxConnsPerHost:     c.MaxConnections,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second,
		// Elasticsearch is near; unpacking would cost more than it saves.
		DisableCompression: true,
	}
	if c.InsecureTLS {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // asked for, documented as for trials
	}
	es, err := elasticsearch.NewBaseClient(elasticsearch.Config{
		Addresses: c.Addresses, Username: c.Username, Password: c.Password, APIKey: c.APIKey, CACert: c.CACert,
		Transport: transport,
		// Another node is tried when one does not answer; a busy node's answer
		// is the caller's to judge.
		MaxRetries:    2,
		RetryOnStatus: []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	return &Client{es}, nil
}

// Response is the answer of a request that Elasticsearch accepted (status 2xx,
// or 404 where Request.Missing allows it).
type Response struct {
	Status int
	Body   []byte
}

// Request is one call of the REST API.
type Request struct {
	Method string
	Path   string // absolute, escaped
	Query  url.Values
	Body   []byte
	// NDJSON: the body is newline-delimited (`_bulk`, `_msearch`).
	NDJSON bool
	// Missing: 404 is an answer, not an error.
	Missing bool
}

// Do sends a request. An error is an *Error when Elasticsearch answered, a
// fault.Unavailable when it did not in time; FaultOf turns the first into the
// second where the caller cannot do better.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	target := r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return Response{}, fmt.Errorf("elasticsearch: %w", err)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.NDJSON {
			req.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	res, err := c.es.Perform(req)
	if err != nil {
		return Response{}, fault.Away(err, "elasticsearch")
	}
	defer res.Body.Close()
	data, err := read(res)
	if err != nil {
		return Response{}, fault.Away(err, "elasticsearch")
	}
	if res.StatusCode >= 300 && (res.StatusCode != http.StatusNotFound || !r.Missing) {
		return Response{}, newError(res.StatusCode, data)
	}
	return Response{res.StatusCode, data}, nil
}

// read takes the whole body. Searches answer in chunks, without a length, and a
// page is some tens of KiB: the buffer begins at that, so that it seldom grows.
func read(res *http.Response) ([]byte, error) {
	size := int64(32 << 10)
	if res.ContentLength >= 0 {
		size = res.ContentLength + bytes.MinRead // room to see the end in
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	_, err := b.ReadFrom(res.Body)
	return b.Bytes(), err
}

// Class says what can be done about an error.
type Class uint8

// The classes.
const (
	Rejected Class = iota // 4xx: the request itself is wrong
	Busy                  // 429: later, and less of it
	Broken                // 5xx: later
)

// Error is an error that Elasticsearch answered with.
type Error struct {
	Status int
	Type   string // error.type, e.g. index_not_found_exception
	Reason string
}

func newError(status int, body []byte) *Error {
	e := &Error{Status: status}
	var answer struct {
		Error jsontext.Value `json:"error"`
	}
	var detail struct {
		Type      string `json:"type"`
		Reason    string `json:"reason"`
		RootCause []struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"root_cause"`
	}
	if json.Unmarshal(body, &answer) == nil && json.Unmarshal(answer.Error, &detail) == nil {
		e.Type, e.Reason = detail.Type, detail.Reason
		if len(detail.RootCause) > 0 {
			e.Reason += " (" + detail.RootCause[0].Type + ": " + detail.RootCause[0].Reason + ")"
		}
	} else {
		e.Reason = string(body[:min(len(body), 500)])
	}
	return e
}

func (e *Error) Error() string {
	return "elasticsearch answered " + strconv.Itoa(e.Status) + " " + e.Type + ": " + e.Reason
}

// Class returns what can be done about it.
func (e *Error) Class() Class {
	switch {
	case e.Status == http.StatusTooManyRequests:
		return Busy
	case e.Status >= 500:
		return Broken
	default:
		return Rejected
	}
}

// FaultOf is the error for a caller's caller: what is passing is Unavailable,
// also a missing index, which means that nothing was loaded yet; what is left
// is a mistake of ours.
func FaultOf(err error) error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Class() != Rejected || e.Type == "index_not_found_exception":
		return fault.Away(err, "elasticsearch")
	default:
		return fault.Wrap(err, fault.Internal, "the search could not be run")
	}
}
