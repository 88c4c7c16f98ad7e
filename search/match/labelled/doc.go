// Package labelled generates inputs whose right answer is known, from the names of firms in
// the building permits (docs/match.md, "The labelled set"). Noise follows rules and a seed.
// It is for tests and for fitting the weights.
package labelled
