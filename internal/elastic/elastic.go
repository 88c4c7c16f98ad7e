// Package elastic is a client of Elasticsearch: it sends the requests of the official
// client (esapi) and returns bytes; errors have classes. It does not know what the indices
// mean.
package elastic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// Config says how to reach a cluster.
type Config struct {
	// Addresses of the nodes, at least one: http(s)://host:port. Requests rotate
	// over the nodes; a node that does not answer is skipped for a while.
	Addresses []string
	// Username and Password, or APIKey (base64 as Elasticsearch issues it). All are
	// empty without security.
	Username, Password, APIKey string
	// CACert is a PEM bundle of the authorities that sign the nodes' certificates.
	// Empty means those of the system.
	CACert []byte
	// InsecureTLS accepts any certificate. For trials only.
	InsecureTLS bool
	// MaxConnections per node, default 64.
	MaxConnections int
	// DialTimeout bounds connecting to a node, default 2 s.
	DialTimeout time.Duration
	// CallTimeout bounds a call with all its attempts, unless its context ends
	// earlier; default 90 s. Within overrides it. It bounds the wait for a
	// node that accepts connections and never answers.
	CallTimeout time.Duration
	// OnTimeout, when set, is called for every call that CallTimeout ended.
	OnTimeout func(ctx context.Context, operation string, after time.Duration)
	// MaxCalls is the limit of concurrent calls. Further ones are refused with
	// fault.Unavailable. 0 means no limit.
	MaxCalls int
	// Observe, when set, is called after every call, with its context.
	Observe func(context.Context, Call)
	// Spans, when set, makes a span of every call that is sent.
	Spans elastictransport.Instrumentation
	// For simulation: Transport, when set, replaces the connections to the nodes, and
	// Jitter chooses the pauses of Bulk, up to a maximum, instead of random ones.
	Transport http.RoundTripper
	Jitter    func(most time.Duration) time.Duration
}

// Client is a connection pool to one cluster. It is safe for concurrent use.
type Client struct {
	es          *elastictransport.Client
	genuine     atomic.Bool // the server has identified itself as Elasticsearch
	bound       bound
	connections int // maximum, to all nodes
	timeout     time.Duration
	observe     func(context.Context, Call)
	onTimeout   func(context.Context, string, time.Duration)
	spans       elastictransport.Instrumentation
	jitter      func(time.Duration) time.Duration
}

// New returns a client. It does not connect.
func New(c Config) (_ *Client, err error) {
	if c.MaxConnections == 0 {
		c.MaxConnections = max(64, c.MaxCalls) // a call without a connection would queue
	}
	if c.Observe == nil {
		c.Observe = func(context.Context, Call) {}
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 90 * time.Second // longer than the timeout of any search
	}
	if c.OnTimeout == nil {
		c.OnTimeout = func(context.Context, string, time.Duration) {}
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
		// Elasticsearch is near: decompression would cost more than it saves.
		DisableCompression: true,
	}
	urls, err := parseAddresses(c.Addresses)
	if err != nil {
		return nil, err
	}
	if user := urls[0].User; user != nil { // the credentials of the first node apply to all
		c.Username = user.Username()
		c.Password, _ = user.Password()
	}
	if transport.TLSClientConfig, err = c.tls(); err != nil {
		return nil, err
	}
	nodes := &nodes{transport: transport}
	if c.Transport != nil {
		nodes.transport = c.Transport
	}
	es, err := elastictransport.NewClient(
		elastictransport.WithURLs(urls...), elastictransport.WithUserAgent("atlas"),
		elastictransport.WithBasicAuth(c.Username, c.Password), elastictransport.WithAPIKey(c.APIKey),
		elastictransport.WithTransport(nodes), elastictransport.WithConnectionPoolFunc(nodes.setConnections),
		elastictransport.WithInstrumentation(c.Spans),
		// If a node does not answer, another is tried. The caller handles the answer of a
		// busy node.
		elastictransport.WithRetry(2, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout),
		elastictransport.WithRetryOnError(canRetry),
	)
	if err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	return &Client{
		es: es, bound: bound{limit: int64(c.MaxCalls)}, connections: c.MaxConnections * len(c.Addresses),
		timeout: c.CallTimeout, observe: c.Observe, onTimeout: c.OnTimeout, spans: c.Spans, jitter: c.Jitter,
	}, nil
}

// tls returns the TLS configuration. A configured authority replaces those of the
// system.
func (c Config) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CACert) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(c.CACert) {
			return nil, errors.New("elasticsearch: the file of the authority holds no PEM certificate")
		}
	}
	config.InsecureSkipVerify = c.InsecureTLS // documented as for trials only
	return config, nil
}

// Response is the answer of a request that Elasticsearch accepted (status 2xx,
// or 404 with OrMissing).
type Response struct {
	Status int
	Body   []byte
}

// Option changes how a call is made.
type Option func(*options)

type options struct {
	missing bool
	timeout time.Duration
}

// OrMissing takes 404 as an answer, not as an error.
func OrMissing(o *options) { o.missing = true }

// Within replaces Config.CallTimeout, for a call that takes longer.
func Within(timeout time.Duration) Option { return func(o *options) { o.timeout = timeout } }

// Do sends a request, whose names of indices need no escapes. An error is an *Error when
// Elasticsearch answered, and fault.Unavailable when it did not answer in time. FaultOf
// converts the first into the second, for callers that cannot handle it better.
func (c *Client) Do(ctx context.Context, r esapi.Request, change ...Option) (_ Response, err error) {
	o := options{timeout: c.timeout}
	for _, f := range change {
		f(&o)
	}
	done, err := c.acquire(ctx, r)
	if err != nil {
		return Response{}, err
	}
	defer func() { done(err) }()
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	away := func(err error) error {
		if caller.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.onTimeout(caller, operation(r), o.timeout)
			err = fmt.Errorf("it gave no answer within %v: %w", o.timeout, context.DeadlineExceeded)
		}
		return fault.BackendUnavailable(err, "elasticsearch")
	}
	ctx, end := c.span(ctx, r)
	sent := &performed{Transport: c.es}
	defer func() { end(sent.request, err) }()
	res, err := r.Do(ctx, sent)
	if err != nil && sent.request == nil {
		return Response{}, fmt.Errorf("elasticsearch: %w", err) // the request itself cannot be made
	}
	if err != nil {
		return Response{}, away(err)
	}
	defer res.Body.Close()
	data, err := bytesOf(res.Body)
	if err != nil {
		return Response{}, away(err)
	}
	if err := c.checkProduct(res, data); err != nil {
		return Response{}, away(err)
	}
	if res.StatusCode >= 300 && (res.StatusCode != http.StatusNotFound || !o.missing) {
		return Response{}, newError(res.StatusCode, data)
	}
	return Response{res.StatusCode, data}, nil
}

// performed is a transport that records the request that it has sent.
type performed struct {
	esapi.Transport
	request *http.Request
}

// Perform implements esapi.Transport.
func (p *performed) Perform(r *http.Request) (*http.Response, error) {
	p.request = r
	return p.Transport.Perform(r)
}

// ErrNotElasticsearch is the cause of a failed call that another server answered.
var ErrNotElasticsearch = errors.New("what answers there is not Elasticsearch")

// checkProduct refuses a server that is not Elasticsearch, until one has identified itself.
// It accepts the own answers of a proxy in front of Elasticsearch.
func (c *Client) checkProduct(res *esapi.Response, body []byte) error {
	switch status := res.StatusCode; {
	case c.genuine.Load() || status >= 500:
		return nil
	case res.Header.Get("X-Elastic-Product") == "Elasticsearch":
		c.genuine.Store(true)
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout,
		status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests,
		status >= 300 && newError(status, body).Type != "":
		return nil
	}
	return fmt.Errorf("%w (status %d)", ErrNotElasticsearch, res.StatusCode)
}

// Class groups errors by what can be done about them.
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
	if json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		return ErrorOf(status, answer.Error)
	}
	e.Reason = withoutValues(string(body[:min(len(body), 500)]))
	return e
}

// ErrorOf is the error of one of several requests in one call.
func ErrorOf(status int, of jsontext.Value) *Error {
	e := &Error{Status: status}
	var detail struct {
		Type      string `json:"type"`
		Reason    string `json:"reason"`
		RootCause []struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"root_cause"`
	}
	if json.Unmarshal(of, &detail) == nil {
		e.Type, e.Reason = detail.Type, detail.Reason
		if len(detail.RootCause) > 0 {
			e.Reason += " (" + detail.RootCause[0].Type + ": " + detail.RootCause[0].Reason + ")"
		}
	} else {
		e.Reason = string(of[:min(len(of), 500)])
	}
	e.Reason = withoutValues(e.Reason)
	return e
}

func (e *Error) Error() string {
	return "elasticsearch answered " + strconv.Itoa(e.Status) + " " + e.Type + ": " + e.Reason
}

// Class returns the error's class.
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

// FaultOf turns an error into one for the callers above. Unavailable: transient
// errors, a missing index (nothing was loaded yet), a missing alias (another server
// has just moved it) and refused credentials (an operator can correct them). Internal: all others, which are our mistakes.
func FaultOf(err error) error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Class() != Rejected || e.Type == "index_not_found_exception" || e.Type == "aliases_not_found_exception",
		e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fault.BackendUnavailable(err, "elasticsearch")
	default:
		return fault.Wrap(err, fault.Internal, "the search could not be run")
	}
}
