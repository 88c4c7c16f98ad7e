package query_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// FuzzParse checks that what Parse accepts compiles to JSON, and that Parse refuses the
// rest with at most fault.MaxIssues issues.
func FuzzParse(f *testing.F) {
	for _, c := range accepts {
		f.Add(string(c.dataset), string(c.base), c.body)
	}
	for _, c := range rejects {
		f.Add(string(c.dataset), string(c.base), c.body)
	}
	for _, body := range []string{
		`{"filters":{"cost":{"value":-0},"stories":{"value":[-1e300,1e300]},"filed_at":{"value":"9999-12-31T23:59:59.9999Z"}}}`,
		`{"query":"cost >= 1k, stage: \"under construction\" é=1"}`, `{"query":"\u0000","query":1}`, `[]`, ``, `{"limit":1}{"limit":1}`,
	} {
		f.Add("projects", "data", body)
	}
	f.Fuzz(func(t *testing.T, dataset, kind, body string) {
		base := bases[catalog.BaseKind(kind)]
		if !catalog.IsDataset(dataset) || base.Kind == "" || base.Kind != catalog.Data && dataset == string(catalog.Signals) {
			return
		}
		v, issues := input.Decode([]byte(body))
		if len(issues) > 0 {
			return
		}
		q, err := query.Parse(v, catalog.Dataset(dataset), base)
		if err != nil {
			if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Issues) == 0 || len(f.Issues) > fault.MaxIssues {
				t.Fatalf("not a validation error: %v", err)
			}
			issueLines(t, err)
			return
		}
		if q.Limit < 1 || q.Limit > query.MaxLimit || q.Offset < 0 || q.Offset > query.MaxOffset || q.After != "" && q.Offset != 0 {
			t.Errorf("limit %d, offset %d, after %q", q.Limit, q.Offset, q.After)
		}
		for _, hint := range q.Hints.For(0, nil) {
			if !utf8.ValidString(hint) || len(hint) > 2000 {
				t.Errorf("hint %q", hint)
			}
		}
		if compiled := search.Compile(q, nil); !json.Valid(compiled) {
			t.Errorf("compiled to %s", compiled)
		}
	})
}
