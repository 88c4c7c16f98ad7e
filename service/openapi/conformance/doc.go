// Package conformance checks exchanges with an API against its OpenAPI document, in
// tests. Answers must be as documented. Accepted requests must be allowed by the
// document. Requests that the document allows may be refused only for reasons that a
// schema cannot express. It supports the subset of JSON over HTTP that Atlas uses, and
// is for tests only.
package conformance
