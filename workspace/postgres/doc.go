// Package postgres keeps what workspaces own in Postgres: the SQL, the
// migrations, and the one place where driver errors become faults (fault.go).
//
// Two roles, two types. Store connects as atlas_app, under row-level security:
// every method takes the workspace first, names it to the database in the very
// transaction of its query, and sees nothing else. System connects as
// atlas_system, whose policies let it through, for the few things that cross
// workspaces: authentication's look-ups, the operator's commands, leases,
// migrations. Request handlers hold a Store; hand them a System only through an
// interface that names what they need.
//
// In production the operator creates both roles, neither superuser nor
// BYPASSRLS, and a database that atlas_system owns; Prepare does the same where
// an administrator's address is at hand (development and tests). See
// docs/architecture.md, "Tenancy".
//
// It holds no rules of its own, and is not for searching.
package postgres
