package join_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/join"
	"atlas/workspace/views"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	in     = workspace.ID(uuid.MustParse("7c9e6679-7425-40de-944b-e07fc1f90ae7"))
	viewID = views.ID(uuid.MustParse("550e8400-e29b-41d4-a716-446655440000"))
)

const someID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// viewOf makes a Static View, or a Dynamic View of a stored definition.
func viewOf(t testing.TB, d catalog.Dataset, definition string) views.View {
	t.Helper()
	v := views.View{ID: viewID, Workspace: in, Dataset: d, Type: views.Static}
	if definition != "" {
		v.Type = views.Dynamic
		var err error
		if v.Definition, err = views.ReadDefinition([]byte(definition), d, v.Type); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func requestOn(t testing.TB, d catalog.Dataset, kind catalog.BaseKind, body string) query.Query {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	q, err := query.Parse(v, d, query.Base{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// plans are definitions of version 1 with requests. The definitions are as they
// are stored in databases, and must not be changed.
var plans = []struct {
	name       string // of the golden file
	dataset    catalog.Dataset
	definition string // "": a Static View; "book": the book
	request    string
	existing   []views.ID
}{
	{"book", catalog.Accounts, "book", `{}`, nil},
	{
		"book_request",
		catalog.Accounts,
		"book",
		`{"query":"tower","filters":{"icp_tier":{"value":"tier_1"},"tags":{"value":"VIP"},"city":{"value":"Québec"}},"sort":{"field":"atlas_score","order":"desc"},"limit":10}`,
		nil,
	},
	{"static", catalog.Contacts, "", `{}`, nil},
	{
		"static_request",
		catalog.Projects,
		"",
		`{"query":"tower","filters":{"stage":{"value":"filed"}},"relations":{"has_signal":{"signal_type":{"value":"permit_issued"}}},"sort":{"field":"name","order":"desc"}}`,
		nil,
	},
	{"static_overlay", catalog.Projects, "", `{"filters":{"workspace_status":{"value":"won"}}}`, nil},
	{"accounts_everything", catalog.Accounts, `{"version":1,"q":"","fields":{}}`, `{}`, nil},
	{"accounts_text", catalog.Accounts, `{"version":1,"q":"Éclair homes","fields":{}}`, `{"query":"Builders"}`, nil},
	{
		"accounts_fields",
		catalog.Accounts,
		`{"version":1,"q":"","fields":{"account_type":["developer","owner"],"city":["Łódź"],"last_activity":{"after":"2024-01-01","before":"2024-02-29"}}}`,
		`{"offset":50,"limit":10}`,
		nil,
	},
	{"accounts_open_days", catalog.Accounts, `{"version":1,"q":"","fields":{"last_activity":{"before":"2024-02-29"}}}`, `{}`, nil},
	{
		"accounts_overlay",
		catalog.Accounts,
		`{"version":1,"q":"","fields":{"atlas_score":{"min":"050","max":"100"},"icp_tier":["tier_1","tier_2"]}}`,
		`{}`,
		nil,
	},
	{
		"accounts_overlay_request", catalog.Accounts, `{"version":1,"q":"","fields":{"account_type":["owner"]}}`,
		`{"filters":{"updated_at":{"value":["2024-01-01",null]},"notes":{"value":["call","mail"]}}}`, nil,
	},
	{
		"contacts", catalog.Contacts,
		`{"version":1,"q":"Zoë","fields":{"role":["owner"],"status":["active","unverified"],"account_id":["` + someID + `"],"city":["Calgary"]}}`,
		`{"filters":{"email":{"value":"x@y.example","exact_match":true}},"sort":{"field":"projects_count","order":"desc"}}`,
		nil,
	},
	{
		"contacts_view_deleted",
		catalog.Contacts,
		`{"version":1,"q":"","fields":{}}`,
		`{}`,
		[]views.ID{viewID, views.ID(uuid.MustParse(someID))},
	},
	{"contacts_no_view_left", catalog.Contacts, `{"version":1,"q":"","fields":{}}`, `{}`, []views.ID{}},
	{
		"contacts_overlay",
		catalog.Contacts,
		`{"version":1,"q":"","fields":{"status":["active"]}}`,
		`{"filters":{"tags":{"value":"VIP"}}}`,
		nil,
	},
	{
		"projects_fields", catalog.Projects,
		`{"version":1,"q":"","fields":{"stage":["filed"],"primary_use":["office","retail"],"gc_status":["unassigned"],"city":["Calgary","Edmonton"]}}`,
		`{"filters":{"stage":{"value":["filed","permitted"]}}}`, nil,
	},
	{
		"projects_ranges",
		catalog.Projects,
		`{"version":1,"q":"","fields":{"sqft":{"min":"1000"},"units":{"max":"0"},"stories":{"min":"1","max":"999999999999999"},"cost":{"min":"000"},"detected":{"after":"2024-02-29"}}}`,
		`{}`,
		nil,
	},
	{"projects_known", catalog.Projects, `{"version":1,"q":"","fields":{"stories_known":["known"]}}`, `{}`, nil},
	{"projects_unknown", catalog.Projects, `{"version":1,"q":"","fields":{"stories_known":["unknown"]}}`, `{}`, nil},
	// Conditions on an overlay that records outside the book would meet.
	{
		"book_groups",
		catalog.Accounts,
		"book",
		`{"any":[{"filters":{"tags":{"value":"VIP"}}},{"relations":{"has_contact":{"email":{"known":true}}}}],"none":[{"filters":{"atlas_score":{"value":2.5}}}]}`,
		nil,
	},
	{"static_groups", catalog.Projects, "", `{"none":[{"filters":{"stage":{"value":"filed"},"tags":{"value":"VIP"}}}]}`, nil},
	{
		"static_groups_global",
		catalog.Projects,
		"",
		`{"any":[{"filters":{"stage":{"value":"filed"}}},{"filters":{"cost":{"known":false}}}]}`,
		nil,
	},
	{"static_unknown_overlay", catalog.Accounts, "", `{"filters":{"icp_tier":{"known":false}}}`, nil},
	{"static_nothing_of_an_overlay", catalog.Accounts, "", `{"none":[{"filters":{"atlas_score":{"value":2.5}}}]}`, nil},
	{
		"accounts_groups", catalog.Accounts, `{"version":1,"q":"","fields":{"city":["Calgary"]}}`,
		`{"any":[{"filters":{"icp_tier":{"value":"tier_1"}}},{"filters":{"country":{"value":"CA"}}}]}`, nil,
	},
	{
		"contacts_groups_global",
		catalog.Contacts,
		`{"version":1,"q":"","fields":{}}`,
		`{"none":[{"filters":{"email":{"known":false}}}]}`,
		nil,
	},
	{
		"contacts_nothing_of_an_overlay", catalog.Contacts, `{"version":1,"q":"","fields":{}}`,
		`{"none":[{"filters":{"updated_at":{"value":"2024-02-28T23:59:59.9991Z"}}}]}`, nil,
	},
	{"contacts_unknown_overlay", catalog.Contacts, `{"version":1,"q":"","fields":{}}`, `{"filters":{"notes":{"known":false}}}`, nil},
	{"projects_lost_value", catalog.Projects, `{"version":1,"q":"","fields":{"stage":["demolished"]}}`, `{}`, nil},
}

// TestPlans compares each plan with a readable file: where each search runs, and
// its body.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, c := range plans {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var plan join.Plan
			var err error
			if c.definition == "book" {
				plan, err = join.Book(in, requestOn(t, c.dataset, catalog.Book, c.request))
			} else {
				plan, err = join.View(viewOf(t, c.dataset, c.definition), requestOn(t, c.dataset, catalog.View, c.request), c.existing)
			}
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, readable(t, plan))
		})
	}
}

// readable is a plan as JSON.
func readable(t testing.TB, p join.Plan) []byte {
	t.Helper()
	type planned struct {
		On    string          `json:"on"`
		Base  query.Base      `json:"base"`
		Where json.RawMessage `json:"search"`
	}
	show := func(q query.Query) planned {
		body := search.Compile(q, nil)
		on := string(q.Dataset)
		if q.Held {
			on = "held " + on
		}
		return planned{on, q.Base, body}
	}
	out := struct {
		InBook    bool      `json:"rows_must_be_in_the_book"`
		Searches  []planned `json:"searches"`
		CountOnly *planned  `json:"counted_beside_the_first,omitempty"`
	}{InBook: p.InBook}
	for _, q := range p.Searches {
		out.Searches = append(out.Searches, show(q))
	}
	if len(p.Searches) > 1 {
		count := show(p.CountOnly)
		out.CountOnly = &count
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	pretty := jsontext.Value(text)
	if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	return append(pretty, '\n')
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // a test file for everybody
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestAPlanNeedsAWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := join.Book(workspace.ID{}, requestOn(t, catalog.Accounts, catalog.Book, `{}`)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a book of nobody: %v", err)
	}
	v := viewOf(t, catalog.Accounts, "")
	if _, err := join.View(v, requestOn(t, catalog.Contacts, catalog.View, `{}`), nil); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a request on another dataset: %v", err)
	}
	v.Workspace = workspace.ID{}
	if _, err := join.View(v, requestOn(t, catalog.Accounts, catalog.View, `{}`), nil); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a View of nobody: %v", err)
	}
}

// TestPlansShareNothing checks that planning a request a second time does not change the
// first plan.
func TestPlansShareNothing(t *testing.T) {
	t.Parallel()
	v := viewOf(t, catalog.Contacts, `{"version":1,"q":"x","fields":{"role":["owner"]}}`)
	request := requestOn(t, catalog.Contacts, catalog.View, `{"filters":{"city":{"value":"x"}}}`)
	first, err := join.View(v, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := string(readable(t, first))
	if _, err := join.View(v, request, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, string(readable(t, first))); diff != "" {
		t.Errorf("the first plan changed (-before +after):\n%s", diff)
	}
}

// FuzzDefinition checks that well-formed JSON is either refused as a definition, or
// can be stored, read back unchanged, and compiled.
func FuzzDefinition(f *testing.F) {
	for _, c := range plans {
		if strings.HasPrefix(c.definition, "{") {
			f.Add(c.definition, uint8(0))
			f.Add(c.definition, uint8(1))
			f.Add(c.definition, uint8(2))
		}
	}
	for _, text := range []string{
		`null`, `[]`, `{"version":1}`, `{"version":1e0,"q":" ","fields":{"city":["\u0130"]}}`,
		`{"fields":{"sqft":{"min":"1","max":"x"}}}`,
	} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		v, issues := input.Decode([]byte(`{"definition":` + text + `}`))
		if len(issues) > 0 || len(v.Members) != 1 {
			return
		}
		d, view := catalog.Held[kind%3], views.Dynamic
		if kind >= 128 {
			view = views.Static
		}
		definition, err := views.ParseDefinition(v.Get("definition"), d, view)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidViewDefinition {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		stored, err := json.Marshal(definition)
		if err != nil {
			t.Fatalf("%s: cannot be stored: %v", text, err)
		}
		reread, err := views.ReadDefinition(stored, d, view)
		if err != nil || !reread.Equal(definition) {
			t.Fatalf("%s: stored as %s, read as %+v, %v", text, stored, reread, err)
		}
		plan, err := join.View(views.View{ID: viewID, Workspace: in, Dataset: d, Type: view, Definition: reread}, query.Query{
			Dataset: d, Base: query.Base{Kind: catalog.View}, Sort: query.DefaultSort(d), Limit: 1,
		}, nil)
		if err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		for _, q := range plan.Searches {
			if body := search.Compile(q, nil); !json.Valid(body) {
				t.Fatalf("%s: %s", stored, body)
			}
		}
	})
}
