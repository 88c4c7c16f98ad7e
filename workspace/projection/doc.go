// Package projection makes the Elasticsearch documents of held records consistent with
// Postgres and the global dataset. It projects writes of workspaces and changes of global
// records, manages the generations of the held indices, and computes the score of accounts.
// The rules of its correctness are in docs/decisions/008-projection-versions.md.
//
// It does not search and does not decide which records a workspace may hold.
package projection
