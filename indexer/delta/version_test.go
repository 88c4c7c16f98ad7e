package delta_test

import (
	"os"
	"strings"
	"testing"

	"atlas/indexer/delta"
	"atlas/internal/fault"
	"atlas/search/query"
)

// A work folder that the version before left is refused, with what to do, and can
// be given up.
func TestWorkFolderOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	o := w.options(t, map[query.Dataset]string{query.Accounts: lines(`{"id":"` + account(1) + `","name":"Firm"}`)})
	if err := os.CopyFS(o.WorkDir, os.DirFS("testdata/delta-1")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // nothing is touched
		_, err := delta.Apply(t.Context(), o)
		if fault.CodeOf(err) != fault.Internal || !strings.Contains(err.Error(), "was written by another version of Atlas; finish the delta with that one, or give it up") {
			t.Fatalf("%v", err)
		}
	}
	o.Abandon = true
	if report, err := delta.Apply(t.Context(), o); err != nil || report.Changed() != 1 {
		t.Errorf("%v %+v", err, report)
	}
	w.wantClean(t)
}
