package query_test

import (
	"testing"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// The project meets the request's own has_project, not one in a group.
func TestJoinRule(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		conditions int // of the project, in has_project
		by         string
	}{
		`{}`:                               {-1, "cost"},
		`{"project_by":"stories"}`:         {-1, "stories"},
		`{"relations":{"has_project":{}}}`: {0, "cost"},
		`{"filters":{"city":{"value":"x"}},"relations":{"has_signal":{},"without_project":{"stage":{"value":"filed"}},"has_project":{"stage":{"value":"filed"},"cost":{"value":[1,null]}}}}`: {2, "cost"},
		`{"any":[{"relations":{"has_project":{"stage":{"value":"filed"}}}}],"none":[{"relations":{"has_project":{}}}]}`:                                                                      {-1, "cost"},
	} {
		for _, base := range []catalog.BaseKind{catalog.Data, catalog.Book} {
			v, problems := input.Decode([]byte(body))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			j, err := query.JoinRule(base).Parse(v)
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			got := -1
			if all := j.ProjectConditions(); all != nil {
				inner, _ := all[0].(query.All)
				got = len(inner)
			}
			if got != want.conditions || j.ProjectBy.Name != want.by || j.Dataset != catalog.Accounts || j.Base.Kind != base ||
				j.Limit != query.DefaultLimit {
				t.Errorf("%s: %d conditions by %s: %+v", body, got, j.ProjectBy.Name, j.Query)
			}
		}
	}
}
