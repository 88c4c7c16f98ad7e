package query_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
)

var update = flag.Bool("update", false, "write the golden file anew")

// testdata/keys.golden lists what requests filter and sort by, and what the rows of workspaces
// show. Stored requests and programs depend on it.
func TestKeysOfEachBase(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	list := func(title string, d catalog.Dataset, names []string) {
		fmt.Fprintf(&b, "%s %s\n\t%s\n", d, title, strings.Join(names, "\n\t"))
	}
	for _, d := range catalog.Datasets {
		list("filters", d, catalog.Keys(catalog.FilterFields(d, catalog.Data)))
		list("sorts", d, catalog.Names(catalog.SortFields(d, catalog.Data)))
	}
	for _, d := range catalog.Held {
		for _, base := range []catalog.BaseKind{catalog.Book, catalog.View} {
			list("filters of a "+string(base), d, catalog.Keys(catalog.FilterFields(d, base)))
			list("sorts of a "+string(base), d, catalog.Names(catalog.SortFields(d, base)))
		}
		list("record of the book", d, catalog.Names(catalog.RowFields(d, catalog.BookRecord)))
		list("row of the book", d, catalog.Names(catalog.RowFields(d, catalog.BookRow)))
		list("row of a View", d, catalog.Names(catalog.RowFields(d, catalog.ViewRow)))
	}
	const path = "testdata/keys.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got); -update writes it:\n%s", path, diff)
	}
}

// In a book or a View `updated_at` is the workspace's.
func TestUpdatedAtOfEachBase(t *testing.T) {
	t.Parallel()
	for _, base := range []catalog.BaseKind{catalog.Data, catalog.Book, catalog.View} {
		for _, d := range catalog.Held {
			for _, f := range catalog.FilterFields(d, base) {
				if f.Name == "updated_at" && f.Overlay != (base != catalog.Data) {
					t.Errorf("%s %s: updated_at is the overlay's: %v", base, d, f.Overlay)
				}
			}
		}
	}
}
