package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/api"
	"atlas/search/query"
	"atlas/workspace"
)

// Another workspace finds nothing of a book by any route, and changes nothing of
// it, whatever ids it knows.
func TestBooksAreApart(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	other, err := s.directory.CreateWorkspace(t.Context(), "Other", workspace.Pro, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := s.newKey(workspace.NewKey{Name: "other", Workspaces: []workspace.ID{other.ID}, Scopes: workspace.AllScopes()})
	// Naming the workspace is refused on every route there is.
	ids := map[query.Dataset]string{}
	for _, d := range query.Held {
		ids[d] = s.search(d, `{"limit":1}`).ids(t)[0]
	}
	for _, route := range (&api.Server{}).Routes() {
		if route.Caller == api.Newcomers {
			continue // is in no workspace
		}
		path := strings.NewReplacer(":dataset", "accounts", ":key", "name", ":id", ids[query.Accounts], ":userId", uuid.NewString(),
			":viewId", uuid.NewString(), ":recordId", ids[query.Accounts]).Replace(route.Path)
		for _, in := range []workspace.ID{s.pro.ID, workspace.NewID()} {
			a := s.call(route.Method, path+"?workspace_id="+in.String(), key, map[bool]string{true: "{}"}[route.Method != http.MethodGet])
			if a.status != 403 || a.body.Error.Code != "forbidden" {
				t.Errorf("%s %s: %d %s", route.Method, path, a.status, a.raw)
			}
		}
	}
	for _, d := range query.Held {
		path, id := "/workspace/"+string(d), ids[d]
		kept := s.call("POST", path+"/upsert", s.key, fmt.Sprintf(`{%q:%q,"workspace_status":"ours","tags":["ours"]}`, workspace.IDKey(d), id))
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
		own := s.call("POST", path+"/upsert", key, fmt.Sprintf(`{%q:%q,"notes":"theirs"}`, workspace.IDKey(d), id))
		if own.status != 200 || strings.Contains(string(own.raw), "ours") {
			t.Errorf("%s: another's upsert: %d %s", d, own.status, own.raw)
		}
		// A cursor of one book is none of another.
		if a := s.call("GET", path+"/"+id, s.key, ""); !cmp.Equal(string(a.body.Data), string(kept.body.Data)) {
			t.Errorf("%s: it has changed: %s", d, a.raw)
		}
		if a := s.call("POST", path+"/search", s.key, `{}`); !cmp.Equal(a.ids(t), []string{id}) {
			t.Errorf("%s: the book: %s", d, a.raw)
		}
	}
}

// A cursor belongs to one workspace's book of one dataset.
func TestBookCursors(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	other, err := s.directory.CreateWorkspace(t.Context(), "Other", workspace.Pro, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := s.newKey(workspace.NewKey{Name: "both", Workspaces: []workspace.ID{s.pro.ID, other.ID}, Scopes: workspace.AllScopes()})
	var inputs []string
	for _, id := range s.search(query.Accounts, `{"limit":30}`).ids(t) {
		inputs = append(inputs, fmt.Sprintf(`{"account_id":%q}`, id))
	}
	body := `{"inputs":[` + strings.Join(inputs, ",") + `]}`
	for _, in := range []workspace.ID{s.pro.ID, other.ID} {
		if a := s.call("POST", "/workspace/accounts/upsert/batch?workspace_id="+in.String(), key, body); a.status != 200 {
			t.Fatalf("%s", a.raw)
		}
	}
	for _, sort := range []string{"name asc", "updated_at desc", "atlas_score desc", "atlas_score asc", "projects_count desc", "created_at asc"} {
		field, order, _ := strings.Cut(sort, " ")
		search := func(path, cursor string) answer {
			return s.call("POST", path, key, fmt.Sprintf(`{"limit":10,"sort":{"field":%q,"order":%q},"search_after":%s}`, field, order, cursor))
		}
		seen := map[string]bool{}
		cursor, pages := "null", 0
		for cursor != "" {
			a := search("/workspace/accounts/search", cursor)
			if a.status != 200 || a.body.Metadata.Total != 30 {
				t.Fatalf("%s: %d %s", sort, a.status, a.raw)
			}
			for _, id := range a.ids(t) {
				if seen[id] {
					t.Errorf("%s: %s twice", sort, id)
				}
				seen[id] = true
			}
			next := ""
			if a.body.Metadata.SearchAfter != nil {
				next = fmt.Sprintf("%q", *a.body.Metadata.SearchAfter)
			}
			if pages++; pages == 2 {
				for _, path := range []string{"/workspace/accounts/search?workspace_id=" + other.ID.String(), "/workspace/contacts/search", "/data/accounts/search"} {
					if a := search(path, cursor); a.status != 400 {
						t.Errorf("%s: its cursor at %s: %d %s", sort, path, a.status, a.raw)
					}
				}
			}
			cursor = next
		}
		if len(seen) != 30 || pages != 3 {
			t.Errorf("%s: %d records on %d pages", sort, len(seen), pages)
		}
	}
}
