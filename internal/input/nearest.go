package input

import (
	"fmt"
	"strings"

	"atlas/internal/edits"
)

// Nearest returns the known name that a name was probably meant to be: the one with the
// fewest edits; of several one with the same first character, then the first. It ignores
// case, hyphens, underscores and spaces. A name of which more than a third differs is
// none: "", as is one of over maxPathElement bytes.
func Nearest(name string, known []string) (nearest string) {
	if len(name) > maxPathElement {
		return ""
	}
	plain := unmarked(name)
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
	return nearest
}

var marks = strings.NewReplacer("-", "", "_", "", " ", "")

func unmarked(name string) string { return marks.Replace(strings.ToLower(name)) }

// DidYouMean is the end of a message about an unknown name: the question whether the
// nearest known name was meant, between before and after, or "" if none is near.
func DidYouMean(before, name string, known []string, after string) string {
	if nearest := Nearest(name, known); nearest != "" {
		return fmt.Sprintf("%sdid you mean %q?%s", before, nearest, after)
	}
	return ""
}
