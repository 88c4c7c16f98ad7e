// Package auditlog is the log of changes of access and of data that leaves the service
// (docs/security.md, "Audit log"): its events, their chains of digests and the proofs of
// these, and counters of delivered records and failed sign-ins.
//
// Triggers in Postgres write most events, in the transaction of the change. Package audit
// has the changes in a workspace, field by field.
package auditlog
