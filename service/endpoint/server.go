package endpoint

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"atlas/internal/fault"
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

// Core is what every request passes: credentials, limits, credits, repetitions, the form of
// answers, the log. Its fields are set before Serve is called.
type Core struct {
	Gate    Gate
	Ledger  Ledger
	Answers Answers
	// Probes are the backends that readiness asks, by name.
	Probes map[string]Probe
	// Filling, if set, returns the datasets whose held records are being restored
	// after their index was lost. Meanwhile some workspaces' searches of them are
	// refused; everything else is served. Readiness reports them.
	Filling func(ctx context.Context) ([]catalog.Dataset, error)
	Log     *slog.Logger
	// Meter counts requests; nil disables metrics.
	Meter Meter
	// CreditsUsed, when set, is told of each charge: what the workspace used in the
	// window. It must not wait.
	CreditsUsed func(in workspace.ID, used, ceiling int64)
	Counts      Counts
	// Tracing, when set, runs around every request.
	Tracing gin.HandlerFunc
	// Limiter has the token buckets of keys with a rate, and those of calls that cost
	// nothing, each of FreeLimit; nil: no limits.
	Limiter   *ratelimit.Limiter
	FreeLimit ratelimit.Limit
	// AddressesHourly is how many searches in an hour a caller has that read e-mail addresses
	// and find nothing; 0 means DefaultAddressesHourly.
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
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is believed; none:
	// a client is the peer of its connection.
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
	// Cookies means that a session may say who calls, in place of a header.
	Cookies bool
	// Unpaced turns the token buckets of strangers off, for tests that send very many requests.
	Unpaced bool
	// NotPages are the beginnings of paths that never lead to a page of Pages.
	NotPages []string

	load      load
	strangers strangers
	paths     *paths
	tagger    *tagger
	addresses addresses
	inside    http.Handler
}

// Table is what a server answers.
type Table struct {
	Routes []Route
	// Strangers are the addresses that need no key.
	Strangers []Stranger
	// Mounts are addresses that need a key and check it themselves.
	Mounts []Mount
}

// Mount is an address that is handled outside of the order of routes.
type Mount struct {
	Method, Path string
	Handle       func(c *Call)
}

// Prepare sets what is left out to its default.
func (s *Core) Prepare() {
	s.MaxRequests = cmp.Or(s.MaxRequests, DefaultMaxRequests)
	s.RequestTimeout = cmp.Or(s.RequestTimeout, DefaultRequestTimeout)
	s.AddressesHourly = cmp.Or(s.AddressesHourly, DefaultAddressesHourly)
	s.Meter = cmp.Or[Meter](s.Meter, unmetered{})
	s.tagger = newTagger(s.ETagKey)
}

// Handler answers what is in the table, and refuses everything else. Call Prepare before.
func (s *Core) Handler(t Table) http.Handler { return bounded(compressed(s.Router(t))) }

// Inside answers a request that another one makes, uncompressed.
func (s *Core) Inside(w http.ResponseWriter, r *http.Request) { s.inside.ServeHTTP(w, r) }

// Router has the table. Each path answers every other method with 405, even if a path with a
// parameter would match.
func (s *Core) Router(t Table) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	s.inside = bounded(g)

	g.RedirectTrailingSlash = false
	if s.Tracing != nil {
		g.Use(s.Tracing)
	}
	g.Use(s.begin, s.guard)
	if len(s.Origins) > 0 {
		g.Use(allowOrigins(s.Origins))
	}
	methods := map[string][]string{}
	s.strangers.keyed = map[string]bool{}
	for _, r := range t.Routes {
		path := Version + r.Path
		methods[path] = append(methods[path], r.Method)
		s.strangers.keyed[rowKey(r.Method, path)] = true
		g.Handle(r.Method, path, s.serve(r))
	}
	for _, m := range t.Mounts {
		methods[m.Path] = append(methods[m.Path], m.Method)
		s.strangers.keyed[rowKey(m.Method, m.Path)] = true
		g.Handle(m.Method, m.Path, func(ctx *gin.Context) { m.Handle(CallOf(ctx)) })
	}
	s.mountStrangers(g, methods, t.Strangers)
	s.addresses = addressesOf(t.Routes)
	s.paths = indexed(methods)
	for path, allowed := range methods {
		for _, m := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions,
		} {
			if !slices.Contains(allowed, m) {
				g.Handle(m, path, func(ctx *gin.Context) { CallOf(ctx).notAllowed(allowed) })
			}
		}
	}
	g.NoRoute(func(ctx *gin.Context) {
		c := CallOf(ctx)
		if c.refusePath() {
			return
		}
		// gin's own 405 (HandleMethodNotAllowed) can panic in version 1.12 on a
		// path with a slash too many, so methods that are not registered reach this handler.
		if allowed := s.paths.methodsOf(ctx.Request.URL.Path); allowed != nil {
			c.notAllowed(allowed)
			return
		}
		c.notFound(s.paths.notFoundText(ctx.Request.Method, ctx.Request.URL.Path))
	})
	return g
}

// notAllowed answers a method that a path does not take.
func (c *Call) notAllowed(allowed []string) {
	c.Gin.Header("Allow", strings.Join(allowed, ", "))
	c.Fail(fault.New(fault.MethodNotAllowed, "%s", c.server.paths.notAllowedText(allowed, c.Gin.Request.Method, c.Gin.Request.URL)))
}

// RequestIDHeader carries the id that identifies the request in the log.
const RequestIDHeader = "X-Request-Id"

// requestID is the caller's id when it is 1..128 printable ASCII characters,
// else a new one.
func requestID(given string) string {
	printable := func(r rune) bool { return r >= ' ' && r <= '~' }
	if given != "" && len(given) <= 128 && strings.IndexFunc(given, func(r rune) bool { return !printable(r) }) < 0 {
		return given
	}
	return uuid.Must(uuid.NewV7()).String()
}
