package indexer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/mappings"
)

// A load that ended is listed with its progress until it is resumed. Those of another
// installation are not listed.
func TestUnfinishedLoads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	look := func(want ...indexer.UnfinishedLoad) {
		t.Helper()
		got := indexer.UnfinishedLoads(w.names, w.temp)
		for i := range got {
			if i < len(want) && (got[i].Phase == indexer.Indexing) && (got[i].Done < want[i].Done || got[i].Done >= got[i].Total) {
				t.Errorf("%d of %d records done", got[i].Done, got[i].Total)
			}
		}
		ignored := cmpopts.IgnoreFields(indexer.UnfinishedLoad{}, "Done", "Seconds", "Holder")
		if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	look()

	dir := manyAccounts(t)
	o := w.small(dir)
	o.CheckpointRecords = 2
	ended := w.ended(t, o)
	at := indexer.UnfinishedLoad{
		WorkDir: ended.WorkDir, Generation: ended.Generation, Dir: dir, Started: loadedAt, Phase: indexer.Indexing, Total: 200, Done: 2,
	}
	look(at)
	if err := os.WriteFile(filepath.Join(ended.WorkDir, ".manifest.json.123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(at) // a file being written is not read
	if other := indexer.UnfinishedLoads(mappings.Names{Prefix: "another-"}, w.temp); len(other) != 0 {
		t.Errorf("%+v", other)
	}
	if named := indexer.UnfinishedLoads(w.names, t.TempDir(), ended.WorkDir, t.TempDir()); len(named) != 1 ||
		named[0].WorkDir != ended.WorkDir {
		t.Errorf("%+v", named)
	}
	load := indexer.UnfinishedLoads(w.names, w.temp)[0]
	if load.InUse() {
		t.Error("a load that ended has its folder still")
	}
	o.Listener = &listener{check: func(string) {
		if !load.InUse() {
			t.Error("a load at work does not have its folder")
		}
	}}
	w.load(t, o)
	look()
}
