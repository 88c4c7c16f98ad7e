package permit

import (
	"io"
	"os"
	"strings"
	"testing"

	"atlas/indexer/source"
	"atlas/indexer/source/read"
)

func benchmark(b *testing.B, name, path string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Skip()
	}
	d, _ := source.Open(name)
	s, err := Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	rows := 0
	for b.Loop() {
		f, err := read.Read(strings.NewReader(text), s.Reading())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Bind(f.Format, f.Columns(), true); err != nil {
			b.Fatal(err)
		}
		for {
			row, err := f.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				continue
			}
			_, _ = s.Permit(row.Line, row.Cells)
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
func BenchmarkCalgary(b *testing.B) { benchmark(b, "calgary", "/work/shared/data/calgary-permits.csv") }
func BenchmarkAustin(b *testing.B)  { benchmark(b, "austin", "/work/shared/data/cities/austin.csv") }
func BenchmarkChicago(b *testing.B) {
	benchmark(b, "chicago", "/work/shared/data/cities/chicago-cranes.csv")
}
