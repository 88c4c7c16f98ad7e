package query_test

import (
	"slices"
	"strings"
	"testing"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// What people take for operators is reported, and plain text is not.
func TestHints(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"query":"garage*","words":"exact"}`:               `"*" is no more than text`,
		`{"query":"garage*"}`:                               "",
		`{"query":"\"private garage\" deck -detached OR"}`:  "",
		`{"query":"gar%"}`:                                  `"%" is`,
		`{"query":"\"private garage\"","words":"exact"}`:    `"\"" is`,
		`{"query":"garage -detached","words":"exact"}`:      `"-detached" is no more than text; what must not match goes into none`,
		`{"query":"+garage"}`:                               `"+garage" is`,
		`{"query":"stage:permitted"}`:                       `"filters":{"stage":{"value":"permitted"}}`,
		`{"query":"stories:2"}`:                             `"filters":{"stories":{"value":2}}`,
		`{"query":"cost > 1000000"}`:                        "",
		`{"query":"deck -stage:filed","words":"exact"}`:     `"-stage:filed" is no more than text; what must not match goes into none`,
		`{"query":"location:Calgary"}`:                      "",
		`{"query":"cost:high"}`:                             "",
		`{"query":"stage:foo"}`:                             "",
		`{"filters":{"name":{"value":["a","b*"]}}}`:         `filters.name has no operators`,
		`{"query":"Suite:12, 50% 3-5 -20 A-B \"x\" AND x"}`: "",
		`{"filters":{"city":{"value":"Calg"}}}`:             "",
		`{}`:                                                "",
	} {
		check(t, body, 1, want)
	}
	for body, want := range map[string]string{
		`{"query":"garage AND deck"}`:             `"AND" is`,
		`{"query":"garage NOT stage:permitted"}`:  `"NOT" is no more than text; a minus before a word excludes it`,
		`{"query":"deck NOT b","words":"exact"}`:  `"NOT" is no more than text; what must not match goes into none`,
		`{"query":"stage == permitted"}`:          `"filters":{"stage":{"value":"permitted"}}`,
		`{"query":"cost => 1000"}`:                `"filters":{"cost":{"value":[1000,null]}}`,
		`{"query":"a OR deck","words":"exact"}`:   `alternatives are groups of any`,
		`{"query":"garage OR deck"}`:              "query is searched in",
		`{"filters":{"city":{"value":"Calg"}}}`:   `filters.city is compared with whole values: ` + "`suggest_projects`",
		`{"filters":{"stage":{"value":"filed"}}}`: "",
		`{"query":"garage and deck"}`:             "query is searched in name, description, address, city, state, country, stage, disposition, primary_use, source_id, and each of its words must occur there",
		`{"query":"garage"}`:                      "",
		`{"query":"cost > 1000000"}`:              `"filters":{"cost":{"value":[1000000,null]}}`,
		`{"query":"garage cost<=$5k"}`:            `"filters":{"cost":{"value":[null,5000]}}`,
		`{"query":"filed_at >= 2024-01-31"}`:      `"filters":{"filed_at":{"value":["2024-01-31",null]}}`,
		`{"query":"Stage = permitted"}`:           `"filters":{"stage":{"value":"permitted"}}`,
		`{"query":"garage under construction"}`:   `"under construction" is a value of stage: "filters":{"stage":{"value":"under_construction"}}`,
		`{"query":"city > x"}`:                    `query is searched in`,
		`{"filters":{"location":{"value":{"near":{"latitude":51,"longitude":114.07,"radius_m":9}}}}}`:  `negative: -114.07`,
		`{"filters":{"location":{"value":{"near":{"latitude":51,"longitude":-114.07,"radius_m":9}}}}}`: "",
		`{"filters":{"city":{"known":false}}}`:                                                         "",
	} {
		check(t, body, 0, want)
	}
}

// What costs nothing refuses filters by addresses, and does not hint at them.
func TestHintsOfAddresses(t *testing.T) {
	t.Parallel()
	of := func(member string) input.Value {
		v, _ := input.Decode([]byte(`{"query":"email:ada@firm.example"` + member + `}`))
		return v
	}
	check := func(hints query.Hints, err error, want bool) {
		t.Helper()
		all := strings.Join(hints.For(0, nil), "; ")
		if err != nil || !strings.Contains(all, `"email:ada@firm.example" is no more than text`) ||
			strings.Contains(all, `"filters":{"email"`) != want {
			t.Errorf("%s, %v", all, err)
		}
	}
	for member, want := range map[string]bool{"": true, `,"offset":1`: true, `,"dry_run":true`: false} {
		q, err := query.Parse(of(member), catalog.Contacts, query.Base{Kind: catalog.Data})
		check(q.Hints, err, want)
	}
	r, err := query.FacetRule(catalog.Contacts, catalog.Data).Parse(of(""))
	check(r.Hints, err, false)
}

// A name that finds nothing is pointed to match, which finds it however it is written.
func TestHintsOfNames(t *testing.T) {
	t.Parallel()
	const firm = "`match_accounts`" + ` finds the account that a name means, however it is written: {"inputs":[{"ref":"1","name":"Mattamy Homes Calgary Ltd."}]}`
	const other = "`match_accounts`" + ` finds the firm that a name means, however it is written: {"inputs":[{"ref":"1","name":"Mattamy Homes Calgary Ltd."}]}; the filter `
	for _, c := range []struct {
		dataset    catalog.Dataset
		body, want string
	}{
		{catalog.Accounts, `{"query":"Mattamy Homes Calgary Ltd."}`, firm},
		{catalog.Accounts, `{"query":" Mattamy Homes Calgary Ltd. ","filters":{"city":{"value":"Calgary"}}}`, firm},
		{catalog.Accounts, `{"filters":{"name":{"value":"Mattamy Homes Calgary Ltd."}}}`, firm},
		{catalog.Accounts, `{"filters":{"name":{"value":["Mattamy Homes Calgary Ltd.","Trico"],"exact_match":true}}}`, firm},
		{catalog.Accounts, `{"query":"Mattamyy"}`, `"name":"Mattamyy"`},
		{catalog.Accounts, `{"query":"` + strings.Repeat("Mattamy ", 60) + `"}`, "`match_accounts` finds the account"},
		{catalog.Accounts, `{"query":"---"}`, ""},
		{catalog.Accounts, `{"query":"mattam*"}`, ""},
		{catalog.Accounts, `{"query":"jane@acme.example"}`, ""},
		{catalog.Accounts, `{"filters":{"name":{"value":"matt*"}}}`, ""},
		{catalog.Accounts, `{"filters":{"city":{"value":"Calgary Ltd."}}}`, ""},
		{catalog.Projects, `{"query":"Mattamy Homes Calgary Ltd."}`, other + `"account_ids" finds the projects of its id`},
		{catalog.Signals, `{"query":"Mattamy Homes Calgary Ltd."}`, other + `"account_ids" finds the signals of its id`},
		{catalog.Contacts, `{"query":"Mattamy Homes Calgary Ltd."}`, other + `"account_id" finds the contacts of its id`},
		{catalog.Contacts, `{"query":"Jane Q. Doe"}`, "`match_contacts`" + ` finds the contact that a name means, however it is written: {"inputs":[{"ref":"1","name":"Jane Q. Doe"}]}`},
		{catalog.Contacts, `{"query":"Jane jane@acme.example"}`, ""},
		{catalog.Projects, `{"query":"Trico Incorporated (Alberta)"}`, "`match_accounts`"},
		{catalog.Projects, `{"query":"limited access garage"}`, ""},
		{catalog.Projects, `{"query":"detached garage"}`, ""},
		{catalog.Projects, `{"query":"Ltd"}`, ""},
	} {
		v, _ := input.Decode([]byte(c.body))
		q, err := query.Parse(v, c.dataset, query.Base{Kind: catalog.Data})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(q.Hints.For(0, nil), "\n")
		if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "/match") || strings.Count(got, "/match ") > 1 {
			t.Errorf("%s of %s: %q, want %q", c.body, c.dataset, got, c.want)
		}
		if found := strings.Join(q.Hints.For(1, nil), "\n"); strings.Contains(found, "/match") {
			t.Errorf("%s of %s, which finds: %q", c.body, c.dataset, found)
		}
	}
}

// A word of two small letters is no code of a province or a country.
func TestRuns(t *testing.T) {
	t.Parallel()
	if got := query.Runs("addition on ON"); slices.Contains(got, "on") || !slices.Contains(got, "ON") || !slices.Contains(got, "addition on") {
		t.Error(got)
	}
}

func check(t *testing.T, body string, found int, want string) {
	t.Helper()
	v, _ := input.Decode([]byte(body))
	q, err := query.Parse(v, catalog.Projects, query.Base{Kind: catalog.Data})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(q.Hints.For(found, nil), "\n")
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s, of which %d are found: %q, want %q", body, found, got, want)
	}
}
