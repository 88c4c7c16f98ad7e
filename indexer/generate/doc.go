// Package generate makes synthetic datasets of any size with the properties of real ones: a
// few firms with thousands of projects and most with one, popular cities, missing values,
// accents, equal names. It is for trials, tests and measurements. Nothing in it is true of
// anyone: every address is under a reserved domain. Samples of real data are package
// permits.
//
// No record is stored. Each is computed from the seed, its kind and its number whenever it
// is needed. So links can be followed in both directions by arithmetic, and memory does not
// grow with the dataset.
package generate
