// Package people tells firms from private persons, and takes persons out of texts
// (docs/sources.md, "Private persons"). Its rules are cautious: what may be a person is none
// of the firms.
package people
