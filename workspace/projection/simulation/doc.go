// Package simulation runs the real code of workspace/projection, with the leases
// of workspace/postgres and the `_bulk` of internal/elastic, on models of
// Postgres, Elasticsearch and the global dataset, under one seed: a seed is a bug
// report. It follows FoundationDB's simulation and TigerBeetle's VOPR.
//
// How it is made deterministic. All of it runs in one bubble of testing/synctest.
// Every call of a backend parks; when nothing in the bubble can run any more, the
// scheduler takes in what has parked, in the order of its names, decides by the
// seed what becomes of each call, and lets exactly one thing happen: a call is
// executed, an answer arrives, a call is executed whose caller gave up long ago.
// Time is the bubble's, and no two things happen at the same nanosecond but by
// chance. What a run does is summed up in a digest, so that a test can see that a
// seed runs twice in the same way.
//
// A run has two halves. In the first, clients write and search, global records
// change, operators rebuild, and everything breaks that the seed chose. Then all
// is healed, what is still on its way arrives within LateAfterHeal, and nobody
// does anything but the servers by themselves, who have LagBound to bring every
// document in link.
//
// The models are held to the real Postgres and Elasticsearch by one suite of
// cases that runs on both (conformance_test.go). The package is for tests only.
package simulation
