// Package words reads a query in words: each word in its forms and synonyms, phrases,
// exclusions and prefixes (docs/api.md, "Words"). It is a pure function of the text and of
// published tables, so that another program can recompute it.
package words
