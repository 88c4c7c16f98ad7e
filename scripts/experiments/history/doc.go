// Package history checks what clients of Atlas observed during faults. Each answer is
// an operation on one object: a record in a workspace, a View, or the Favorites of a
// user. Porcupine searches for an order of the operations, within their times, in which
// all answers are correct.
//
// # What is linearizable
//
// The state of a record is what Postgres stores: the overlay, and the Static Views that
// contain the record. Writes, gets and the answers of upserts are operations on it,
// like those of a register.
//
// A search is two reads of each record: Elasticsearch decides which rows are found, and
// Postgres is read later for what they show. Each is one read at some moment between
// the start and the end of the search:
//
//   - The document of a record has the content of one version of its row. A search sees all
//     writes of its workspace that were acknowledged before it started, so the version is the
//     one that was current at the start or a later one. A version is committed before it is
//     projected. So at some moment within the search that version was the current one.
//   - Postgres is read within the search.
//
// So a row that a search finds by a condition means "the condition held at some moment"
// and "the row had this content at some moment". A record that is not found means "the
// condition did not hold at some moment". (A row whose overlay is deleted between the
// two reads is left out too, and then the condition does not hold either.) The order of
// the two reads is not checked. A batch is not one operation: its items are operations
// on their records, with the same start and end.
//
// A write whose answer is lost or a 503 has an unknown outcome: it was executed or not,
// before a time after which it can no longer have an effect. The creator of the history
// provides that time.
//
// # What is checked separately
//
// Loads and deltas change global records, and searches do not wait for them: a row
// shows a version whose write has begun (Versions). Credits are checked against bounds,
// not as a state: see Ledger.
//
// The package neither sends requests nor injects faults.
package history
