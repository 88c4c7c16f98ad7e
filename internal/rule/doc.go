// Package rule states what a request body must be, once: a Rule reads a value
// into a Go value, with an issue for every problem, and has the JSON Schema that
// the API's document shows. What a rule accepts its schema allows.
//
// It holds no rule of the domain. Package query makes the rules of search requests
// from the field catalog.
package rule
