package api

import (
	"atlas/internal/tiles"
	"atlas/service/endpoint"
	"atlas/workspace/boards"
)

// Engine answers from the global dataset. *search.Engine implements it.
type Engine interface {
	Searcher
	Describer
	Suggester
	ValueReader
}

// Server is the HTTP API. Its fields are set before Handler is called.
type Server struct {
	endpoint.Core
	Search     Engine
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
}
