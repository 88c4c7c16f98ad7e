package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/shares"
	"atlas/internal/tiles"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/highlight"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/boards"
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

// Workspaces reads workspaces. *postgres.Store implements it.
type Workspaces interface {
	Summary(ctx context.Context, in workspace.ID) (people.Summary, error)
}

// Server is the HTTP API. Its fields are set before Handler is called.
type Server struct {
	endpoint.Core
	Search     Searcher
	Facets     Faceter
	Changes    Changes
	Match      Matcher
	Merges     Merges
	Audit      Audit
	AuditLog   AuditLog
	Workspaces Workspaces
	People     People
	Book       Book
	Views      Views
	Boards     *boards.Boards
	Records    RecordSearcher
	Queue      Queue
	// SignInLog has who signed in, and Counts counts for the audit log; nil: neither.
	SignInLog SignInLog
	// Own signs people in by the providers of workspaces; nil: nobody can.
	Own OwnSignIn
	// MCP serves agents; nil: it does not.
	MCP *MCP
	// TokenIssuer is the issuer of access tokens, for agents that look for it; "": not
	// known.
	TokenIssuer string
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
	// ErasureForm takes the addresses of people who ask for such a link; nil: nobody can ask.
	ErasureForm ErasureForm
	// SecurityContact is the address for reports of vulnerabilities, as a URI; "": that of
	// the page about them.
	SecurityContact string
	// PlainCookies is for development without TLS: cookies of sessions are not Secure.
	PlainCookies bool
	// scimPace has the buckets of tokens of SCIM, scimPlaces their requests under way.
	scimPace   *ratelimit.Buckets[scim.TokenID]
	scimPlaces endpoint.Limiter
	fields     readyFields
	// batches are the batches of searches that run.
	batches shares.Shares
}
