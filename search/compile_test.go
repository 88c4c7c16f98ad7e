package search_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"atlas/internal/input"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	someWorkspace = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	someView      = "550e8400-e29b-41d4-a716-446655440000"
	someID        = "0f8fad5b-d9cb-469f-a165-70867728950e"
)

var (
	dataBase = query.Base{Kind: catalog.Data}
	bookBase = query.Base{Kind: catalog.Book, Workspace: someWorkspace}
	viewBase = query.Base{Kind: catalog.View, Workspace: someWorkspace, View: someView}
)

func parse(t testing.TB, d catalog.Dataset, base query.Base, body string) query.Query {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	q, err := query.Parse(v, d, base)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

var compiled = []struct {
	name    string // of the golden file
	dataset catalog.Dataset
	base    query.Base
	body    string
	after   string
}{
	{"everything", catalog.Accounts, dataBase, `{}`, ""},
	{"offset", catalog.Contacts, dataBase, `{"offset":50,"limit":10}`, ""},
	{"offset_query", catalog.Contacts, dataBase, `{"query":"ada@firm.example","offset":50,"limit":10}`, ""},
	{"offset_query_by_name", catalog.Contacts, bookBase, `{"query":"ada","offset":50,"limit":10,"sort":{"field":"name","order":"asc"}}`, ""},
	{"offset_query_typos", catalog.Contacts, dataBase, `{"query":"ada","typos":"auto","offset":50,"limit":10}`, ""},
	{"last_page", catalog.Signals, dataBase, `{"offset":10000,"limit":100}`, ""},
	{"cursor", catalog.Projects, dataBase, `{"limit":10,"search_after":"x"}`, `[9223372036854775807,1,-2]`},
	{"sort_double", catalog.Projects, dataBase, `{"sort":{"field":"cost","order":"asc"}}`, ""},
	{"sort_name_desc", catalog.Accounts, dataBase, `{"sort":{"field":"name","order":"desc"}}`, ""},
	{"sort_overlay", catalog.Accounts, bookBase, `{"sort":{"field":"atlas_score","order":"desc"}}`, ""},
	{"sort_overlay_updated", catalog.Contacts, bookBase, `{"sort":{"field":"updated_at","order":"asc"}}`, ""},
	{"sort_view", catalog.Projects, viewBase, `{"sort":{"field":"signals_count","order":"desc"}}`, ""},
	{"relevance", catalog.Accounts, dataBase, `{"query":"  Éclair Homes "}`, ""},
	{"relevance_typos", catalog.Accounts, dataBase, `{"query":"  Éclair Homes ","typos":"auto"}`, ""},
	{"typos_in_book", catalog.Contacts, bookBase, `{"query":"Zoë","typos":"auto","filters":{"tags":{"value":"VIP"}}}`, ""},
	{"typos_without_terms", catalog.Contacts, dataBase, `{"query":"---","typos":"auto","dry_run":true}`, ""},
	{"relevance_of_signals", catalog.Signals, dataBase, `{"query":"Bow","filters":{"stage":{"value":"filed"}},"search_after":"x"}`, `[1.5,1,-2]`},
	{"query_sorted", catalog.Accounts, dataBase, `{"query":"Éclair","sort":{"field":"name","order":"asc"}}`, ""},
	{"query_in_book", catalog.Contacts, bookBase, `{"query":"Zoë","filters":{"tags":{"value":["VIP","Ärger"]},"notes":{"value":"Call back"}}}`, ""},
	{"terms", catalog.Projects, dataBase, `{"filters":{"stage":{"value":"filed"},"disposition":{"value":["active","on_hold"]},"city":{"value":"Łódź"}}}`, ""},
	{"words", catalog.Accounts, dataBase, `{"filters":{"name":{"value":"Acme Builders"},"description":{"value":["towers","bridges"]}}}`, ""},
	{
		"exact", catalog.Accounts, dataBase,
		`{"filters":{"name":{"value":["Acme","Éclair"],"exact_match":true},"description":{"value":"` + strings.Repeat("é", 600) + `","exact_match":true}}}`,
		"",
	},
	{
		"ids", catalog.Projects, dataBase,
		`{"filters":{"account_ids":{"value":["` + someID + `","` + someView + `"]},"contact_ids":{"value":"` + someID + `"}}}`,
		"",
	},
	{"spans", catalog.Projects, dataBase, `{"filters":{"stories":{"value":3},"cost":{"value":[0.5,null]},"sqft":{"value":[null,1e6]},"residential_units":{"value":[1.5,8]},"filed_at":{"value":"2024-02-29"},"detected_at":{"value":["2024-01-01T10:00:00+02:00",null]}}}`, ""},
	{"nothing", catalog.Projects, dataBase, `{"filters":{"stories":{"value":3.5}}}`, ""},
	{"relations", catalog.Accounts, dataBase, `{"relations":{"has_project":{"stage":{"value":"filed"},"name":{"value":"Tower","exact_match":true},"city":{"value":"Québec"},"description":{"value":"glass"},"cost":{"value":[1,2]}},"without_project":{"stage":{"value":"completed"}},"has_signal":{},"without_contact":{"role":{"value":["owner","other"]}}}}`, ""},
	{"all_together", catalog.Contacts, viewBase, `{"query":"Zoë","filters":{"role":{"value":"owner"},"updated_at":{"value":"2024-01-01"}},"relations":{"without_project":{}},"sort":{"field":"projects_count","order":"asc"},"limit":100}`, ""},
	{"known", catalog.Projects, dataBase, `{"filters":{"name":{"known":true},"city":{"known":false},"cost":{"known":false},"account_ids":{"known":true}},"relations":{"has_signal":{"summary":{"known":false}},"without_signal":{"occurred_at":{"known":true}}}}`, ""},
	{"known_overlay", catalog.Accounts, bookBase, `{"filters":{"notes":{"known":true},"tags":{"known":false},"icp_tier":{"known":false},"atlas_score":{"known":true},"updated_at":{"known":true}}}`, ""},
	{"locations", catalog.Accounts, bookBase, `{"relations":{"has_project":{"location":{"value":{"near":{"latitude":51.0447,"longitude":-114,"radius_m":2000.5}}}},"without_project":{"location":{"value":{"within":{"north":90,"south":51,"east":-170,"west":170}}}}}}`, ""},
	{"polygons", catalog.Accounts, bookBase, `{"relations":{"has_project":{"location":{"value":{"polygon":[{"latitude":51,"longitude":-114},{"latitude":52,"longitude":-114},{"latitude":51.5,"longitude":-113}]}}}}}`, ""},
	{"locations_known", catalog.Projects, dataBase, `{"filters":{"location":{"known":false}},"relations":{"has_signal":{}}}`, ""},
	{"groups", catalog.Accounts, dataBase, `{"filters":{"country":{"value":"CA"}},"any":[{"filters":{"name":{"value":"acme"},"city":{"value":"Calgary"}}},{"relations":{"without_project":{}}}],"none":[{"filters":{"projects_count":{"value":2.5}}},{"filters":{"domains":{"known":true}},"relations":{"has_contact":{"role":{"value":"owner"}}}}]}`, ""},
	{"groups_relevance", catalog.Signals, dataBase, `{"query":"bow","none":[{"filters":{"stage":{"value":"filed"}}}]}`, ""},
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for _, c := range compiled {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := search.Compile(parse(t, c.dataset, c.base, c.body), json.RawMessage(c.after))
			pretty := jsontext.Value(body)
			if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			pretty = append(pretty, '\n')
			path := filepath.Join("testdata", "compile", c.name+".golden.json")
			if *update {
				if err := os.WriteFile(path, pretty, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(pretty)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

// Empty conditions, which no request has: a condition that never matches must not become
// one that always does.
func TestCompileEmptyConditions(t *testing.T) {
	t.Parallel()
	stage, _ := catalog.FieldNamed(catalog.Projects, "stage")
	projects := catalog.RelationsOf(catalog.Accounts)[0]
	for name, c := range map[string]struct {
		node query.Node
		want string
	}{
		"any of nothing":   {query.Any{}, `{"match_none":{}}`},
		"no values":        {query.Terms{Field: &stage}, `{"match_none":{}}`},
		"all of nothing":   {query.All{}, `{"match_all":{}}`},
		"not nothing":      {query.Not{Node: query.Any{}}, `{"bool":{"must_not":[{"match_none":{}}]}}`},
		"an open range":    {query.Range{Field: &stage}, `{"exists":{"field":"stage"}}`},
		"any value":        {query.Exists{Field: &stage}, `{"exists":{"field":"stage"}}`},
		"a relation's any": {query.Nested{Relation: projects, Node: query.All{}}, `{"nested":{"path":"ix.projects","query":{"match_all":{}},"score_mode":"none"}}`},
		"in no View":       {query.InView{}, `{"match_none":{}}`},
	} {
		body := search.Compile(
			query.Query{Dataset: catalog.Accounts, Sort: query.DefaultSort(catalog.Accounts), Where: query.All{c.node}, Limit: 1},
			nil,
		)
		var got struct {
			Query struct {
				Bool struct {
					Filter []json.RawMessage `json:"filter"`
				} `json:"bool"`
			} `json:"query"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Query.Bool.Filter) != 1 || string(got.Query.Bool.Filter[0]) != c.want {
			t.Errorf("%s: %s, want %s", name, got.Query.Bool.Filter, c.want)
		}
	}
}
