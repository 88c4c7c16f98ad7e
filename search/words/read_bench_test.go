package words

import (
	"strings"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for name, q := range map[string]string{"usual": "garages calgary nw", "long": strings.Repeat("single family house ", 25)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Published.Read(q, strings.ToLower)
			}
		})
	}
}
