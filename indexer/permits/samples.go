package permits

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// samples are made-up rows in the form of the sources that ship.
//
//go:embed samples/*.csv
var samples embed.FS

// MadeUp are made-up rows in the form of a shipped source; false if there are none. Those of
// calgary are real.
func MadeUp(source string) (Input, bool) {
	if source == "calgary" {
		return Calgary(), true
	}
	text, err := samples.ReadFile(path.Join("samples", source+".csv"))
	return Memory(source+".csv", text), err == nil
}

// WithSamples lists the sources that have rows in the program.
func WithSamples() []string {
	names := []string{"calgary"}
	entries, _ := samples.ReadDir("samples") // a constant of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".csv"))
	}
	slices.Sort(names)
	return names
}
