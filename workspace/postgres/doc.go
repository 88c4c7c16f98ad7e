// Package postgres stores in Postgres what workspaces own. It has the SQL, the
// migrations, and the only conversion of driver errors to faults (fault.go).
//
// There are two types, one for each role. Store connects as atlas_app, under
// row-level security: each method takes the workspace first, sets it in the
// transaction of its query, and sees no other workspace. System connects as
// atlas_system, whose policies allow access to every workspace, for authentication,
// operator commands, leases and migrations. Request handlers hold a Store. Give them
// a System only as an interface of the methods that they need.
//
// In production the operator creates both roles, neither superuser nor BYPASSRLS,
// and a database that atlas_system owns. In development and tests Prepare does. See
// docs/architecture.md, "Tenancy".
//
// The package has no rules of its own and does not search.
package postgres
