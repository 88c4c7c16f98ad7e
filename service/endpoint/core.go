package endpoint

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/internal/telemetry"
	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/identity"
)

// Gate authenticates the caller and checks access to a workspace. *auth.Authenticator
// implements it.
type Gate interface {
	Authenticate(ctx context.Context, header []string) (auth.Identity, error)
	SignedIn(ctx context.Context, u auth.User, began time.Time, own identity.Own) (auth.Identity, error)
	Resolve(ctx context.Context, i auth.Identity, given []string, required bool) (workspace.ID, error)
	Authorize(ctx context.Context, i auth.Identity, in workspace.ID) (auth.Principal, error)
}

// Ledger counts credits. *credits.Ledger implements it.
type Ledger interface {
	ReserveItems(
		ctx context.Context, workspace string, ceiling int64, operation string, amounts []int64, by credits.Key,
		once credits.Once,
	) (r *credits.Reservation, granted int, stored []byte, w credits.Window, err error)
	ReserveOnce(
		ctx context.Context, workspace string, ceiling int64, operation string, amount int64, by credits.Key,
		once credits.Once,
	) (*credits.Reservation, []byte, credits.Window, error)
	Ample(workspace string, ceiling int64, by credits.Key) bool
	Charge(ctx context.Context, workspace string, ceiling int64, c credits.Charge, by credits.Key) (credits.Window, error)
	Check(ctx context.Context, workspace string, ceiling int64, by credits.Key) (credits.Window, error)
	Usage(ctx context.Context, workspace string, ceiling int64) (credits.Usage, error)
}

// Probe checks whether a backend is available; nil means that it is.
type Probe func(ctx context.Context) error

// Answers stores the answers of requests that change something. *postgres.Store implements
// it.
type Answers interface {
	// Once runs do in one transaction that also stores its answer, unless the answer is nil. For
	// a repetition it returns the stored answer, and true for replayed. part is 0, or the place of
	// an item of a batch, from 1.
	Once(
		ctx context.Context, in workspace.ID, o workspace.Once, part int, do func(context.Context) ([]byte, error),
	) (answer []byte, replayed bool, err error)
}

// Counts counts for the audit log. Its methods never wait. *auditlog.Counter implements it.
type Counts interface {
	// Delivered counts records that a caller received.
	Delivered(in workspace.ID, by workspace.Author, operation string, records int64)
	// Refused counts a refused sign-in or refused credentials.
	Refused(reason string, network netip.Prefix)
}

// Pages serves the files of the Explorer. *explorer.Site implements it.
type Pages interface {
	// Serve answers a GET or HEAD of a file or of an address of the page. It returns
	// false, without an answer, for anything else.
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// Core handles what all requests have in common: credentials, limits, credits, repetitions,
// the form of answers, the log. Its fields are set before Handler is called.
type Core struct {
	Gate    Gate
	Ledger  Ledger
	Answers Answers
	// Probes are the backends that readiness checks, by name.
	Probes map[string]Probe
	// Filling, if set, returns the datasets whose held records are being restored after their
	// index was lost. Meanwhile some workspaces' searches of them are refused; everything else is
	// served. Readiness reports them.
	Filling func(ctx context.Context) ([]catalog.Dataset, error)
	Log     *slog.Logger
	// Meter counts requests; nil disables metrics.
	Meter Meter
	// CreditsUsed, when set, receives each charge: the used credits of the workspace in the
	// window. It must not block.
	CreditsUsed func(in workspace.ID, used, ceiling int64)
	Counts      Counts
	// Tracing, when set, runs around every request.
	Tracing gin.HandlerFunc
	// Limiter has the token buckets of keys with a rate, and those of free calls, each of
	// FreeLimit; nil: no limits.
	Limiter   *ratelimit.Limiter
	FreeLimit ratelimit.Limit
	// AddressesHourly is the limit per caller and hour of searches that read e-mail addresses and
	// find nothing; 0 means DefaultAddressesHourly.
	AddressesHourly int
	// MaxRequests limits the requests that are being handled; any more are answered
	// 503 at once. 0 means DefaultMaxRequests. Four times as many may still be
	// sending their bodies.
	MaxRequests int
	// RequestTimeout limits the time of one request; 0 means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// ETagKey is the key of ETags, the same on all servers; empty: each process has its
	// own. The key may also be used for other purposes.
	ETagKey []byte
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is trusted; none: a client
	// is the peer of its connection.
	TrustedProxies []netip.Prefix
	// Origins are those whose pages may call the API from a browser; none: no CORS.
	Origins []string
	// Pages serves the Explorer; nil: there is none.
	Pages Pages
	// PublicURL is the origin at which clients reach the service, for links to its
	// documentation; empty: they are paths.
	PublicURL string
	// Authenticate identifies the caller of a request.
	Authenticate func(r *http.Request) (auth.Identity, error)
	// Fails, if it returns true, has answered an error in a form of its own.
	Fails func(c *Call, err error) bool
	// Cookies means that a session cookie may identify the caller, in place of a header.
	Cookies bool
	// Unpaced disables the token buckets of strangers, for tests that send very many requests.
	Unpaced bool
	// NotPages are the prefixes of paths that are never pages of Pages.
	NotPages []string

	load      load
	strangers strangers
	paths     *paths
	tagger    *tagger
	addresses addresses
	inside    http.Handler
}

// DefaultMaxRequests limits the requests in the third phase. Most of them wait for
// a backend, so a higher limit would only make them wait longer.
const DefaultMaxRequests = 1024

// DefaultRequestTimeout limits one request. It is longer than the longest search
// and shorter than the lifetime of a credit reservation.
const DefaultRequestTimeout = 30 * time.Second

// DefaultAddressesHourly is the default of Core.AddressesHourly.
const DefaultAddressesHourly = 1_000

// Prepare sets missing fields to their defaults.
func (s *Core) Prepare() {
	s.MaxRequests = cmp.Or(s.MaxRequests, DefaultMaxRequests)
	s.RequestTimeout = cmp.Or(s.RequestTimeout, DefaultRequestTimeout)
	s.AddressesHourly = cmp.Or(s.AddressesHourly, DefaultAddressesHourly)
	s.Meter = cmp.Or[Meter](s.Meter, unmetered{})
	s.tagger = newTagger(s.ETagKey)
}

// Call is a request of a route.
type Call struct {
	Gin    *gin.Context
	server *Core
	ID     string
	// address is the client's address.
	address   string
	Began     time.Time
	Route     Route
	Identity  auth.Identity
	Principal auth.Principal
	charged   int64
	// Target is the id of the key or member that the request changes, for the log.
	Target string
	// etag is the ETag of the answer, "" if it has none.
	etag string
	// Params are the parameters of the query string.
	Params url.Values
	// PathIssues are the issues of the ids in the path and of unknown query parameters.
	PathIssues input.Issues
	// Once identifies the request and its repetitions, zero if it has no key. Stored is what a
	// repetition is answered from.
	Once   workspace.Once
	Stored []byte
	// Unfinished is set if the answer of a batch reports an outage: the repetition continues it.
	Unfinished bool
	// checkedAt is the start of the last check of the caller's access. denied is set if the
	// caller lost access while the request waited.
	checkedAt time.Time
	denied    bool
	// phase is the grant from the limiter of the current phase.
	phase grants
	// reservedBytes is the grant for the body while it is received.
	reservedBytes grants
	// RawBody is the received body, or BodyErr the reason that there is none.
	RawBody []byte
	BodyErr error
	// asksDryRun is set if the body, which may be invalid, has "dry_run": true.
	asksDryRun bool
	// favorites is set if the request has favorite_only=true.
	favorites bool
	// uncredited is set once the request is counted as refused for lack of credits.
	uncredited bool
	// Client is the client of the request, stranger its row if it needs no key.
	Client   client
	stranger *Stranger
	// Code is the code of the error in the answer.
	Code fault.Code
	// abandoned is set if the request failed because its client disconnected.
	abandoned bool
	// spent is the time spent in backends.
	spent *telemetry.Spent
}

// client is the client of a request, for limits by address (docs/operators.md, "Client
// addresses").
type client struct {
	// address is invalid if it is not known, network is its workspace.ClientNetwork.
	address netip.Addr
	Network netip.Prefix
	// near is set for requests that a load balancer or another machine in the network sends
	// itself: from a private address or a trusted proxy, and not forwarded.
	near bool
}

const callKey = "call"

// CallOf returns the call of a request, which begin created.
func CallOf(ctx *gin.Context) *Call { return ctx.MustGet(callKey).(*Call) }

// Context ends when the client disconnects or after Core.RequestTimeout.
func (c *Call) Context() context.Context { return c.Gin.Request.Context() }

// Workspace is the workspace of the call.
func (c *Call) Workspace() workspace.ID { return c.Principal.Workspace.ID }

// newcomer reports whether the call has no workspace: the route is for newcomers and
// the caller is a user.
func (c *Call) newcomer() bool {
	return c.Route.Caller == Newcomers && c.Identity.RequireUser() == nil
}

// Route is one row of the route table: everything that is specific to a route.
type Route struct {
	Method string
	// Path below Version, in gin's syntax.
	Path string
	// Operation is the route's name in usage, logs and the OpenAPI document.
	Operation string
	// Scope is the scope that the principal needs.
	Scope workspace.Scope
	// Also is another scope that it needs; "": none.
	Also workspace.Scope
	// Throttling says how the credit ceiling applies to the route.
	Throttling Throttling
	// Paced is set for Never throttled routes that have a token bucket, because they cost the
	// server something. The others report the remaining credits and are never refused.
	Paced bool
	// WorkspaceRequired means that a user must give the query parameter
	// workspace_id.
	WorkspaceRequired bool
	// Caller says who may call it, beyond having the scope.
	Caller Caller
	// Conditional GETs have an ETag, and answer 304 to a client that has the answer.
	Conditional bool
	// Secret means that the answer has a secret beside text that the caller chooses.
	Secret bool
	Budget Budget
	// ReadOnly routes change nothing, although they need the scope to write.
	ReadOnly bool

	Endpoint
	Doc Doc
}

// Handler binds, validates, calls one method and returns what to render.
type Handler func(c *Call) (Reply, error)

// Endpoint is the body that a route takes, and the handler.
type Endpoint struct {
	// Body is nil for a route without one.
	Body *schema.Schema
	// BodyOptional means that an absent body is valid. It reads as {}.
	BodyOptional bool
	// asSent means that the body is stored: its relative dates stay relative.
	asSent bool
	// Item is the schema of a valid item of a batch, nil if the body is not a
	// batch. items is the member of the body that holds the items.
	Item   *schema.Schema
	Items  string
	Handle Handler
	// replay answers a repetition from what the call stored; nil: the stored answer as it is.
	replay func(c *Call, stored []byte) (Reply, error)
}

// Reply is a successful answer: { data, metadata }.
type Reply struct {
	Data     any
	Metadata any
}

// Stranger is a row of the table of addresses that need no key. Routes with keys are in the
// other table, Routes.
type Stranger struct {
	Method string
	// Path in gin's syntax, from the root. With Below it is an address below another row's
	// wildcard.
	Path  string
	Below bool
	// Operation is the name in metrics and logs.
	Operation string
	Class     class
	// Cost is how many tokens of its class a request takes, at least one.
	Cost int
	// Weigh, when not nil, computes the cost of a request in place of Cost.
	Weigh func(c *Call) int
	// works is set if the request uses backends. A server that stops waits for it.
	works bool
	// Look examines the request, and receives its body, before it holds a place; nil: nothing to
	// examine.
	Look   func(c *Call) error
	Handle gin.HandlerFunc
	// fail answers a refused request; nil: like the API.
	fail func(ctx *gin.Context, err error)
}

// strangers is the state of the table.
type strangers struct {
	// rows are by method and path, without requests with a key (see keyed).
	rows  map[string]*Stranger
	keyed map[string]bool
	// byAddress and sums are the token buckets, places the requests in progress.
	byAddress *ratelimit.Buckets[clientOfClass]
	sums      [classes]*rate.Limiter
	places    [classes]Limiter
	unnamed   sync.Once // warns of an unconfigured proxy
}
