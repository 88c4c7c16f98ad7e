// Package conformance holds exchanges with an API against its OpenAPI document,
// in tests: what is answered must be in the document and what the document
// promises must be answered, a request that was accepted must be one that the
// document allows, and one that the document allows may be refused for reasons
// only that a schema cannot say. It knows JSON over HTTP, as far as Atlas uses
// it, and is for tests only.
package conformance
