package search_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// person is a contact of a Dynamic View: the global record and the held one. Either
// may be nil. They differ when the held document is stale.
type person struct{ global, held *document.Record }

// contact makes a contact. members are further members of the public record, each
// with a comma after it.
func contact(t testing.TB, n, projects int, members string) *document.Record {
	t.Helper()
	r, err := document.FromPublic(catalog.Contacts, fmt.Appendf(nil, `{"id":%q,"projects_count":%d,%s"updated_at":"2024-03-01T00:00:00.000Z"}`,
		searchtest.ID("c", n), projects, members))
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// unknown are values that withUnknown replaces: every loaded record has a name and
// a time.
var unknown = map[string]any{"name": "nobody", "created_at": time.Time{}.UnixMilli()}

// withUnknown replaces the values of unknown by null in a document.
func withUnknown(doc []byte) []byte {
	doc = bytes.ReplaceAll(doc, []byte(`"name":"nobody"`), []byte(`"name":null`))
	return bytes.ReplaceAll(doc, []byte(`"created_at":"0001-01-01T00:00:00.000Z"`), []byte(`"created_at":null`))
}

// linked reports whether a project names the contact.
func linked(r *document.Record) bool {
	return r != nil && r.Value("projects_count").(int64) > 0
}

// projects is the number of projects of a contact.
type projects int

// Count implements document.Children.
func (n projects) Count(catalog.Dataset) int64 { return int64(n) }

// Newest implements document.Children.
func (projects) Newest(catalog.Dataset) []document.Child { return nil }

// views has the two indices that searches of Dynamic contact Views merge: global contacts,
// and those that a workspace holds.
type views struct {
	engine  *search.Engine
	indices searchtest.Indices
	base    query.Base
}

func newViews(t testing.TB, people []person) *views {
	t.Helper()
	e, x := newEngine(t)
	v := &views{e, x, query.Base{Kind: catalog.View, Workspace: uuid.NewString(), View: uuid.NewString()}}
	body, err := mappings.Held(string(catalog.Contacts), mappings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	index, alias := x.Names.HeldGeneration(string(catalog.Contacts), "1"), x.Names.Held(string(catalog.Contacts))
	if err := x.Client.CreateIndex(t.Context(), index, body); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, x.Client, alias) })
	if err := x.Client.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: index, Alias: alias}}); err != nil {
		t.Fatal(err)
	}
	var global []searchtest.Document
	var held elastic.Batch
	send := func() {
		refused, err := x.Client.Bulk(t.Context(), alias, &held, elastic.Retry{For: 30 * time.Second})
		if err != nil || len(refused) > 0 {
			t.Fatalf("%v, refused: %+v", err, refused)
		}
		held.Reset()
	}
	for _, p := range people {
		if r := p.global; r != nil {
			n := projects(r.Value("projects_count").(int64))
			global = append(global, searchtest.Document{ID: r.ID(), Body: withUnknown(document.Build(*r, n))})
		}
		if r := p.held; r != nil {
			doc := document.BuildHeld(*r, document.None{}, document.Held{Workspace: v.base.Workspace, Overlay: unannotated{}})
			held.IndexAt(r.ID(), v.base.Workspace, 1, withUnknown(doc))
		}
		if held.Len() == 5_000 {
			send()
		}
	}
	if held.Len() > 0 {
		send()
	}
	x.Put(t, catalog.Contacts, global...)
	x.Refresh(t)
	if err := x.Client.Refresh(t.Context(), alias); err != nil {
		t.Fatal(err)
	}
	return v
}

// merged is a search of a Dynamic contact View without conditions.
type merged struct {
	searches  [2]query.Query
	countOnly query.Query
}

func (v *views) merged(t testing.TB, body string) merged {
	t.Helper()
	q := parse(t, catalog.Contacts, v.base, body)
	with := func(q query.Query, n query.Node) query.Query {
		q.Where = append(query.All{n}, q.Where...)
		return q
	}
	count, _ := catalog.FieldNamed(catalog.Contacts, "projects_count")
	named := query.Range{Field: &count, From: query.IntegerBound(1)}
	held := with(q, query.InBook{})
	held.Held = true
	return merged{[2]query.Query{with(q, named), held}, with(held, query.Not{Node: named})}
}

func (m merged) run(ctx context.Context, e *search.Engine) (query.Page, error) {
	return e.SearchMerged(ctx, m.searches, m.countOnly)
}

// unannotated is an overlay without values of the workspace's.
type unannotated struct{}

func (unannotated) Value(f *catalog.Field) any {
	if f.Name == "updated_at" {
		return int64(0)
	}
	return nil
}
