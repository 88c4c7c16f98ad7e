package input

import (
	"fmt"
	"slices"
	"strings"

	"atlas/internal/edits"
)

// Nearest returns the known name that a name was probably meant to be: a synonym from other
// services; or the one with the fewest edits, preferring the same first character, then the
// first; or the only one that contains its words or is contained in it. It ignores case,
// hyphens, underscores and spaces. It returns "" if more than a third of the name differs,
// or if the name has over maxPathElement bytes.
func Nearest(name string, known []string) (nearest string) {
	if len(name) > maxPathElement {
		return ""
	}
	plain := unmarked(name)
	if slices.Contains(known, name) {
		return name
	}
	if s := synonym(plain, known); s != "" && !slices.ContainsFunc(known, func(k string) bool { return unmarked(k) == plain }) {
		return s
	}
	fewest, begins := len(plain)/3+1, false
	for _, k := range known {
		other := unmarked(k)
		if plain == other {
			return k
		}
		n := edits.Distance(plain, other, min(len(plain), len(other))/3)
		if n > min(len(plain), len(other))/3 {
			continue
		}
		if same := other[0] == plain[0]; n < fewest || n == fewest && same && !begins {
			nearest, fewest, begins = k, n, same
		}
	}
	if nearest == "" {
		nearest = ofWords(name, known)
	}
	return nearest
}

// ofWords is the only known name that ends or begins with a name, in whole words, or has
// its several words in their order; or the other way round: "workspace_status" for
// "status", "units" for "residential_units". "" if there is none, or several.
func ofWords(name string, known []string) (found string) {
	const fewest = 4 // letters: shorter words occur in too many names
	words := func(text string) []string { return strings.Split(spaced.Replace(strings.ToLower(text)), "_") }
	for _, k := range known {
		if strings.HasPrefix(k, "without_") {
			continue // its opposite is known too
		}
		long, short := words(k), words(name)
		if len(long) < len(short) {
			long, short = short, long
		}
		n := len(short)
		if len(strings.Join(short, "_")) < fewest ||
			!slices.Equal(long[:n], short) && !slices.Equal(long[len(long)-n:], short) && (n < 2 || !within(short, long)) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
}

// within reports whether words occur in others, in their order.
func within(short, long []string) bool {
	for _, word := range long {
		if len(short) > 0 && word == short[0] {
			short = short[1:]
		}
	}
	return len(short) == 0
}

var spaced = strings.NewReplacer("-", "_", " ", "_")

// Synonym reports whether other APIs use another name for the same.
func Synonym(given, name string) bool { return slices.Contains(synonyms[unmarked(given)], name) }

func synonym(plain string, known []string) string {
	for _, s := range synonyms[plain] {
		for _, k := range known {
			if k == s {
				return k
			}
		}
	}
	return ""
}

var marks = strings.NewReplacer("-", "", "_", "", " ", "")

func unmarked(name string) string { return marks.Replace(strings.ToLower(name)) }

// DidYouMean is the end of a message about an unknown name: the question whether the
// nearest known name was meant, between before and after, or "" if none is near.
func DidYouMean(before, name string, known []string, after string) string {
	switch nearest := Nearest(name, known); {
	case nearest == "":
		return ""
	case nearest == "offset" && unmarked(name) == "page":
		return before + `did you mean "offset"? It counts records: page 2 has the offset of one limit` + after
	default:
		return fmt.Sprintf("%sdid you mean %q?%s", before, nearest, after)
	}
}
