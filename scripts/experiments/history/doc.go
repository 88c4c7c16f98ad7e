// Package history judges what clients of Atlas saw while things broke: each
// answer is an operation on one thing (a record in a workspace, a View, the
// Favorites of a user), and Porcupine looks for an order of the operations,
// within the times they took, in which all answers are right.
//
// # What is linearizable, and what a search is
//
// The state of a record is what Postgres has of it: the overlay, and the Static
// Views it is in. Writes, gets, and what an upsert answers are operations on it
// like those of a register.
//
// A search is two reads of each record. Which rows come is decided by
// Elasticsearch, what they show is read from Postgres afterwards. Either is one
// read somewhere between the beginning and the end of the search:
//
//   - The document of a record is that of some version of its row. A search sees
//     all that its workspace was told to be written before it began, so the
//     version is the one that was current when the search began or a later one;
//     and a version that is projected was committed before. So there is a moment
//     within the search at which that version was the current one.
//   - Postgres is read within the search.
//
// So a row of a search that asks for a condition is "the condition held at some
// moment" and "this is what was said of it at some moment"; a record that is not
// among the rows is "the condition did not hold at some moment" (a row whose
// overlay has gone between the two reads is left out too, and then the condition
// does not hold either). That the first read comes before the second is not
// judged. Neither is a batch one operation here: its items are operations on
// their records, which began and ended together.
//
// An answer that was lost, or the 503 for a write, is an unknown outcome: the
// operation was done, or not, before the time at which nothing of it could come
// any more; whoever makes the history knows that time.
//
// # What is judged apart
//
// Global records change by loads and deltas, which no search waits for: a row
// shows a version that was begun to be written (Versions). Credits are bounds,
// not a state: see Ledger.
//
// The package is not for sending requests, nor for breaking anything.
package history
