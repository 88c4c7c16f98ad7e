// Package simulation runs the real code of workspace/projection, with the leases of
// workspace/postgres and the `_bulk` client of internal/elastic, on models of
// Postgres, Elasticsearch and the global dataset. A seed determines a run, so a seed
// is a bug report. It follows FoundationDB's simulation and TigerBeetle's VOPR.
//
// Runs are deterministic. All goroutines run in one bubble of testing/synctest, with
// its clock. Every call of a backend parks. When all goroutines of the bubble are
// blocked, the scheduler sorts the parked calls by name, draws a fate for each, and
// executes exactly one event: it executes a call, delivers an answer, or executes a
// late call whose caller has given up. A digest of all events shows that a seed runs
// the same way twice.
//
// A run has two phases. In the first, clients write and search, global records
// change, operators rebuild, and the faults of the seed occur. Then faults end, late
// calls arrive within LateAfterHeal, and the servers alone have LagBound to make every
// document consistent.
//
// The models are checked against the real Postgres and Elasticsearch: one suite of
// cases runs on both (conformance_test.go). The package is for tests only.
package simulation
