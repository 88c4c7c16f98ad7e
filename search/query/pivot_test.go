package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func TestPivotRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dataset catalog.Dataset
		base    catalog.BaseKind
		body    string
		want    string // the problems, or the request
	}{
		{catalog.Projects, catalog.Data, `{"rows":{"field":"stage"}}`, `stage 10 `},
		{catalog.Projects, catalog.Data,
			`{"query":"bow","filters":{"stage":{"value":"filed"}},"rows":{"field":"stage","limit":3},"columns":{"field":"filed_at","interval":"quarter"},"measure":{"field":"cost","of":"average"},"dry_run":true}`,
			`stage 3 , filed_at 0 quarter, avg of cost, dry, (and (terms stage "filed"))`},
		{catalog.Projects, catalog.Data, `{"rows":{"field":"stage"},"columns":null,"measure":null}`, `stage 10 `},
		{catalog.Accounts, catalog.Book,
			`{"rows":{"field":"tags"},"columns":{"field":"updated_at","interval":"year"},"measure":{"field":"atlas_score","of":"median"}}`,
			`tags 10 , updated_at 0 year, median of atlas_score`},
		{catalog.Projects, catalog.Data, `{}`, `invalid_type rows `},
		{catalog.Projects, catalog.Data,
			`{"rows":{"field":"account_ids"},"columns":{"field":"name"}}`,
			`unrecognized_keys rows.field account_ids; unrecognized_keys columns.field name`},
		{catalog.Projects, catalog.Data,
			`{"rows":{"field":"stages","limit":5},"columns":{"field":"cost"}}`,
			`unrecognized_keys rows.field stages; unrecognized_keys columns.field cost`},
		{catalog.Accounts, catalog.Book,
			`{"rows":{"field":"workspace_status"},"columns":{"field":"notes"}}`,
			`unrecognized_keys rows.field workspace_status; unrecognized_keys columns.field notes`},
		{catalog.Projects, catalog.Data,
			`{"rows":{"field":"filed_at"},"columns":{"field":"filed_at","interval":"week"}}`,
			`invalid_type rows.interval ; invalid_union columns.interval `},
		{catalog.Projects, catalog.Data,
			`{"rows":{"field":"stage","interval":"year"},"columns":{"field":"city","limit":101}}`,
			`unrecognized_keys rows interval; too_big columns.limit `},
		{catalog.Projects, catalog.Data, `{"rows":{"field":"city","limit":100},"columns":{"field":"state","limit":11}}`, `too_big columns.limit `},
		{catalog.Projects, catalog.Data, `{"rows":{"field":"stage","limit":100},"columns":{"field":"city","limit":100}}`, `stage 100 , city 100 `},
		{catalog.Projects, catalog.Data,
			`{"rows":"stage","measure":{"field":"stage","of":"mode"},"sort":{}}`,
			`invalid_type rows ; unrecognized_keys measure.field stage; invalid_union measure.of ; unrecognized_keys  sort`},
		{catalog.Accounts, catalog.View,
			`{"rows":{"field":"icp_tier"},"measure":{"field":"atlas_score","of":"sum"}}`,
			`unrecognized_keys measure.field atlas_score`},
		{catalog.Contacts, catalog.Data, `{"rows":{"field":"role"},"filters":{"email":{"value":"a@b.example"}}}`, `custom filters.email `},
		{catalog.Signals, catalog.Data, `{"rows":{"field":"signal_type"},"measure":{"field":"cost","of":"sum"}}`, `unrecognized_keys  measure`},
	} {
		v, issues := input.Decode([]byte(c.body))
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		r, err := query.PivotRule(c.dataset, c.base).Parse(v)
		var said []string
		if e, invalid := errors.AsType[*fault.Error](err); invalid {
			for _, i := range e.Issues {
				said = append(said, fmt.Sprintf("%s %s %s", i.Code, strings.Join(i.Path, "."), strings.Join(i.Keys, ",")))
			}
		} else {
			for _, f := range r.Axes() {
				said = append(said, fmt.Sprintf("%s %d %s", f.Field.Key, f.Limit, f.Interval))
			}
			text := strings.Join(said, ", ")
			if r.Measure != nil {
				text += fmt.Sprintf(", %s of %s", r.Measure.Of, r.Measure.Field.Key)
			}
			if r.DryRun {
				text += ", dry"
			}
			if len(r.Where) > 0 {
				text += ", " + r.Where.String()
			}
			said = []string{text}
		}
		if diff := cmp.Diff(c.want, strings.Join(said, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.body, diff)
		}
	}
}
