package search_test

import (
	"encoding/json"
	"testing"

	"atlas/internal/input"
	"atlas/search"
	"atlas/search/query"
)

// BenchmarkParse parses all requests of the golden files in one iteration.
func BenchmarkParse(b *testing.B) {
	bodies := make([]input.Value, len(compiled))
	for i, c := range compiled {
		bodies[i], _ = input.Decode([]byte(c.body))
	}
	b.ReportAllocs()
	for b.Loop() {
		for i, c := range compiled {
			if _, err := query.Parse(bodies[i], c.dataset, c.base); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkCompile compiles all requests of the golden files in one iteration.
func BenchmarkCompile(b *testing.B) {
	queries := make([]query.Query, len(compiled))
	for i, c := range compiled {
		queries[i] = parse(b, c.dataset, c.base, c.body)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i, c := range compiled {
			search.Compile(queries[i], json.RawMessage(c.after))
		}
	}
}
