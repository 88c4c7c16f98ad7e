// Package clients tests that the clients in Go (package atlas/client), Python and
// TypeScript behave alike: what they send, what they repeat, and what they make of
// answers. The table is behaviour.json.
package clients
