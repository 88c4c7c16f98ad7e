package api

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
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/tiles"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/highlight"
	"atlas/search/query"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/boards"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

// Searcher searches the global dataset. *search.Engine implements it.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (query.Page, error)
	// Together runs tasks whose searches share round trips.
	Together(ctx context.Context, tasks int, run func(ctx context.Context, task int))
	// CheckCursor refuses a cursor that is not q's: fault.BadRequest.
	CheckCursor(q query.Query) error
	// Explain says how the text of q is read, nil if it has none.
	Explain(q query.Query) *search.Explanation
	// Highlights says what of rows matches the text of q.
	Highlights(ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error)
	Getter
	Describer
	Suggester
	ValueReader
}

// Getter reads global records by id.
type Getter interface {
	Get(ctx context.Context, d catalog.Dataset, id string, includes []query.Include) (jsontext.Value, error)
	// GetBatch returns the records of ids as Get does. It leaves out those that do not
	// exist.
	GetBatch(ctx context.Context, d catalog.Dataset, ids []string, includes []query.Include) (map[string]jsontext.Value, error)
	// Join finds what belongs to each of the accounts.
	Join(ctx context.Context, j query.Join, accounts []string) ([]search.Joined, error)
}

// Describer says what the global dataset has.
type Describer interface {
	FrequentValues(ctx context.Context) (catalog.FrequentValues, error)
	Release(ctx context.Context) (search.Release, error)
	Coverage(ctx context.Context, workspace string, c query.Coverage) ([]search.CoverageValue, error)
}

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

// Workspaces reads workspaces. *postgres.Store implements it.
type Workspaces interface {
	Summary(ctx context.Context, in workspace.ID) (people.Summary, error)
}

// Probe checks whether a backend is available; nil means that it is.
type Probe func(ctx context.Context) error

// Server is the HTTP API. Its fields are set before Handler is called.
type Server struct {
	Search     Searcher
	Facets     Faceter
	Changes    Changes
	Match      Matcher
	Merges     Merges
	Audit      Audit
	AuditLog   AuditLog
	Gate       Gate
	Ledger     Ledger
	Answers    Answers
	Workspaces Workspaces
	People     People
	Book       Book
	Views      Views
	Boards     *boards.Boards
	Records    RecordSearcher
	Queue      Queue
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
	// SignInLog has who signed in, and Counts counts for the audit log; nil: neither.
	SignInLog SignInLog
	// Own signs people in by the providers of workspaces; nil: nobody can.
	Own    OwnSignIn
	Counts Counts
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
	// MCP serves agents; nil: it does not.
	MCP *MCP
	// TokenIssuer is the issuer of access tokens, for agents that look for it; "": not
	// known.
	TokenIssuer string
	// Pages serves the Explorer; nil: there is none.
	Pages Pages
	// MapTiles are those of the Explorer's map.
	MapTiles tiles.Source
	// Sessions has the sessions of the Explorer; nil: nobody can sign in to it.
	Sessions Sessions
	// SignIn signs people in by an OpenID provider; nil: there is none.
	SignIn SignIn
	// Memberships tells who has a session their workspaces.
	Memberships Memberships
	// SCIM is what identity providers of workspaces do.
	SCIM SCIM
	// Unsubscribe ends e-mails of signals by the links in them, which MailLinks reads; nil:
	// none are sent.
	Unsubscribe Unsubscriber
	MailLinks   MailLinks
	// Erasures acts on links by which people have a contact erased; nil: there are none.
	Erasures ErasureLinks
	// PublicURL is the origin at which clients reach the service, for links to its
	// documentation; empty: they are paths.
	PublicURL string
	// SecurityContact is the address for reports of vulnerabilities, as a URI; "": that of
	// the page about them.
	SecurityContact string
	// PlainCookies is for development without TLS: cookies of sessions are not Secure.
	PlainCookies bool

	load      load
	strangers strangers
	// scimPace has the buckets of tokens of SCIM, scimPlaces their requests under way.
	scimPace   *ratelimit.Buckets[scim.TokenID]
	scimPlaces limiter
	fields     readyFields
	paths      *paths
	tagger     *tagger
}

// Handler returns the whole API.
func (s *Server) Handler() http.Handler { return bounded(compressed(s.router())) }

// router has all routes. Each path of the table answers every other method with 405,
// even if a path with a parameter would match.
func (s *Server) router() *gin.Engine {
	s.MaxRequests = cmp.Or(s.MaxRequests, DefaultMaxRequests)
	s.RequestTimeout = cmp.Or(s.RequestTimeout, DefaultRequestTimeout)
	s.AddressesHourly = cmp.Or(s.AddressesHourly, DefaultAddressesHourly)
	s.Meter = cmp.Or[Meter](s.Meter, unmetered{})
	s.scimPace = ratelimit.NewBuckets[scim.TokenID](maxAddresses)
	s.tagger = newTagger(s.ETagKey)
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
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
	for _, r := range s.Routes() {
		path := Version + r.Path
		methods[path] = append(methods[path], r.Method)
		s.strangers.keyed[rowKey(r.Method, path)] = true
		g.Handle(r.Method, path, s.serve(r))
	}
	document := encoded(s.Document())
	s.mountMCP(g, methods, document, bounded(g))
	s.mountStrangers(g, methods, document)
	s.paths = indexed(methods)
	for path, allowed := range methods {
		for _, m := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions,
		} {
			if !slices.Contains(allowed, m) {
				g.Handle(m, path, func(ctx *gin.Context) { callOf(ctx).notAllowed(allowed) })
			}
		}
	}
	g.NoRoute(func(ctx *gin.Context) {
		c := callOf(ctx)
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
func (c *call) notAllowed(allowed []string) {
	c.gin.Header("Allow", strings.Join(allowed, ", "))
	c.fail(fault.New(fault.MethodNotAllowed, "%s", c.server.paths.notAllowedText(allowed, c.gin.Request.Method, c.gin.Request.URL)))
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
