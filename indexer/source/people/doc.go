// Package people distinguishes firms from private persons, and removes persons from texts
// (docs/sources.md, "Private persons"). Its rules are cautious: a possible person is not a
// firm.
package people
