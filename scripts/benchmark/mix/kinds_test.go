package mix

import (
	"testing"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func TestRequestsOfEachKindAreValidAndDifferent(t *testing.T) {
	t.Parallel()
	m, names, bodies := New(generated(t), 9), map[string]bool{}, map[string]bool{}
	for _, k := range append(Kinds(), Whole) {
		all := m.OfKind(k, 20)
		if len(all) < 10 || k.Name == "" || names[k.Name] {
			t.Errorf("kind %q has %d requests, or is listed twice", k.Name, len(all))
		}
		names[k.Name] = true
		for _, s := range all {
			body := s.Encode()
			value, issues := input.Decode(body)
			if _, err := query.Parse(value, s.Dataset, query.Base{Kind: catalog.Data}); err != nil || len(issues) > 0 {
				t.Errorf("%s: %s %s: %v %v", k.Name, s.Dataset, body, issues, err)
			}
			if key := s.Path() + string(body); bodies[key] {
				t.Errorf("%s: %s twice", k.Name, body)
			} else {
				bodies[key] = true
			}
		}
	}
}
