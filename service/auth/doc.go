// Package auth authenticates a request, finds its workspace, and authorizes it
// there. A request passes three steps, in the order of their errors (docs/api.md,
// "Order of checks"):
//
//	Authenticate   the Authorization header      → Identity      401
//	Resolve        the workspace_id parameter    → workspace.ID  400
//	Authorize      key state, membership, plan   → Principal     403
//
// A Principal has methods for the remaining checks (scope, role, being a user). The
// API calls them in its own order.
//
// There are two kinds of token: API keys, looked up in the Store, and users' JWTs,
// verified with a JWKS document or, in development, a shared secret. Results of
// look-ups are cached in the process for at most 4 s from the start of the look-up,
// so that a revocation takes effect everywhere within 5 s. An older result is never
// used, even when Postgres is unavailable.
//
// The package does not issue keys (workspace.Directory does) and knows neither SQL
// nor HTTP: it takes values of the header and the parameter, and returns faults.
package auth
