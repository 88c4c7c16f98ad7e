package endpoint

// Version is the first part of every path. It names the contract's version.
const Version = "/api/v1"

// DocsPath is the first page of the documentation. Below it are the guides, the reference,
// and the page of errors.
const DocsPath = "/docs"

// Pages of the documentation that no file has.
const (
	ErrorsPage    = "errors"
	ErrorsPath    = DocsPath + "/" + ErrorsPage
	ReferencePath = DocsPath + "/reference"
)

// Addresses of health.
const (
	livePath  = "/health/live"
	readyPath = "/health/ready"
)

// Throttling is how the credit ceiling applies to a route.
type Throttling uint8

// The kinds of throttling.
const (
	// Free routes cost nothing. They are refused when the ceiling is used up, and served when
	// Redis is down.
	Free Throttling = iota
	// Limited routes are Free, and each caller's calls draw on a token bucket.
	Limited
	// Metered routes charge for what they return.
	Metered
	// Never throttled routes are those about credits or fields.
	Never
)

// Caller is who may call a route.
type Caller uint8

// The callers.
const (
	// Anyone who acts in the workspace: an API key, or a member of any role.
	Anyone Caller = iota
	// Admins are owners, admins and API keys.
	Admins
	// AdminUsers are owners and admins, not API keys.
	AdminUsers
	// Users are members only, not API keys.
	Users
	// UsersForFavorites is Anyone, and Users where favorite_only=true.
	UsersForFavorites
	// Newcomers are users, of any workspace or none. The call has no workspace, and its principal
	// stays empty.
	Newcomers
)
