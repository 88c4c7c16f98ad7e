// Package auth finds out who sends a request, for which workspace, and whether
// that workspace serves them. A request passes three steps, whose order is
// that of the answers (docs/api.md, "Order of checks"):
//
//	Authenticate   the Authorization header      → Identity      401
//	Resolve        the workspace_id parameter    → workspace.ID  400
//	Authorize      key state, membership, plan   → Principal     403
//
// What a Principal may do after that (scope, role, being a user) it tells
// itself, and the API asks in its own order.
//
// Two kinds of token exist: API keys, looked up in the Store, and JWTs of users,
// verified against a JWKS document or, for development, a shared secret. What
// was looked up is kept in the process for at most 4 s, counted from the start
// of the look-up, so that a revocation holds everywhere within 5 s; it is never
// used beyond that, not even when Postgres is away.
//
// The package is not for issuing keys (workspace.Directory does), not for SQL
// and not for HTTP: it takes header and parameter values, and answers faults.
package auth
