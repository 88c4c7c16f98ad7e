package query_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func parseFacets(t *testing.T, d catalog.Dataset, base catalog.BaseKind, body string) (query.FacetRequest, []string) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	r, err := query.FacetRule(d, base).Parse(v)
	var problems []string
	if e, invalid := errors.AsType[*fault.Error](err); invalid {
		for _, i := range e.Issues {
			problems = append(problems, strings.TrimSpace(fmt.Sprintf("%s %s %s", i.Code, strings.Join(i.Path, "."), strings.Join(i.Keys, ","))))
		}
	}
	return r, problems
}

// The filters of facets that ignore them come last.
func TestFacetRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dataset catalog.Dataset
		base    catalog.BaseKind
		body    string
		own     []string
		where   string
	}{
		{catalog.Projects, catalog.Data, `{}`, nil, `TRUE`},
		{catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":"filed"},"city":{"value":"Calgary"}},"facets":[{"field":"stage"}]}`,
			[]string{"stage"}, `(and (terms city "calgary") (and (terms stage "filed")))`},
		{catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":"filed"}},"facets":[{"field":"stage","exclude_own":false}]}`,
			nil, `(and (terms stage "filed"))`},
		{catalog.Accounts, catalog.Book, `{"filters":{"tags":{"value":"VIP"}},"facets":[{"field":"tags"},{"field":"tags","exclude_own":false}]}`,
			[]string{"tags"}, `(and (and (terms overlay.tags "vip")))`},
		{catalog.Accounts, catalog.View, `{"filters":{"updated_at":{"value":["2024-01-01",null]}},"facets":[{"field":"updated_at","interval":"day"}]}`,
			[]string{"updated_at"}, `(and (and (range overlay.updated_at "2024-01-01T00:00:00.000Z" *)))`},
		{catalog.Projects, catalog.Data, `{"filters":{"location":{"known":true},"stage":{"value":"filed"}},"facets":[{"geo":{"precision":18},"measure":{"field":"cost","of":"sum"}}]}`,
			[]string{"location"}, `(and (terms stage "filed") (and (exists location)))`},
		{catalog.Projects, catalog.View, `{"filters":{"location":{"known":false}},"facets":[{"geo":{"precision":0},"exclude_own":false}]}`,
			nil, `(and (not (exists location)))`},
	} {
		r, problems := parseFacets(t, c.dataset, c.base, c.body)
		if problems != nil || r.Where.String() != c.where || !slices.Equal(r.Own, c.own) || r.Text != "" {
			t.Errorf("%s: %v %q\n%s", c.body, problems, r.Own, r.Where)
		}
	}
	r, problems := parseFacets(t, catalog.Contacts, catalog.Data, `{"query":" Café ","typos":"auto","facets":[]}`)
	if problems != nil || r.Text != "Café" || !r.Typos || len(r.Where) != 0 {
		t.Errorf("%+v %v", r, problems)
	}
}

func TestRefusedFacetRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dataset catalog.Dataset
		base    catalog.BaseKind
		body    string
		want    []string
	}{
		{catalog.Projects, catalog.Data, `{"facets":[{"field":"colour"},{"field":"name"},{"field":"latitude"},{},{"field":7},"stage"]}`, []string{
			"unrecognized_keys facets.0.field colour", "unrecognized_keys facets.1.field name", "unrecognized_keys facets.2.field latitude",
			"invalid_type facets.3.field", "invalid_type facets.4.field", "invalid_type facets.5"}},
		{catalog.Projects, catalog.Data, `{"facets":[{"field":"cost","interval":"day"},{"field":"cost"},{"field":"cost","buckets":5,"ranges":[[1,2]]}]}`, []string{
			"invalid_union facets.0", "unrecognized_keys facets.0 interval", "invalid_union facets.1", "invalid_union facets.2"}},
		{catalog.Projects, catalog.Data, `{"facets":[{"field":"cost","ranges":[[2,1],[null,null],[1],[1,"x"],5]},{"field":"cost","ranges":[]},{"field":"cost","buckets":0},{"field":"cost","buckets":101}]}`, []string{
			"custom facets.0.ranges.0", "custom facets.0.ranges.1", "too_small facets.0.ranges.2",
			"invalid_type facets.0.ranges.3.1", "invalid_type facets.0.ranges.4",
			"too_small facets.1.ranges", "too_small facets.2.buckets", "too_big facets.3.buckets"}},
		{catalog.Projects, catalog.Data, `{"facets":[{"field":"filed_at"},{"field":"filed_at","interval":"hour"},{"field":"filed_at","interval":"day","limit":3},{"field":"stage","limit":0},{"field":"stage","limit":101,"prefix":""}]}`, []string{
			"invalid_type facets.0.interval", "invalid_union facets.1.interval", "unrecognized_keys facets.2 limit",
			"too_small facets.3.limit", "too_big facets.4.limit", "too_small facets.4.prefix"}},
		{catalog.Projects, catalog.Data, `{"facets":[{"field":"stage","measure":{"field":"stage","of":"median"}},{"field":"stage","measure":{}}],"limit":5,"sort":1}`, []string{
			"unrecognized_keys facets.0.measure.field stage", "invalid_union facets.0.measure.of",
			"invalid_type facets.1.measure.field", "invalid_type facets.1.measure.of", "unrecognized_keys  limit,sort"}},
		{catalog.Signals, catalog.Data, `{"facets":[{"field":"stage","measure":{"field":"cost","of":"sum"}},{"field":"tags"}]}`, []string{
			"unrecognized_keys facets.0 measure", "unrecognized_keys facets.1.field tags"}},
		{
			catalog.Accounts, catalog.View,
			`{"facets":[{"field":"icp_tier","measure":{"field":"atlas_score","of":"avg"}}]}`,
			[]string{"unrecognized_keys facets.0.measure.field atlas_score"},
		},
		{
			catalog.Projects, catalog.Data,
			`{"facets":[` + strings.TrimSuffix(strings.Repeat(`{"field":"stage"},`, 13), ",") + `]}`,
			[]string{"too_big facets"},
		},
		{catalog.Projects, catalog.Data, `{"facets":[{"geo":{"precision":19}},{"geo":{"precision":-1},"limit":5},{"geo":{}},{"geo":7},{"field":"location"},{"field":"stage","geo":{"precision":1}},{"geo":{"precision":1.5,"zoom":1},"measure":{"field":"stage","of":"sum"}},{"field":"colour","geo":{}}]}`, []string{
			"too_big facets.0.geo.precision", "too_small facets.1.geo.precision", "unrecognized_keys facets.1 limit",
			"invalid_type facets.2.geo.precision", "invalid_type facets.3.geo",
			"unrecognized_keys facets.4.field location", "unrecognized_keys facets.5 geo",
			"invalid_type facets.6.geo.precision", "unrecognized_keys facets.6.geo zoom",
			"unrecognized_keys facets.6.measure.field stage",
			"unrecognized_keys facets.7.field colour", "unrecognized_keys facets.7 geo"}},
		{catalog.Accounts, catalog.Data, `{"facets":[{"geo":{"precision":1}}]}`, []string{
			"invalid_type facets.0.field", "unrecognized_keys facets.0 geo",
		}},
		// No oracle for e-mail addresses.
		{
			catalog.Contacts, catalog.Data,
			`{"filters":{"email":{"value":"a@b.example","exact_match":true},"city":{"value":7}}}`,
			[]string{"custom filters.email", "invalid_type filters.city.value"},
		},
		{
			catalog.Contacts, catalog.Book, `{"filters":{"email":{"value":"a"}},"facets":[{"field":"email"}]}`,
			[]string{"custom filters.email", "unrecognized_keys facets.0.field email"},
		},
		{catalog.Accounts, catalog.View, `{"relations":{"has_contact":{"email":{"value":"a"}},"without_contact":{"email":{"value":["a"]},"name":{"value":"x"}}}}`, []string{
			"custom relations.has_contact.email", "custom relations.without_contact.email"}},
	} {
		if _, got := parseFacets(t, c.dataset, c.base, c.body); !cmp.Equal(c.want, got) {
			t.Errorf("%s:\n%s", c.body, cmp.Diff(c.want, got))
		}
	}
}
