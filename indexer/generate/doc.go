// Package generate makes up datasets of any size that behave like real ones: a
// few firms with thousands of projects and most with one, hot cities, values
// that are missing, accents, equal names. It is for trying out, testing and
// measuring a search over records nobody may share. It is not for samples of
// real data (package permits) and says nothing true of anyone: every address
// stands under a reserved domain.
//
// No record is remembered. Each is worked out from the seed, its kind and its
// number, as often as it is needed, so a link can be followed in both
// directions by arithmetic and memory does not grow with the dataset.
package generate
