package index

import (
	"bytes"
	"strings"
	"testing"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/generation"
)

func TestUnfinishedLoadLine(t *testing.T) {
	t.Parallel()
	l := unfinishedLoad{UnfinishedLoad: indexer.UnfinishedLoad{
		WorkDir: "w", Dir: "data", Generation: "g", Phase: indexer.Indexing, Done: 30, Total: 90,
	}}
	if got, want := l.String(), "load of data into g: indexing, 30 of 90 records (33 %) at its last checkpoint; not running, the same command goes on with it in w"; got != want {
		t.Errorf("%s", got)
	}
	l.Phase, l.Running = indexer.Reading, true
	if got, want := l.String(), "load of data into g: reading, 30 lines at its last checkpoint; running"; got != want {
		t.Errorf("%s", got)
	}
}

// A delta that was not applied whole is reported.
func TestStatusShowsUnfinishedDeltas(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printStatus(&cli.Streams{Out: &out}, StatusReport{Generations: []generation.Generation{
		{Name: "20260304t050607z-abcdef", State: generation.Served, Deltas: []string{"20260304t050709z-abcdef"}},
	}})
	if err != nil || !strings.Contains(out.String(), "the delta 20260304t050709z-abcdef was begun on 20260304t050607z-abcdef and is not finished\n") {
		t.Errorf("%v %s", err, &out)
	}
}
