package endpoint

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

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
	) (r *credits.Reservation, granted int, kept []byte, w credits.Window, err error)
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

// Core handles what all requests have in common: credentials, limits, credits, repetitions,
// the form of answers, the log. Its fields are set before Serve is called.
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

// Prepare sets missing fields to their defaults.
func (s *Core) Prepare() {
	s.MaxRequests = cmp.Or(s.MaxRequests, DefaultMaxRequests)
	s.RequestTimeout = cmp.Or(s.RequestTimeout, DefaultRequestTimeout)
	s.AddressesHourly = cmp.Or(s.AddressesHourly, DefaultAddressesHourly)
	s.Meter = cmp.Or[Meter](s.Meter, unmetered{})
	s.tagger = newTagger(s.ETagKey)
}
