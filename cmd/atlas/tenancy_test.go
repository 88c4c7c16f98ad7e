package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/client"
	"atlas/search/catalog"
	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
)

// No route lets another workspace find or change anything of a book, even with its ids.
func TestBooksAreApart(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	other, err := s.directory.CreateWorkspace(t.Context(), "Other", workspace.Pro, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := s.newKey(people.NewKey{Name: "other", Workspaces: []workspace.ID{other.ID}, Scopes: workspace.AllScopes()})
	// Every route refuses the id of a foreign workspace.
	ids := map[catalog.Dataset]string{}
	for _, d := range catalog.Held {
		ids[d] = s.search(d, `{"limit":1}`).ids(t)[0]
	}
	for _, route := range (&api.Server{}).Routes() {
		if route.Caller == endpoint.Newcomers {
			continue // has no workspace
		}
		path := strings.NewReplacer(":dataset", "accounts", ":key", "name", ":id", ids[catalog.Accounts], ":userId", uuid.NewString(),
			":viewId", uuid.NewString(), ":recordId", ids[catalog.Accounts]).Replace(route.Path)
		for _, in := range []workspace.ID{s.pro.ID, workspace.NewID()} {
			a := s.call(route.Method, path+"?workspace_id="+in.String(), key, map[bool]string{true: "{}"}[route.Method != http.MethodGet])
			if a.status != 403 || a.body.Error.Code != "forbidden" {
				t.Errorf("%s %s: %d %s", route.Method, path, a.status, a.raw)
			}
		}
	}
	for _, d := range catalog.Held {
		path, id := "/workspace/"+string(d), ids[d]
		kept := s.call("POST", path+"/upsert", s.key, fmt.Sprintf(`{%q:%q,"workspace_status":"ours","tags":["ours"]}`, book.IDKey(d), id))
		if kept.status != 200 {
			t.Fatalf("%s: %s", d, kept.raw)
		}
		if a := s.call("GET", path+"/"+id, key, ""); a.status != 404 {
			t.Errorf("%s: another gets it: %d %s", d, a.status, a.raw)
		}
		for _, body := range []string{`{}`, `{"filters":{"tags":{"value":"ours"}}}`, `{"filters":{"workspace_status":{"value":"ours"}}}`} {
			if a := s.call("POST", path+"/search", key, body); a.status != 200 || len(a.ids(t)) != 0 || a.body.Metadata.Total != 0 {
				t.Errorf("%s: another finds it by %s: %d %s", d, body, a.status, a.raw)
			}
		}
		if a := s.call("DELETE", path+"/"+id, key, ""); a.status != 200 {
			t.Errorf("%s: %d %s", d, a.status, a.raw)
		}
		if a := s.call("POST", path+"/delete/batch", key, fmt.Sprintf(`{"ids":[%q]}`, id)); a.status != 200 {
			t.Errorf("%s: %d %s", d, a.status, a.raw)
		}
		own := s.call("POST", path+"/upsert", key, fmt.Sprintf(`{%q:%q,"notes":"theirs"}`, book.IDKey(d), id))
		if own.status != 200 || strings.Contains(string(own.raw), "ours") {
			t.Errorf("%s: another's upsert: %d %s", d, own.status, own.raw)
		}
		// A cursor of one book is invalid for another.
		if a := s.call("GET", path+"/"+id, s.key, ""); !cmp.Equal(string(a.body.Data), string(kept.body.Data)) {
			t.Errorf("%s: it has changed: %s", d, a.raw)
		}
		if a := s.call("POST", path+"/search", s.key, `{}`); !cmp.Equal(a.ids(t), []string{id}) {
			t.Errorf("%s: the book: %s", d, a.raw)
		}
	}
}

// A cursor is valid for one dataset of one workspace's book.
func TestBookCursors(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	w := must(s.directory.CreateWorkspace(t.Context(), "Other", workspace.Pro, 0))(t)
	c := s.client(s.newKey(people.NewKey{Name: "both", Workspaces: []workspace.ID{s.pro.ID, w.ID}, Scopes: workspace.AllScopes()}))
	other := c.In(w.ID.String())
	var upserts []client.AccountUpsert
	for _, a := range must(c.Accounts.Search(t.Context(), client.Search{Limit: 30}))(t).Records {
		upserts = append(upserts, client.AccountUpsert{AccountID: a.ID})
	}
	for _, in := range []*client.Client{c, other} {
		if b := must(in.Book.Accounts.UpsertAll(t.Context(), upserts))(t); b.Err() != nil {
			t.Fatal(b.Err())
		}
	}
	for _, sort := range []*client.Sort{
		client.Asc("name"), client.Desc("updated_at"), client.Desc("atlas_score"), client.Asc("atlas_score"),
		client.Desc("projects_count"), client.Asc("created_at"),
	} {
		q := client.Search{Limit: 10, Sort: sort}
		seen, pages := map[string]bool{}, 0
		for page, err := range c.Book.Accounts.Pages(t.Context(), q) {
			if err != nil || page.Total != 30 {
				t.Fatalf("%v: %v %+v", sort, err, page)
			}
			for _, a := range page.Records {
				if seen[a.ID] {
					t.Errorf("%v: %s twice", sort, a.ID)
				}
				seen[a.ID] = true
			}
			if pages++; pages != 2 {
				continue
			}
			q.SearchAfter = page.Next
			for _, foreign := range []*client.Source[json.RawMessage]{
				&other.Book.Dataset("accounts").Source, &c.Book.Dataset("contacts").Source,
				&c.Dataset("accounts").Source,
			} {
				// A sort that is unknown there is refused for that reason.
				if _, err := foreign.Search(t.Context(), q); !errors.Is(err, client.ErrBadRequest) && !errors.Is(err, client.ErrInvalidInput) {
					t.Errorf("%v: its cursor elsewhere: %v", sort, err)
				}
			}
		}
		if len(seen) != 30 || pages != 3 {
			t.Errorf("%v: %d records on %d pages", sort, len(seen), pages)
		}
	}
}
