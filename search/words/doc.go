// Package words reads a query the way its author means it: each word in its forms and
// synonyms, phrases, exclusions and beginnings (docs/api.md, "Words"). It is a pure
// function of the text and of published tables, so that another program can recompute it.
package words
