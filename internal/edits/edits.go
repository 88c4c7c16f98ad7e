// Package edits measures how different the spellings of two words are.
package edits

import "unicode/utf8"

// Distance returns the minimum number of edits between two words, or more+1 if there are
// more than that. An edit inserts, deletes or replaces a character (code point), or swaps
// two neighbours; no character is edited twice (the restricted Damerau-Levenshtein
// distance, which Elasticsearch uses too).
func Distance(a, b string, more int) int {
	if gap := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); gap > more || -gap > more {
		return more + 1
	}
	whole, _ := distances([]rune(a), []rune(b), more)
	return min(whole, more+1)
}

// Beginning returns the minimum Distance between a word and the prefixes of another, or
// more+1.
func Beginning(a, b []rune, more int) int {
	_, least := distances(a, b, more)
	return min(least, more+1)
}

// width is the length up to which words need no heap memory.
const width = 31

// distances returns the distance of two words, and the minimum distance between the first
// and a prefix of the second. Both are any number above more if the minimum is.
func distances(from, to []rune, more int) (whole, least int) {
	var rows [3][width + 1]int
	before, last, next := rows[0][:], rows[1][:], rows[2][:]
	if len(to) > width {
		before, last, next = make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	}
	for j := range next {
		next[j] = j
	}
	for i := range from {
		before, last, next = last, next, before
		next[0] = i + 1
		least = next[0]
		for j := range to {
			cost := 1
			if from[i] == to[j] {
				cost = 0
			}
			next[j+1] = min(last[j]+cost, last[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
			least = min(least, next[j+1])
		}
		if least > more {
			return least, least
		}
	}
	return next[len(to)], least
}
