package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// limitsWorld has as many records as it takes to reach every limit.
type limitsWorld struct {
	*searchtest.World
	contacts int // in all
	long     string
}

func newLimitsWorld(t *testing.T) limitsWorld {
	w := limitsWorld{World: searchtest.NewWorld(), long: strings.Repeat("Süße Gebäude 🏗️ ", 1250)}
	group := func(role string, n int) {
		for range n {
			w.contacts++
			// Equal names: every page boundary is among ties.
			w.Add(
				searchtest.Record(
					t,
					catalog.Contacts,
					fmt.Sprintf(`{"id":%q,"name":"Person %d","role":%q,"created_at":"2024-01-01","updated_at":"2024-01-01"}`,
						searchtest.ID("c", w.contacts), w.contacts%3, role),
				),
			)
		}
	}
	group("owner", 999)
	group("executive", 1000)
	group("developer", 1001)
	group("other", 7150)

	account := func(n int, members string) {
		w.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"%s}`, searchtest.ID("a", n), n, members)))
	}
	account(1, "")
	account(2, "")
	// Firm 1 has 1,002 projects: the two oldest differ from the others.
	for n := 1; n <= 1002; n++ {
		stage, created := "permitted", "2024-02-01T00:00:00Z"
		if n <= 2 {
			stage, created = "completed", fmt.Sprintf("2024-01-0%dT00:00:00Z", n)
		}
		w.Add(
			searchtest.Record(
				t,
				catalog.Projects,
				fmt.Sprintf(`{"id":%q,"name":"Project %d","stage":%q,"account_ids":[%q],"created_at":%q}`,
					searchtest.ID("p", n), n, stage, searchtest.ID("a", 1), created),
			),
		)
	}
	// Firm 2 has 1,001 projects of one moment: the last id is one too many.
	for n := 2001; n <= 3001; n++ {
		w.Add(
			searchtest.Record(
				t,
				catalog.Projects,
				fmt.Sprintf(`{"id":%q,"name":"Project %d","stories":%d,"account_ids":[%q],"created_at":"2024-02-01"}`,
					searchtest.ID("p", n), n, n, searchtest.ID("a", 2)),
			),
		)
	}
	account(3, `,"description":`+quote(w.long))
	account(4, `,"description":`+quote(w.long[:len(w.long)-1]+"x"))
	account(5, `,"description":`+quote(strings.Repeat("\U0001F3D7", 20_000)))
	account(6, `,"domains":`+list(1000, func(i int) string { return quote(fmt.Sprintf("d%d.example", i)) }))
	return w
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// list is a JSON array of n elements.
func list(n int, of func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = of(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newLimitsWorld(t)
	e, x := newEngine(t)
	x.Load(t, w.World)
	find := dataSearch(e)
	total := func(n int) *int { return &n }
	none := []string{}
	firm := func(n ...int) []string {
		var ids []string
		for _, n := range n {
			ids = append(ids, searchtest.ID("a", n))
		}
		return ids
	}
	for _, c := range []searchtest.Case{
		{
			Name: "999 match", Dataset: catalog.Contacts,
			Body: []byte(`{"limit":1,"offset":999,"filters":{"role":{"value":"owner"}}}`), Want: none,
			Total: total(999),
		},
		{
			Name: "1000 match", Dataset: catalog.Contacts,
			Body: []byte(`{"limit":1,"offset":1000,"filters":{"role":{"value":"executive"}}}`), Want: none,
			Total: total(1000),
		},
		{
			Name: "1001 match", Dataset: catalog.Contacts,
			Body: []byte(`{"limit":1,"offset":1001,"filters":{"role":{"value":"developer"}}}`), Want: none,
			Total: total(1001),
		},
		{
			Name: "very many match", Dataset: catalog.Contacts,
			Body: []byte(`{"limit":1,"offset":10000,"sort":{"field":"created_at","order":"asc"}}`),
			Want: []string{searchtest.ID("c", 10_001)}, Total: total(w.contacts),
		},
		// Filters on relations see the newest 1,000, by created_at and id.
		{
			Name: "judged by the newest", Dataset: catalog.Accounts,
			Body: []byte(`{"relations":{"has_project":{"stage":{"value":"completed"}}}}`), Want: none,
		},
		{
			Name: "nothing but the newest", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"projects_count":{"value":[1,null]}},"relations":{"without_project":{"stage":{"value":"completed"}}}}`),
			Want: firm(1, 2),
		},
		{Name: "counted exactly", Dataset: catalog.Accounts, Body: []byte(`{"filters":{"projects_count":{"value":1002}}}`), Want: firm(1)},
		{
			Name: "the last of the newest", Dataset: catalog.Accounts,
			Body: []byte(`{"relations":{"has_project":{"stories":{"value":3000}}}}`), Want: firm(2),
		},
		{
			Name: "one past the newest", Dataset: catalog.Accounts,
			Body: []byte(`{"relations":{"has_project":{"stories":{"value":3001}}}}`), Want: none,
		},
		{
			Name: "a long text as a whole", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"description":{"exact_match":true,"value":` + quote(strings.ToUpper(strings.TrimSpace(w.long))) + `}}}`),
			Want: firm(3),
		},
		{
			Name: "a long text, one character off", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"description":{"exact_match":true,"value":` + quote(strings.TrimSpace(w.long)+"y") + `}}}`),
			Want: none,
		},
		{
			Name: "a long text by its terms", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"description":{"value":"gebaude SUSSE"}}}`), Want: firm(3, 4),
		},
		{
			Name: "80,000 bytes as a whole", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"description":{"exact_match":true,"value":"` + strings.Repeat("\U0001F3D7", 20_000) + `"}}}`),
			Want: firm(5),
		},
		{
			Name: "the last of 1,000 elements", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"domains":{"exact_match":true,"value":"D999.example"}}}`), Want: firm(6),
		},
		// Only the last of the hundred values is in a record.
		{
			Name: "100 values", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"domains":{"exact_match":true,"value":` +
				list(100, func(i int) string { return quote(fmt.Sprintf("d%d.example", 1098-i)) }) + `}}}`),
			Want: firm(6),
		},
		{
			Name: "100 ids", Dataset: catalog.Projects,
			Body: []byte(`{"limit":1,"filters":{"account_ids":{"value":` +
				list(100, func(i int) string { return quote(searchtest.ID("a", 200-i*2)) }) + `}},"sort":{"field":"name","order":"desc"}}`),
			Want: []string{searchtest.ID("p", 3001)}, Total: total(1001),
		},
		{
			Name: "100 texts", Dataset: catalog.Accounts,
			Body: []byte(`{"filters":{"name":{"value":` + list(100, func(i int) string { return quote(fmt.Sprintf("firm %d", i+6)) }) + `}}}`),
			Want: firm(6),
		},
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			searchtest.Check(t, c, find)
		})
	}
	t.Run("the last page is exactly full", func(t *testing.T) {
		t.Parallel()
		for _, limit := range []int{100, 50} {
			if got := searchtest.Walk(t, catalog.Contacts, []byte(`{"filters":{"role":{"value":"executive"}}}`), limit, 1000, find); len(
				got,
			) != 1000 {
				t.Errorf("by %d: %d records", limit, len(got))
			}
		}
	})
	t.Run("past the deepest offset by cursor", func(t *testing.T) {
		t.Parallel()
		checkDeepest(t, find, w.contacts)
	})
	t.Run("every clause there can be", func(t *testing.T) {
		t.Parallel()
		for _, d := range catalog.Datasets {
			body := largest(d)
			if _, err := find(t.Context(), d, []byte(body)); err != nil {
				t.Errorf("%s, a body of %d bytes: %.2000v", d, len(body), err)
			}
		}
	})
}

// A node with many processors and little memory takes fewer clauses than the
// grammar allows. Its refusal is a validation error.
func TestMoreClausesThanTheNodeTakes(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	name, _ := catalog.FieldNamed(catalog.Accounts, "name")
	words := func(from, n int) query.Node {
		return query.Match{Field: &name, Text: strings.Trim(list(n, func(i int) string { return fmt.Sprint("w", from+i) }), "[]")}
	}
	var many query.Any
	for i := range 400 {
		many = append(many, words(1000*i, 100))
	}
	for name, node := range map[string]query.Node{"in one text": words(0, 40_000), "in many texts": many} {
		q := query.Query{
			Dataset: catalog.Accounts,
			Base:    dataBase,
			Sort:    query.DefaultSort(catalog.Accounts),
			Limit:   1,
			Where:   query.All{node},
		}
		for way, ask := range map[string]func() error{
			"a search": func() error { _, err := e.Search(t.Context(), q); return err },
			"one of several searches": func() error {
				_, err := e.Facets(t.Context(), query.FacetSearch{Request: query.FacetRequest{Query: q}, Sets: []query.Query{q}})
				return err
			},
		} {
			f, ok := errors.AsType[*fault.Error](ask())
			if !ok || f.Code != fault.InvalidInput || len(f.Issues) != 1 || f.Issues[0].Code != fault.TooBig || f.Issues[0].Path == nil {
				t.Errorf("%s, %s: %v", name, way, f)
			}
		}
	}
}

// checkDeepest searches at the highest offset and limit, and pages on by cursor,
// which has no limit.
func checkDeepest(t *testing.T, find searchtest.Search, contacts int) {
	all := searchtest.Walk(t, catalog.Contacts, []byte(`{}`), 100, contacts, find)
	seen := map[string]bool{}
	for _, id := range all {
		seen[id] = true
	}
	if len(all) != contacts || len(seen) != contacts {
		t.Fatalf("paged to %d rows, %d different, of %d", len(all), len(seen), contacts)
	}
	deep, err := find(t.Context(), catalog.Contacts, []byte(`{"offset":10000,"limit":100}`))
	if err != nil {
		t.Fatal(err)
	}
	rest, err := find(t.Context(), catalog.Contacts, []byte(`{"limit":100,"offset":77,"search_after":"`+deep.Next+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	got := append(deep.IDs, rest.IDs...)
	if rest.Next != "" || len(got) != contacts-10_000 {
		t.Fatalf("%d rows past 10,000, then the cursor %q", len(got), rest.Next)
	}
	for i, id := range got {
		if id != all[10_000+i] {
			t.Fatalf("row %d is %s by offset, %s by cursor", 10_000+i, id, all[10_000+i])
		}
	}
}

// largest is a request with as many clauses as the grammar allows: each
// field with 100 values, each relation with all of its sub-fields, nearly as many
// terms as one request may have, and ten groups with five conditions each.
func largest(d catalog.Dataset) string {
	terms := query.MaxTerms - 100 // the others are the query's
	filters := func(d catalog.Dataset, most int) string {
		var all []string
		fields := catalog.FilterFields(d, catalog.Data)
		for _, f := range fields[max(0, len(fields)-most):] {
			var value string
			switch {
			case f.Kind == catalog.Number:
				value = `[-1e300,1e300]`
			case f.Kind == catalog.Date:
				value = `["0001-01-01","9999-12-31"]`
			case f.Kind == catalog.Geo:
				value = `{"within":{"north":90,"south":-90,"east":-90,"west":90}}`
			case f.Vocabulary != nil:
				value = list(100, func(i int) string { return quote(f.Vocabulary[i%len(f.Vocabulary)].Value) })
			case f.IsID():
				value = list(100, func(i int) string { return quote(searchtest.ID("a", i)) })
			case f.Dynamic():
				value = list(100, func(i int) string { return quote(fmt.Sprint("city ", i)) })
			case terms > 0:
				n := min(100, terms)
				terms -= n
				value = list(n, func(i int) string { return quote(fmt.Sprint("wörd", i)) })
			default:
				value = `"-"`
			}
			all = append(all, fmt.Sprintf(`%q:{"value":%s}`, f.Key, value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	var relations []string
	body := `{"query":` + quote(strings.TrimSpace(strings.Repeat("a1 b ", 50))) + `,"filters":` + filters(d, 100)
	for _, r := range catalog.RelationsOf(d) {
		for _, prefix := range []string{"has_", "without_"} {
			relations = append(relations, fmt.Sprintf(`%q:%s`, prefix+r.Singular, filters(r.Child, 100)))
		}
	}
	group := func(i int) string {
		related := catalog.RelationsOf(d)
		if len(related) == 0 {
			return `{"filters":` + filters(d, 5) + `}`
		}
		r := related[i%len(related)]
		return fmt.Sprintf(`{"relations":{"has_%s":%s}}`, r.Singular, filters(r.Child, 4))
	}
	return body + `,"relations":{` + strings.Join(relations, ",") + `},"any":` + list(5, group) + `,"none":` + list(5, group) +
		`,"limit":100,"offset":10000}`
}
