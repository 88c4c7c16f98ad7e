// Package reading turns a question in words into the conditions of a search, by rules over
// the field catalog and its vocabularies, numbers, dates, and the values that a Lookup knows
// (docs/api.md, "Questions in words"). It is a pure function: it searches nothing, and
// applies nothing. How words match records is for package words.
package reading
