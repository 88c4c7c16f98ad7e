// Package rule defines once what a request body must be: a Rule reads a JSON value
// into a Go value, with an issue for every problem, and has the JSON Schema for the
// OpenAPI document. The schema allows everything that the rule accepts.
//
// It has no rules of the domain. Package query makes the rules of search requests
// from the field catalog.
package rule
