// Package auditlog is the log of what changes access or leaves the house (docs/security.md,
// "Audit log"): its events, the chains of digests that they are in, what is proved by them,
// and what is counted beside them: records that were delivered, and sign-ins that failed.
//
// Triggers in Postgres write most events, in the transaction of the change. What changed
// what in a workspace, field by field, is package audit.
package auditlog
