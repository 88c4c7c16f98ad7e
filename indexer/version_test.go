package indexer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/internal/durable"
	"atlas/search/catalog"
)

// A work folder of the previous version is resumed. If records or documents have changed
// since, it is refused, with advice.
func TestWorkFolderOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	w, fresh := newWorld(t), newWorld(t)
	dir := folder(t, relatedFiles(""))
	want := fresh.load(t, fresh.options(dir))

	o := w.options(dir)
	o.WorkDir = t.TempDir()
	if err := os.CopyFS(o.WorkDir, os.DirFS("testdata/load-1")); err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	path := filepath.Join(o.WorkDir, "manifest.json")
	if _, err := durable.ReadJSON(path, &manifest); err != nil {
		t.Fatal(err)
	}
	manifest["index_prefix"] = w.names.Prefix
	manifest["dead_letters"] = filepath.Join(o.WorkDir, "dead-letters.ndjson")
	for _, in := range manifest["inputs"].([]any) {
		input := in.(map[string]any)
		file := filepath.Join(dir, filepath.Base(input["path"].(string)))
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		input["path"], input["modified"] = file, info.ModTime().UTC().Format(time.RFC3339Nano)
	}
	if err := durable.ReplaceJSON(path, manifest); err != nil {
		t.Fatal(err)
	}
	report, err := indexer.Load(t.Context(), o)
	if changed, ok := errors.AsType[*indexer.ChangedError](err); ok {
		if diff := cmp.Diff(
			[]string{"another version of Atlas began it, whose records or documents look different", "texts are folded by version 3 now, and were by version 1"},
			changed.Changes,
		); diff != "" {
			t.Error(diff)
		}
		o.Restart = true
		report, err = indexer.Load(t.Context(), o)
	} else if report.Resumed != 1 || report.Generation != "20260304t050607z-3697b5" {
		t.Errorf("%+v", report)
	}
	if err != nil || !report.Switched {
		t.Fatalf("%v %+v", err, report)
	}
	if diff := cmp.Diff(want.Problems, report.Problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(readDeadLetters(t, want.DeadLetters), readDeadLetters(t, report.DeadLetters)); diff != "" {
		t.Error(diff)
	}
	for _, d := range catalog.Datasets {
		if diff := cmp.Diff(fresh.documents(t, d), w.documents(t, d)); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work folder stays: %v", err)
	}
}
