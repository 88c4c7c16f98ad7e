package api

import (
	"net/http"
	"slices"
	"sync"

	"atlas/service/endpoint"
	"atlas/service/ratelimit"
	"atlas/workspace/scim"
)

// Handler returns the whole API.
func (s *Server) Handler() http.Handler { return s.Core.Handler(s.table()) }

// table is the table of everything that the server answers.
func (s *Server) table() endpoint.Table {
	s.Prepare()
	s.scimPace = ratelimit.NewBuckets[scim.TokenID](endpoint.MaxAddresses)
	s.Authenticate, s.Fails = s.authenticate, failsSCIM
	s.Cookies = s.Sessions != nil
	s.NotPages = []string{"/api", endpoint.DocsPath, "/health", "/metrics", sessionPath, mcpPath, "/.well-known", scim.Base}
	// The first request for it makes it: most servers of a cluster are asked for searches alone.
	document := sync.OnceValue(func() []byte { return encoded(s.Document()) })
	return endpoint.Table{Routes: s.Routes(), Strangers: s.strangerRows(document), Mounts: s.agentRows(document)}
}

// Routes is the route table.
func (s *Server) Routes() []endpoint.Route {
	return slices.Concat(
		s.workspaceRoutes(),
		s.auditRoutes(),
		s.auditLogRoutes(),
		s.fieldRoutes(),
		s.dataRoutes(),
		s.facetRoutes(),
		s.pivotRoutes(),
		s.suggestRoutes(),
		s.readRoutes(),
		s.releaseRoutes(),
		s.changesRoutes(),
		s.matchRoutes(),
		s.bookRoutes(),
		s.joinRoutes(),
		s.viewRoutes(),
		s.viewRecordRoutes(),
		s.boardRoutes(),
		s.favoriteRoutes(),
		s.alertRoutes(),
		s.memberRoutes(),
		s.invitationRoutes(),
		s.subscriptionRoutes(),
		s.queueRoutes(),
		s.webhookRoutes(),
		s.apiKeyRoutes(),
		s.keyPolicyRoutes(),
		s.keyActionRoutes(),
		s.identityRoutes(),
		s.skillRoutes(),
		s.provisioningRoutes(),
	)
}

// strangerRows is the table of addresses that need no key. An address in neither table is
// classUnknown.
func (s *Server) strangerRows(document func() []byte) []endpoint.Stranger {
	return slices.Concat(
		s.HealthRows(), s.documentRows(document), s.llmsRows(), s.metadataRows(), s.securityRows(), s.tileRows(),
		s.sessionRows(), s.signInRows(), s.unsubscribeRows(), s.erasureRows(), s.erasureFormRows(), s.scimRows(),
	)
}
