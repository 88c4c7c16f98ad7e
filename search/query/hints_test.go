package query_test

import (
	"strings"
	"testing"

	"atlas/internal/input"
	"atlas/search/query"
)

// What people take for operators is told of, and what is no more than text is not.
func TestHints(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"query":"garage*"}`:                               `"*" is no more than text`,
		`{"query":"gar%"}`:                                  `"%" is`,
		`{"query":"\"private garage\" deck"}`:               `"\"" is`,
		`{"query":"garage -detached"}`:                      `"-detached" is no more than text; what must not match goes into none`,
		`{"query":"+garage"}`:                               `"+garage" is`,
		`{"query":"stage:permitted"}`:                       `"filters":{"stage":{"value":"permitted"}}`,
		`{"filters":{"name":{"value":["a","b*"]}}}`:         `filters.name has no operators`,
		`{"query":"Suite:12, 50% 3-5 -20 A-B \"x\" AND x"}`: "",
		`{"filters":{"city":{"value":"Calg"}}}`:             "",
		`{}`:                                                "",
	} {
		check(t, body, 1, want)
	}
	for body, want := range map[string]string{
		`{"query":"garage AND deck"}`:             `"AND" is`,
		`{"query":"garage OR deck"}`:              `alternatives are groups of any`,
		`{"filters":{"city":{"value":"Calg"}}}`:   `filters.city is compared with whole values: POST /api/v1/data/projects/suggest`,
		`{"filters":{"stage":{"value":"filed"}}}`: "",
		`{"query":"garage and deck or not"}`:      "",
		`{"filters":{"city":{"known":false}}}`:    "",
	} {
		check(t, body, 0, want)
	}
}

func check(t *testing.T, body string, found int, want string) {
	t.Helper()
	v, _ := input.Decode([]byte(body))
	q, err := query.Parse(v, query.Projects, query.Base{Kind: query.Data})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(q.Hints.For(found), "\n")
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s, of which %d are found: %q, want %q", body, found, got, want)
	}
}
