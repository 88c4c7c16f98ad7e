// Package reading turns a question in words into the conditions of a search, by rules over
// the field catalog and its vocabularies, numbers, dates, and the values that a Lookup
// knows (docs/api.md, "Questions in words"). It is pure: it runs no search. Package words
// defines how words match records.
package reading
