// Package match judges whether a record is the firm or person that an input describes:
// input × record → confidence and reasons (docs/match.md). It is pure. Package search
// finds the records that are compared; the weights were fitted to the labelled set of
// this package's tests.
package match
