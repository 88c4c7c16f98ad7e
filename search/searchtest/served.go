package searchtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/document"
)

// NewClient is a client of the node at an address.
func NewClient(t testing.TB, url string) *elastic.Client {
	t.Helper()
	c, err := elastic.New(elastic.Config{Addresses: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// DeleteIndices deletes the indices whose aliases match a pattern. It is for the end of a
// test, whose context is cancelled by then.
func DeleteIndices(t testing.TB, c *elastic.Client, pattern string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	indices, err := c.Aliases(ctx, pattern)
	if err != nil {
		t.Error(err)
	}
	for index := range indices {
		if err := c.DeleteIndices(ctx, index); err != nil {
			t.Error(err)
		}
	}
}

// Served returns the documents of a dataset by id, as they are served: the public record
// and the digest of the whole document, which every document must have.
func Served(t testing.TB, c *elastic.Client, names mappings.Names, d catalog.Dataset) map[string]string {
	t.Helper()
	const page = 2_000
	all := map[string]string{}
	search := map[string]any{"size": page, "sort": []string{"id"}, "docvalue_fields": []string{document.DigestField}}
	for {
		hits, err := elastic.Hits[string](t.Context(), c, names.Alias(string(d)), search)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			digest, ok := h.Long(document.DigestField)
			if !ok {
				t.Fatalf("%s %s has no digest", d, h.ID)
			}
			all[h.ID] = fmt.Sprintf("%s%d", h.Source, digest)
		}
		if len(hits) < page {
			return all
		}
		search["search_after"] = hits[page-1].Sort
	}
}

// Children are the related records of a record among the records of a model in memory.
// Every call reads all records.
type Children struct {
	Parent  catalog.Dataset
	ID      string
	Records func(catalog.Dataset) iter.Seq[document.Record]
}

var _ document.Children = Children{}

func (c Children) of(child catalog.Dataset) []document.Record {
	rel := catalog.Relations[slices.IndexFunc(catalog.Relations, func(r catalog.Relation) bool {
		return r.Parent == c.Parent && r.Child == child
	})]
	var found []document.Record
	for r := range c.Records(child) {
		if slices.Contains(r.Parents(rel), c.ID) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b document.Record) int {
		return cmp.Or(-cmp.Compare(a.Millis(rel.Newest), b.Millis(rel.Newest)), cmp.Compare(a.ID(), b.ID()))
	})
	return found
}

// Count implements document.Children.
func (c Children) Count(child catalog.Dataset) int64 { return int64(len(c.of(child))) }

// Newest implements document.Children.
func (c Children) Newest(child catalog.Dataset) []document.Child {
	var newest []document.Child
	for _, r := range c.of(child) {
		newest = append(newest, document.Child{DetectedAt: r.Millis("detected_at"), Fragment: document.Fragment(r)})
	}
	return newest[:min(len(newest), catalog.MaxChildren)]
}
