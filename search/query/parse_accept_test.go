package query_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
)

type accepted struct {
	name    string
	dataset catalog.Dataset
	base    catalog.BaseKind
	body    string
	want    wanted
	sort    string
}

// wanted is a Query and its conditions as printed. Dataset and Base are those of the row.
type wanted struct {
	query query.Query
	where []string
}

// page is the Query of a request that has conditions and nothing else.
func page(where ...string) wanted { return wanted{query.Query{Limit: 25}, where} }

func textOf(text string) wanted { return wanted{query.Query{Limit: 25, Text: text}, nil} }

func expression(operator string, parts ...string) string {
	return "(" + operator + " " + strings.Join(parts, " ") + ")"
}

func and(nodes ...string) string { return expression("and", nodes...) }
func or(nodes ...string) string  { return expression("or", nodes...) }
func not(node string) string     { return expression("not", node) }

func nested(child catalog.Dataset, node string) string {
	return expression("nested", string(child), node)
}

func match(field, text string) string { return expression("match", field, strconv.Quote(text)) }

func terms(field string, values ...string) string {
	parts := []string{field}
	for _, v := range values {
		parts = append(parts, strconv.Quote(v))
	}
	return expression("terms", parts...)
}

// between is a Range; "" is an open end.
func between(field, from, to string) string {
	return expression("range", field, cmp.Or(from, "*"), cmp.Or(to, "*"))
}

var accepts = []accepted{
	// Pages and orders.
	{"nothing", catalog.Accounts, catalog.Data, `{}`, page(), "name asc"},
	{"nothing, of contacts", catalog.Contacts, catalog.Data, `{}`, page(), "name asc"},
	{"nothing, of projects", catalog.Projects, catalog.Data, `{}`, page(), "last_signal_at desc"},
	{"nothing, of signals", catalog.Signals, catalog.Data, `{}`, page(), "detected_at desc"},
	{"nothing, in a book", catalog.Projects, catalog.Book, `{}`, page(), "last_signal_at desc"},
	{"nothing, in a View", catalog.Accounts, catalog.View, `{}`, page(), "name asc"},
	{"empty objects", catalog.Accounts, catalog.Data, `{"filters":{},"relations":{}}`, page(), "name asc"},
	{"relations of signals", catalog.Signals, catalog.Data, `{"relations":{}}`, page(), "detected_at desc"},
	{
		"the smallest page", catalog.Accounts, catalog.Data, `{"limit":1,"offset":10000}`,
		wanted{query.Query{Limit: 1, Offset: 10_000}, nil}, "name asc",
	},
	{"the largest page", catalog.Accounts, catalog.Data, `{"limit":100,"offset":0}`, wanted{query.Query{Limit: 100}, nil}, "name asc"},
	{
		"an integer written otherwise", catalog.Accounts, catalog.Data, `{"limit":1e1,"offset":7.0}`,
		wanted{query.Query{Limit: 10, Offset: 7}, nil}, "name asc",
	},
	{
		"typos", catalog.Contacts, catalog.View, `{"query":"x","typos":"auto"}`,
		wanted{query.Query{Text: "x", Typos: true, Limit: 25}, nil}, "name asc",
	},
	{"typos off", catalog.Accounts, catalog.Data, `{"typos":"off"}`, wanted{query.Query{Limit: 25}, nil}, "name asc"},
	{
		"a cursor", catalog.Accounts, catalog.Data, `{"search_after":"abc","offset":50}`,
		wanted{query.Query{Limit: 25, After: "abc"}, nil}, "name asc",
	},
	{
		"no cursor", catalog.Accounts, catalog.Data, `{"search_after":null,"offset":50}`,
		wanted{query.Query{Limit: 25, Offset: 50}, nil}, "name asc",
	},
	{"a sort", catalog.Projects, catalog.Data, `{"sort":{"order":"asc","field":"cost"}}`, page(), "cost asc"},
	{"a sort downwards", catalog.Projects, catalog.Data, `{"sort":{"field":"name","order":"desc"}}`, page(), "name desc"},
	{
		"the overlay's updated_at", catalog.Contacts, catalog.Book, `{"sort":{"field":"updated_at","order":"desc"}}`,
		page(), "overlay.updated_at desc",
	},
	{"the score", catalog.Accounts, catalog.Book, `{"sort":{"field":"atlas_score","order":"desc"}}`, page(), "overlay.atlas_score desc"},

	// Query text.
	{"a query", catalog.Accounts, catalog.Data, `{"query":"  Café Acme "}`, textOf("Café Acme"), "relevance desc"},
	{
		"a query of 500", catalog.Accounts, catalog.Data, `{"query":" ` + strings.Repeat("é", 500) + ` "}`,
		textOf(strings.Repeat("é", 500)), "relevance desc",
	},
	{
		"relevance by name", catalog.Accounts, catalog.Data, `{"query":"x","sort":{"field":"relevance","order":"desc"}}`,
		textOf("x"), "relevance desc",
	},
	{"a query with a sort", catalog.Accounts, catalog.Data, `{"query":"x","sort":{"field":"name","order":"asc"}}`, textOf("x"), "name asc"},
	{"a query in a book", catalog.Projects, catalog.Book, `{"query":"x"}`, textOf("x"), "last_signal_at desc"},
	{"a query in a View", catalog.Contacts, catalog.View, `{"query":"x"}`, textOf("x"), "name asc"},
	{"a query without a term", catalog.Accounts, catalog.Data, `{"query":"---"}`, textOf("---"), "relevance desc"},

	// Enums.
	{
		"an enum",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"stage":{"value":"filed"}}}`,
		page(terms("stage", "filed")),
		"last_signal_at desc",
	},
	{
		"an enum's values", catalog.Projects, catalog.Data,
		`{"filters":{"stage":{"value":["permitted","filed","permitted"]}}}`,
		page(terms("stage", "permitted", "filed")), "last_signal_at desc",
	},
	{
		"account_type", catalog.Accounts, catalog.Data, `{"filters":{"account_type":{"value":["owner"]}}}`,
		page(terms("account_types", "owner")), "name asc",
	},
	{
		"a dynamic enum", catalog.Accounts, catalog.Data, `{"filters":{"city":{"value":["ŁÓDŹ","Lodz","Québec"]}}}`,
		page(terms("city", "lodz", "quebec")), "name asc",
	},
	{
		"an unknown city",
		catalog.Signals,
		catalog.Data,
		`{"filters":{"state":{"value":"?"}}}`,
		page(terms("state", "?")),
		"detected_at desc",
	},
	{"tags", catalog.Contacts, catalog.Book, `{"filters":{"tags":{"value":["VIP"]}}}`, page(terms("overlay.tags", "vip")), "name asc"},
	{
		"a tag longer than any", catalog.Contacts, catalog.Book,
		`{"filters":{"tags":{"value":"` + strings.Repeat("x", 65) + `"}}}`,
		page(terms("overlay.tags", strings.Repeat("x", 65))), "name asc",
	},
	{
		"icp_tier", catalog.Accounts, catalog.View, `{"filters":{"icp_tier":{"value":["tier_1","disqualified"]}}}`,
		page(terms("overlay.icp_tier", "tier_1", "disqualified")), "name asc",
	},

	// Text.
	{
		"a text",
		catalog.Accounts,
		catalog.Data,
		`{"filters":{"name":{"value":"Müller Söhne"}}}`,
		page(match("name", "muller sohne")),
		"name asc",
	},
	{"one of several texts", catalog.Accounts, catalog.Data, `{"filters":{"name":{"value":["a","b","A"]}}}`,
		page(or(match("name", "a"), match("name", "b"))), "name asc"},
	{
		"a whole text", catalog.Accounts, catalog.Data, `{"filters":{"name":{"value":"Müller","exact_match":true}}}`,
		page(terms("name", "muller")), "name asc",
	},
	{
		"several whole texts", catalog.Accounts, catalog.Data,
		`{"filters":{"domains":{"value":["A.example","b.example"],"exact_match":true}}}`,
		page(terms("domains", "a.example", "b.example")), "name asc",
	},
	{
		"exact_match false", catalog.Contacts, catalog.Data, `{"filters":{"email":{"value":"x","exact_match":false}}}`,
		page(match("email", "x")), "name asc",
	},
	{
		"a status in the book",
		catalog.Projects,
		catalog.Book,
		`{"filters":{"workspace_status":{"value":"Warm"},"notes":{"value":"Call","exact_match":true}}}`,
		page(match("overlay.workspace_status", "warm"), terms("overlay.notes", "call")),
		"last_signal_at desc",
	},
	{
		"a text without a term",
		catalog.Accounts,
		catalog.Data,
		`{"filters":{"name":{"value":"---"}}}`,
		page(match("name", "---")),
		"name asc",
	},

	// Locations.
	{
		"near a point", catalog.Projects, catalog.Data,
		`{"filters":{"location":{"value":{"near":{"radius_m":1.5,"latitude":-0.0,"longitude":180}}}}}`,
		page("(near location 0 180 1.5)"), "last_signal_at desc",
	},
	{
		"within a box", catalog.Projects, catalog.Book,
		`{"filters":{"location":{"value":{"within":{"north":90,"south":-90,"east":180,"west":-180}}}}}`,
		page("(in_box location 90 -90 180 -180)"), "last_signal_at desc",
	},
	{
		"within a point", catalog.Projects, catalog.View,
		`{"filters":{"location":{"value":{"within":{"north":1e0,"south":1,"east":-0,"west":0.0}}}}}`,
		page("(in_box location 1 1 0 0)"), "last_signal_at desc",
	},
	{
		"a polygon that is closed", catalog.Projects, catalog.Data,
		`{"filters":{"location":{"value":{"polygon":[{"latitude":51,"longitude":-114},{"longitude":-113,"latitude":51},{"latitude":52,"longitude":-113.5},{"latitude":51,"longitude":-114}]}}}}`,
		page("(in_polygon location 51 -114 51 -113 52 -113.5)"), "last_signal_at desc",
	},
	{
		"across the antimeridian",
		catalog.Accounts,
		catalog.Data,
		`{"relations":{"without_project":{"location":{"value":{"within":{"north":1,"south":0,"east":-170,"west":170.5}}}}}}`,
		page(not(nested("projects", and(or("(in_box location 1 0 180 170.5)", "(in_box location 1 0 -170 -180)"))))),
		"name asc",
	},
	{"sorted by a permit", catalog.Projects, catalog.Data, `{"sort":{"field":"permitted_at","order":"asc"}}`, page(), "permitted_at asc"},

	// Ids.
	{
		"an id", catalog.Contacts, catalog.Data, `{"filters":{"account_id":{"value":"` + strings.ToUpper(someID) + `"}}}`,
		page(terms("account_id", someID)), "name asc",
	},
	{
		"ids", catalog.Signals, catalog.Data,
		`{"filters":{"account_ids":{"value":["` + someID + `","` + view + `"],"exact_match":true},"project_id":{"value":"` + view + `"}}}`,
		page(terms("project_id", view), terms("account_ids", someID, view)), "detected_at desc",
	},

	// Relations.
	{
		"any related record",
		catalog.Accounts,
		catalog.Data,
		`{"relations":{"has_project":{}}}`,
		page(nested(catalog.Projects, "TRUE")),
		"name asc",
	},
	{
		"none of them", catalog.Projects, catalog.Data, `{"relations":{"without_signal":{}}}`,
		page(not(nested(catalog.Signals, "TRUE"))), "last_signal_at desc",
	},
	{
		"one that meets all",
		catalog.Accounts,
		catalog.Data,
		`{"relations":{"has_project":{"stage":{"value":"filed"},"city":{"value":"Łódź"},"name":{"value":"tower"},"cost":{"value":[5,null]}},"without_contact":{"role":{"value":["owner"]}}}}`,
		page(
			nested(catalog.Projects, and(match("name", "tower"), terms("city", "lodz"), terms("stage", "filed"), between("cost", "5", ""))),
			not(nested(catalog.Contacts, and(terms("role", "owner")))),
		),
		"name asc",
	},
	{"a relation in a book", catalog.Contacts, catalog.Book, `{"relations":{"has_project":{"updated_at":{"value":["2024-01-01",null]}}}}`,
		page(nested(catalog.Projects, and(between("updated_at", `"2024-01-01T00:00:00.000Z"`, "")))), "name asc"},

	// Known values.
	{
		"known values",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"name":{"known":true},"city":{"known":false},"stage":{"known":true},"cost":{"known":false},"filed_at":{"known":true},"account_ids":{"known":false}}}`,
		page(exists("name"), not(exists("city")), exists("stage"), not(exists("cost")), exists("filed_at"), not(exists("account_ids"))),
		"last_signal_at desc",
	},
	{
		"known values of an overlay",
		catalog.Accounts,
		catalog.Book,
		`{"filters":{"tags":{"known":false},"notes":{"known":true},"atlas_score":{"known":true},"updated_at":{"known":true}}}`,
		page(
			exists("overlay.notes"),
			not(exists("overlay.tags")),
			exists("overlay.updated_at"),
			exists("overlay.atlas_score"),
		),
		"name asc",
	},
	{
		"known values of related records",
		catalog.Accounts,
		catalog.Data,
		`{"relations":{"has_project":{"cost":{"known":false}},"without_contact":{"email":{"known":true}}}}`,
		page(nested(catalog.Projects, and(not(exists("cost")))), not(nested(catalog.Contacts, and(exists("email"))))),
		"name asc",
	},

	// Groups.
	{
		"a group", catalog.Projects, catalog.Data, `{"any":[{"filters":{"stage":{"value":"filed"}}}]}`,
		page(or(and(terms("stage", "filed")))), "last_signal_at desc",
	},
	{"groups beside conditions", catalog.Accounts, catalog.Data,
		`{"none":[{"filters":{"name":{"value":"x"}}},{"relations":{"has_contact":{}}}],"any":[{"relations":{"without_signal":{"summary":{"known":true}}},"filters":{"city":{"value":"A"},"country":{"value":"B"}}},{"filters":{"domains":{"known":true}}}],"relations":{"has_project":{}},"filters":{"state":{"value":"C"}}}`,
		page(
			terms("state", "c"),
			nested(catalog.Projects, "TRUE"),
			or(
				and(terms("city", "a"), terms("country", "b"), not(nested(catalog.Signals, and(exists("summary"))))),
				and(exists("domains")),
			),
			not(and(match("name", "x"))),
			not(and(nested(catalog.Contacts, "TRUE"))),
		), "name asc"},
	{
		"groups of an overlay",
		catalog.Contacts,
		catalog.View,
		`{"any":[{"filters":{"tags":{"value":"x"}}},{"filters":{"role":{"value":"owner"}}}]}`,
		page(or(and(terms("overlay.tags", "x")), and(terms("role", "owner")))),
		"name asc",
	},
	{
		"a group with an empty member", catalog.Accounts, catalog.Data,
		`{"none":[{"filters":{},"relations":{"has_project":{}}}]}`, page(not(and(nested(catalog.Projects, "TRUE")))),
		"name asc",
	},
	{
		"a group that nothing meets keeps its field", catalog.Accounts, catalog.Book,
		`{"none":[{"filters":{"atlas_score":{"value":2.5}}}]}`, page(not(and("(terms overlay.atlas_score)"))),
		"name asc",
	},
	{
		"ten groups", catalog.Accounts, catalog.Data,
		`{"any":` + groups(4, `{"filters":{"name":{"known":true}}}`) + `,"none":` + groups(6, `{"filters":{"name":{"known":false}}}`) + `}`,
		page(append([]string{or(repeat(4, and(exists("name")))...)}, repeat(6, not(and(not(exists("name")))))...)...), "name asc",
	},
}

func exists(field string) string { return expression("exists", field) }

func repeat(n int, s string) []string { return slices.Repeat([]string{s}, n) }

// groups is a JSON array of n equal groups.
func groups(n int, group string) string { return "[" + strings.Join(repeat(n, group), ",") + "]" }

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range accepts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, c.dataset, c.base, c.body)
			if err != nil {
				t.Fatal(err)
			}
			if got.Sort.String() != c.sort {
				t.Errorf("sorted by %s, want %s", got.Sort, c.sort)
			}
			var where []string
			for _, n := range got.Where {
				where = append(where, n.String())
			}
			if diff := gocmp.Diff(c.want.where, where); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			want := c.want.query
			want.Dataset, want.Base, want.Sort, want.Where = c.dataset, bases[c.base], got.Sort, got.Where
			want.Hints, want.Hinted = got.Hints, got.Hinted // TestHints has them
			if !reflect.DeepEqual(want, got) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// Every filter field and every sort, in both directions, is accepted on every base.
func TestEveryFieldParses(t *testing.T) {
	t.Parallel()
	for _, base := range []catalog.BaseKind{catalog.Data, catalog.Book, catalog.View} {
		for _, d := range catalog.Datasets {
			if base != catalog.Data && d == catalog.Signals {
				continue
			}
			for _, f := range catalog.FilterFields(d, base) {
				if q, err := parse(t, d, base, fmt.Sprintf(`{"filters":{%q:{"value":%s}}}`, f.Key, exampleOf(f))); err != nil ||
					len(q.Where) != 1 {
					t.Errorf("%s %s %s: %s, %v", base, d, f.Key, q.Where, err)
				}
				for known, want := range map[string]string{"true": exists(f.String()), "false": not(exists(f.String()))} {
					q, err := parse(t, d, base, fmt.Sprintf(`{"filters":{%q:{"known":%s}}}`, f.Key, known))
					if err != nil || len(q.Where) != 1 || q.Where[0].String() != want {
						t.Errorf("%s %s %s, known %s: %s, %v", base, d, f.Key, known, q.Where, err)
					}
				}
			}
			for _, f := range catalog.SortFields(d, base) {
				for _, order := range []string{"asc", "desc"} {
					q, err := parse(t, d, base, fmt.Sprintf(`{"sort":{"field":%q,"order":%q}}`, f.Name, order))
					if err != nil || q.Sort.Field.Name != f.Name || q.Sort.Desc != (order == "desc") || q.Sort.Relevance() {
						t.Errorf("%s %s %s %s: %v, %v", base, d, f.Name, order, q.Sort, err)
					}
				}
			}
		}
	}
}

func exampleOf(f catalog.Field) string {
	switch {
	case f.Vocabulary != nil:
		return `"` + f.Vocabulary[0].Value + `"`
	case f.IsID():
		return `"` + someID + `"`
	case f.Kind == catalog.Number:
		return "[1,2]"
	case f.Kind == catalog.Date:
		return `"2024-02-29"`
	case f.Kind == catalog.Geo:
		return `{"near":{"latitude":51,"longitude":-114,"radius_m":1}}`
	default:
		return `"x"`
	}
}
