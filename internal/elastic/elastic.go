// Package elastic talks to Elasticsearch: one client, bytes in, bytes out,
// errors in classes. It knows nothing of what the indices mean.
package elastic

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// Config says how to reach a cluster.
type Config struct {
	// Addresses of the nodes, at least one: http(s)://host:port. Each is asked in
	// turn; one that does not answer is left out for a while.
	Addresses []string
	// Username and Password, or APIKey (base64 as Elasticsearch issues it);
	// all empty where security is off.
	Username, Password, APIKey string
	// CACert is a PEM bundle of what signs the nodes' certificates, in the place
	// of the system's authorities; empty: those.
	CACert []byte
	// InsecureTLS accepts any certificate; for trials only.
	InsecureTLS bool
	// MaxConnections per node, default 64.
	MaxConnections int
	// DialTimeout bounds connecting to a node, default 2 s.
	DialTimeout time.Duration
	// CallTimeout bounds a call, with all that is tried for it, where its context
	// does not end earlier; default 90 s, Request.Timeout goes before it. A node that takes connections and
	// never answers would be waited for without end.
	CallTimeout time.Duration
	// GivenUp, when set, is told of every call that was ended by that bound.
	GivenUp func(ctx context.Context, operation string, after time.Duration)
	// MaxCalls is how many calls may be under way at once; one more is refused
	// with fault.Unavailable. 0: any number.
	MaxCalls int
	// Observe, when set, is told of every call, with its context.
	Observe func(context.Context, Call)
	// Spans, when set, makes a span of every call that is sent.
	Spans elastictransport.Instrumentation
	// Transport, when set, takes the requests in the place of connections to the
	// nodes, and Jitter chooses the pauses of Bulk, up to a length, in the place
	// of chance: for simulation.
	Transport http.RoundTripper
	Jitter    func(most time.Duration) time.Duration
}

// Client is a connection pool to one cluster. It is safe for concurrent use.
type Client struct {
	es          *elasticsearch.BaseClient
	bound       bound
	connections int // the most, to all nodes
	timeout     time.Duration
	observe     func(context.Context, Call)
	givenUp     func(context.Context, string, time.Duration)
	spans       elastictransport.Instrumentation
	jitter      func(time.Duration) time.Duration
}

// New returns a client. It does not connect.
func New(c Config) (_ *Client, err error) {
	if c.MaxConnections == 0 {
		c.MaxConnections = max(64, c.MaxCalls) // a place without a connection would queue
	}
	if c.Observe == nil {
		c.Observe = func(context.Context, Call) {}
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 90 * time.Second // more than any search is given
	}
	if c.GivenUp == nil {
		c.GivenUp = func(context.Context, string, time.Duration) {}
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
	if err := checkAddresses(c.Addresses); err != nil {
		return nil, err
	}
	if transport.TLSClientConfig, err = c.tls(); err != nil {
		return nil, err
	}
	nodes := &nodes{transport: transport}
	if c.Transport != nil {
		nodes.transport = c.Transport
	}
	es, err := elasticsearch.NewBaseClient(elasticsearch.Config{
		Addresses: c.Addresses, Username: c.Username, Password: c.Password, APIKey: c.APIKey,
		Transport: nodes, ConnectionPoolFunc: nodes.use, Instrumentation: c.Spans,
		// Another node is tried when one does not answer; a busy node's answer
		// is the caller's to judge.
		MaxRetries:    2,
		RetryOnError:  again,
		RetryOnStatus: []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	return &Client{
		es: es, bound: bound{limit: int64(c.MaxCalls)}, connections: c.MaxConnections * len(c.Addresses),
		timeout: c.CallTimeout, observe: c.Observe, givenUp: c.GivenUp, spans: c.Spans, jitter: c.Jitter,
	}, nil
}

// tls trusts what the configuration says, and nothing else where it says
// something.
func (c Config) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CACert) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(c.CACert) {
			return nil, errors.New("elasticsearch: the file of the authority holds no PEM certificate")
		}
	}
	config.InsecureSkipVerify = c.InsecureTLS // documented as for trials
	return config, nil
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
	// Timeout is Config.CallTimeout for a call that takes longer by its nature.
	Timeout time.Duration
}

// Do sends a request. An error is an *Error when Elasticsearch answered, a
// fault.Unavailable when it did not in time; FaultOf turns the first into the
// second where the caller cannot do better.
func (c *Client) Do(ctx context.Context, r Request) (_ Response, err error) {
	done, err := c.enter(ctx, r)
	if err != nil {
		return Response{}, err
	}
	defer func() { done(err) }()
	caller, limit := ctx, cmp.Or(r.Timeout, c.timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	away := func(err error) error {
		if caller.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.givenUp(caller, operation(r), limit)
			err = fmt.Errorf("it gave no answer within %v: %w", limit, context.DeadlineExceeded)
		}
		return fault.BackendUnavailable(err, "elasticsearch")
	}
	ctx, end := c.span(ctx, r)
	var req *http.Request
	defer func() { end(req, err) }()
	target := r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err = http.NewRequestWithContext(ctx, r.Method, target, body)
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
		return Response{}, away(err)
	}
	defer res.Body.Close()
	data, err := bytesOf(res)
	if err != nil {
		return Response{}, away(err)
	}
	if res.StatusCode >= 300 && (res.StatusCode != http.StatusNotFound || !r.Missing) {
		return Response{}, newError(res.StatusCode, data)
	}
	return Response{res.StatusCode, data}, nil
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
	e.Reason = withoutValues(e.Reason)
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
// also a missing index, which means that nothing was loaded yet, and refused
// credentials, which an operator can mend; what is left is a mistake of ours.
func FaultOf(err error) error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Class() != Rejected || e.Type == "index_not_found_exception",
		e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fault.BackendUnavailable(err, "elasticsearch")
	default:
		return fault.Wrap(err, fault.Internal, "the search could not be run")
	}
}
