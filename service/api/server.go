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
	// CheckCursor refuses a cursor of another query: fault.BadRequest.
	CheckCursor(q query.Query) error
	// Explain returns the interpretation of q's text, nil if it has none.
	Explain(q query.Query) *search.Explanation
	// Highlights returns the parts of rows that match the text of q.
	Highlights(ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error)
	Getter
	Describer
	Suggester
	ValueReader
}

// Getter reads global records by id.
type Getter interface {
	Get(ctx context.Context, d catalog.Dataset, id string, includes []query.Include) (jsontext.Value, error)
	// GetBatch returns the records of ids as Get does, without those that do not exist.
	GetBatch(ctx context.Context, d catalog.Dataset, ids []string, includes []query.Include) (map[string]jsontext.Value, error)
	// Join finds the records that belong to each of the accounts.
	Join(ctx context.Context, j query.Join, accounts []string) ([]search.Joined, error)
}

// Describer describes the content of the global dataset.
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
	// SignInLog has the sign-ins, Counts counts for the audit log. Each may be nil.
	SignInLog SignInLog
	// Own signs people in by the providers of workspaces; nil disables it.
	Own OwnSignIn
	// MCP serves agents; nil disables it.
	MCP *MCP
	// TokenIssuer is the issuer of access tokens, for agents that look for it; "" if it is not
	// known.
	TokenIssuer string
	// MapTiles are those of the Explorer's map.
	MapTiles tiles.Source
	// Sessions has the sessions of the Explorer; nil disables them.
	Sessions Sessions
	// SignIn signs people in by an OpenID provider; nil if there is none.
	SignIn SignIn
	// Memberships lists the workspaces of a session's user.
	Memberships Memberships
	// SCIM serves the identity providers of workspaces.
	SCIM SCIM
	// Unsubscribe ends e-mails by the links in them, which MailLinks reads; nil if none are sent.
	Unsubscribe Unsubscriber
	MailLinks   MailLinks
	// Erasures acts on links by which people have a contact erased; nil if there are none.
	Erasures ErasureLinks
	// ErasureForm takes the addresses of people who ask for such a link; nil disables it.
	ErasureForm ErasureForm
	// SecurityContact is the address for reports of vulnerabilities, as a URI; "" means the page
	// about them.
	SecurityContact string
	// PlainCookies is for development without TLS: cookies of sessions are not Secure.
	PlainCookies bool
	// scimPace has the token buckets of SCIM tokens, scimPlaces their requests in progress.
	scimPace   *ratelimit.Buckets[scim.TokenID]
	scimPlaces endpoint.Limiter
	fields     readyFields
	// batches are the running batches of searches.
	batches shares.Shares
}
