package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

type suggestions struct {
	Suggestions []query.Suggestion `json:"suggestions"`
}

// TestSuggestOverHTTP checks that suggestions are free, that names of persons and addresses
// are not suggested, and what is refused.
func TestSuggestOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i, name := range []string{"Calgary Garage Works", "Garage Łódź", "Gärage", "Works"} {
		data.Add(
			searchtest.Record(
				t, catalog.Accounts,
				fmt.Sprintf(
					`{"id":%q,"name":%q,"city":%q,"state":"AB"}`, searchtest.ID("a", i+1), name,
					[]string{"Calgary", "calgary", "Calgary", "Cochrane"}[i],
				),
			),
			searchtest.Record(
				t, catalog.Contacts,
				fmt.Sprintf(`{"id":%q,"name":"Cal Person","email":"cal%d@hidden.example","city":"Calgary"}`, searchtest.ID("c", i+1), i),
			))
	}
	for i := 1; i <= 5; i++ {
		data.Add(searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"Garage %d","account_ids":[%q]}`, searchtest.ID("p", i), i, searchtest.ID("a", 1+i/4)),
		))
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	ask := func(path, body string) (got suggestions) {
		t.Helper()
		a := w.call(t, w.key, "POST", path, body)
		var metadata map[string]any
		a.into(t, &got, &metadata)
		if metadata["credits"] != 0.0 || a.header.Get("X-Credits-Charged") != "" ||
			a.header.Get("RateLimit-Limit") == "" && w.server.FreeLimit.PerSecond > 0 {
			t.Errorf("%s: %v %v", path, metadata, a.header)
		}
		return got
	}
	calgary := query.Suggestion{Field: "city", Value: "Calgary", Count: 3}
	names := []query.Suggestion{
		{Field: "name", Value: "Calgary Garage Works", ID: searchtest.ID("a", 1), Count: 3},
		{Field: "name", Value: "Garage Łódź", ID: searchtest.ID("a", 2), Count: 2},
		{Field: "name", Value: "Gärage", ID: searchtest.ID("a", 3), Count: 0},
	}
	for _, c := range []struct {
		path, body string
		want       []query.Suggestion
	}{
		{"accounts", `{"prefix":"cal"}`, []query.Suggestion{calgary, names[0]}}, // of the same count, by folded value
		{"accounts", `{"prefix":"CAL","field":"city"}`, []query.Suggestion{calgary}},
		{"accounts", `{"prefix":"garge"}`, names},
		{"accounts", `{"prefix":"grg"}`, nil}, // three letters
		{"accounts", `{"prefix":"ga wor"}`, names[:1]},
		{"accounts", `{"prefix":"gagrae"}`, nil}, // two typos
		{"accounts", `{"prefix":"garaeg","limit":1}`, names[:1]},
		{"accounts", `{"prefix":"lodz gar"}`, names[1:2]},
		{"accounts", `{"prefix":"garage","filters":{"city":{"value":"CALGARY"},"projects_count":{"value":[0,2]}}}`, names[1:]},
		{
			"accounts", `{"prefix":"cal","filters":{"projects_count":{"value":[0,2]}}}`,
			[]query.Suggestion{{Field: "city", Value: "Calgary", Count: 2}},
		},
		{"contacts", `{"prefix":"cal"}`, []query.Suggestion{{Field: "city", Value: "Calgary", Count: 4}}},
		{"contacts", `{"prefix":"hidden"}`, nil},
		{"signals", `{"prefix":"cal"}`, nil},
	} {
		if diff := cmp.Diff(append([]query.Suggestion{}, c.want...), ask("/data/"+c.path+"/suggest", c.body).Suggestions); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.path, c.body, diff)
		}
	}
	for _, c := range []struct{ path, body, want string }{
		{"accounts", `{}`, `prefix invalid_type`},
		{"accounts", `{"prefix":"","limit":21,"feild":1,"field":"nmae"}`, `field unrecognized_keys, prefix too_small, limit too_big,  unrecognized_keys`},
		{"accounts", `{"prefix":"-- ?","field":"account_type"}`, `field unrecognized_keys, prefix custom`},
		{"contacts", `{"prefix":"cal","field":"name","filters":{"email":{"value":"cal1@hidden.example"},"city":{"value":7}},"limit":0}`,
			`filters.email custom, field unrecognized_keys, filters.city.value invalid_type, limit too_small`},
		{"accounts", fmt.Sprintf(`{"prefix":"%0101d"}`, 1), `prefix too_big`},
	} {
		a := w.call(t, w.key, "POST", "/data/"+c.path+"/suggest", c.body)
		if got := a.issueList(t); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.path, c.body, got, c.want)
		}
	}
}

// issueList lists the issues of a validation error, each as its path and code.
func (a answer) issueList(t *testing.T) string {
	t.Helper()
	var body struct {
		Error struct {
			Issues []struct {
				Path []string
				Code string
			}
		}
	}
	fatal(t, json.Unmarshal([]byte(a.text), &body))
	var all []string
	for _, issue := range body.Error.Issues {
		all = append(all, strings.Join(issue.Path, ".")+" "+issue.Code)
	}
	return strings.Join(all, ", ")
}
