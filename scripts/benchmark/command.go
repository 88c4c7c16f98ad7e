package main

import "strings"

// keptIn is where results are kept, seen from the root of the repository.
const keptIn = "docs/benchmarks.md"

// commandLine is how a run is repeated by others: without where it kept its data
// and which file the binary was.
func commandLine(args []string) string {
	words := []string{"scripts/bench"}
	for i := 0; i < len(args); i++ {
		name, _, together := strings.Cut(args[i], "=")
		if name == "--dir" || name == "--atlas" {
			if !together {
				i++ // its value
			}
			continue
		}
		word := args[i]
		if at := strings.LastIndex(word, "/"+keptIn); at >= 0 && strings.HasSuffix(word, keptIn) {
			word = keptIn
			if together {
				word = name + "=" + keptIn
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
