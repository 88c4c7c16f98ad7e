package searchtest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
)

// Indices are the four indices of a test with their aliases, under a prefix of their own.
type Indices struct {
	Client *elastic.Client
	Names  mappings.Names
}

// NewIndices creates empty indices on the node at an address, and deletes them when
// the test ends.
func NewIndices(t testing.TB, url string, s mappings.Settings) Indices {
	t.Helper()
	x := newNames(t, url)
	created := x.create(t, s)
	t.Cleanup(func() {
		// The context of the test is already cancelled.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := x.Client.DeleteIndices(ctx, created...); err != nil {
			t.Error(err)
		}
	})
	return x
}

// newNames returns names of indices that no other test has and that do not exist yet.
func newNames(t testing.TB, url string) Indices {
	t.Helper()
	return Indices{NewClient(t, url), mappings.Names{Prefix: "test-" + uuid.NewString() + "-"}}
}

// create creates the indices and their aliases, and returns the names of the indices.
func (x Indices) create(t testing.TB, s mappings.Settings) (created []string) {
	t.Helper()
	var aliases []elastic.AliasChange
	for _, d := range catalog.Datasets {
		body, err := mappings.Index(string(d), s)
		if err != nil {
			t.Fatal(err)
		}
		index := x.Names.Generation(string(d), "1")
		if err := x.Client.CreateIndex(t.Context(), index, body); err != nil {
			t.Fatal(err)
		}
		created = append(created, index)
		aliases = append(aliases, elastic.AliasChange{Index: index, Alias: x.Names.Alias(string(d))})
	}
	if err := x.Client.ChangeAliases(t.Context(), aliases); err != nil {
		t.Fatal(err)
	}
	return created
}

// maxBatch bounds a bulk request, in bytes.
const maxBatch = 8 << 20

// Put indexes documents of a dataset. Searches find them after a Refresh.
func (x Indices) Put(t testing.TB, d catalog.Dataset, docs ...Document) {
	t.Helper()
	var batch elastic.Batch
	for i, doc := range docs {
		batch.Index(doc.ID, doc.Body)
		if batch.Size() < maxBatch && i < len(docs)-1 {
			continue
		}
		refused, err := x.Client.Bulk(t.Context(), x.Names.Alias(string(d)), &batch, elastic.Retry{For: 30 * time.Second})
		if err != nil || len(refused) > 0 {
			t.Fatalf("%s: %v, refused: %+v", d, err, refused)
		}
		batch.Reset()
	}
}

// Refresh makes documents that were put visible to searches.
func (x Indices) Refresh(t testing.TB) {
	t.Helper()
	for _, d := range catalog.Datasets {
		if err := x.Client.Refresh(t.Context(), x.Names.Alias(string(d))); err != nil {
			t.Fatal(err)
		}
	}
}

// Load puts all documents of a world and refreshes.
func (x Indices) Load(t testing.TB, w *World) {
	t.Helper()
	for d, docs := range w.Documents() {
		x.Put(t, d, docs...)
	}
	x.Refresh(t)
}
