package delta_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"atlas/indexer/delta"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// A work folder of another version is refused, with advice, and can be abandoned.
func TestWorkFolderOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(`{"id":"` + account(1) + `","name":"Firm"}`)})
	fatal(t, os.MkdirAll(o.WorkDir, 0o700))
	fatal(t, os.WriteFile(filepath.Join(o.WorkDir, "state.json"), []byte(`{"version":1,"stage":"apply"}`), 0o600))
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

// A delta would fold texts as this version does. So it refuses a generation of another
// folding, and touches nothing.
func TestDeltaOfAnotherFolding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	indices, err := w.elastic.Aliases(t.Context(), w.names.Alias(string(catalog.Accounts))+"-*")
	fatal(t, err)
	for index := range indices { // as the version before made it
		_, err := w.elastic.Do(t.Context(), esapi.IndicesPutMappingRequest{
			Index: []string{index}, Body: strings.NewReader(`{"_meta":{"version":"x"}}`),
		})
		fatal(t, err)
	}
	_, err = delta.Apply(t.Context(), w.options(t, firms(1)))
	if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "folded by version 1") ||
		!strings.Contains(err.Error(), "atlas index load") {
		t.Errorf("%v", err)
	}
	w.wantAccounts(t, 0, "after a delta that was refused")
}
