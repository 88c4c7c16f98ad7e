package api

import (
	"net/http"
	"slices"
	"sync"

	"atlas/internal/shares"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/service/ratelimit"
	"atlas/workspace/scim"
)

// Handler returns the whole API.
func (s *Server) Handler() http.Handler { return s.Core.Handler(s.table()) }

// table is the table of everything that the server answers.
func (s *Server) table() endpoint.Table {
	s.Prepare()
	callers := s.signIn()
	s.Authenticate, s.Fails = callers.authenticate, failsSCIM
	s.Cookies = s.Sessions != nil
	s.NotPages = []string{"/api", endpoint.DocsPath, "/health", "/metrics", sessionPath, mcpPath, "/.well-known", scim.Base}
	// The first request for it makes it: most servers of a cluster are asked for searches alone.
	document := sync.OnceValue(func() []byte { return encoded(s.Document()) })
	return endpoint.Table{Routes: s.Routes(), Strangers: s.strangerRows(callers, document), Mounts: s.agents().rows(document)}
}

// Document is the OpenAPI document.
func (s *Server) Document() openapi.Document { return documentOf(s.Routes()) }

// Routes is the route table.
func (s *Server) Routes() []endpoint.Route {
	core := &s.Core
	searches := searches{core, s.Search, s.Records, s.Merges}
	records := viewRecordHandlers{searches, s.Views}
	batches := batchHandlers{records, new(shares.Shares)}
	counts := countHandlers{s.Facets, s.Records, s.Views}
	return slices.Concat(
		workspaceHandlers{core, s.Workspaces}.routes(),
		historyHandlers{core, s.Audit}.routes(),
		auditLogHandlers{s.AuditLog}.routes(),
		fieldHandlers{new(readyFields), s.Search}.routes(),
		batches.dataBatchRoutes(),
		searches.dataRoutes(),
		counts.facetRoutes(),
		counts.pivotRoutes(),
		suggestHandlers{s.Search}.routes(),
		readHandlers{counts, s.Search}.routes(),
		releaseHandlers{s.Search}.routes(),
		changeHandlers{core, s.Changes}.routes(),
		matchHandlers{s.Match, s.Search}.routes(),
		batches.workspaceBatchRoutes(),
		bookHandlers{searches, s.Book}.routes(),
		searches.joinRoutes(),
		viewHandlers{s.Views.Views}.routes(),
		records.routes(),
		boardHandlers{s.Boards}.routes(),
		favoriteHandlers{s.Views.Favorites}.routes(),
		alertHandlers{s.Views.Alerts}.routes(),
		memberHandlers{s.People.Members}.routes(),
		invitationHandlers{s.People.Invitations}.routes(),
		subscriptionHandlers{s.People.Subscriptions}.routes(),
		queueHandlers{searches, s.Queue}.routes(),
		webhookHandlers{s.People.Webhooks}.routes(),
		keyHandlers{s.People.Keys, s.People.Policies}.routes(),
		keyPolicyHandlers{s.People.Policies}.routes(),
		keyActionHandlers{s.People, s.Book, s.Views, s.Boards}.routes(),
		identityHandlers{s.People.Identity}.routes(),
		skillHandlers{s.People.Skills}.routes(),
		provisioningHandlers{s.SCIM}.routes(),
	)
}

// strangerRows is the table of addresses that need no key. An address in neither table is
// classUnknown.
func (s *Server) strangerRows(callers signInHandlers, document func() []byte) []endpoint.Stranger {
	return slices.Concat(
		s.HealthRows(),
		documentRows(&s.Core, s.Document, document),
		llmsRows(s.MCP != nil),
		s.agents().metadataRows(),
		securityRows(s.PublicURL, s.SecurityContact),
		tileRows(s.MapTiles),
		callers.sessionRows(),
		callers.providerRows(),
		unsubscribeHandlers{s.Unsubscribe, s.MailLinks}.rows(),
		erasureHandlers{s.Erasures}.rows(),
		erasureFormHandlers{s.ErasureForm}.rows(),
		scimHandlers{
			scimResources: scimResources{s.SCIM, s.PublicURL}, Core: &s.Core,
			pace: ratelimit.NewBuckets[scim.TokenID](endpoint.MaxAddresses), places: new(endpoint.Limiter),
		}.rows(),
	)
}

// signIn identifies callers by sessions, and begins and ends these.
func (s *Server) signIn() signInHandlers {
	return signInHandlers{
		Core: &s.Core, Sessions: s.Sessions, SignIn: s.SignIn, Own: s.Own, Memberships: s.Memberships, SignInLog: s.SignInLog,
		Providers: s.People.Identity, Workspaces: s.Workspaces, PlainCookies: s.PlainCookies,
	}
}

func (s *Server) agents() agentHandlers { return agentHandlers{&s.Core, s.MCP, s.TokenIssuer} }
