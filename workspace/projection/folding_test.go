package projection_test

import (
	"slices"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/book"
)

// A generation of held records is written and searched with the folding that it was made with,
// until a rebuild makes the next one.
func TestHeldGenerationsKeepTheirFolding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.projector.Settings.Folding = catalog.CaseFolding // as the version before makes it
	w.upsert(t, w.one, catalog.Accounts, id("a", 0), book.OverlayChange{"workspace_status": "Ask O’Dell", "tags": tags("O’Dell")})
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{"workspace_status": "Ask O'Dell", "tags": tags("O'Dell")})
	check := func(when string, curly, plain []string) {
		t.Helper()
		for text, want := range map[string][]string{"O’Dell": curly, "O'Dell": plain} {
			for _, condition := range []query.Node{
				query.Terms{Field: overlay("tags"), Values: []string{catalog.FoldCase(text)}},
				query.Match{Field: overlay("workspace_status"), Text: catalog.FoldCase(text)},
			} {
				if got := w.found(t, w.one, catalog.Accounts, condition); !slices.Equal(got, want) {
					t.Errorf("%s: %s finds %v, want %v", when, condition, got, want)
				}
			}
		}
	}
	check("in a generation of the version before", []string{"$a0"}, []string{"$a1"})
	w.projector.Settings.Folding = catalog.NewestFolding
	fatal(t, w.projector.Rebuild(t.Context(), nil))
	check("after a rebuild", []string{"$a0", "$a1"}, []string{"$a0", "$a1"})
	w.settled(t)
	w.wantEqual(t)
}
