package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// TestMatchByDomain: every spelling of a record's domain finds the record, and the row
// shows the record's own spelling.
func TestMatchByDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	stored := []string{
		"plain.example", "https://www.path.example/about/us?x=1#y", "http://port.example:8080", "WWW.CASE.example.",
		"HTTPS://user@both.example:443/Team", "Bücher.example/kontakt", "xn--mller-kva.example/", "b%C3%A4r.example",
		"two.example", "http://two.example/en",
	}
	for i, domain := range stored {
		name, err := json.Marshal(domain)
		fatal(t, err)
		data.Add(searchtest.Record(
			t, catalog.Accounts,
			fmt.Sprintf(`{"id":%q,"name":"Firm","domains":["other%d.example",%s]}`, searchtest.ID("a", i+1), i, name),
		))
	}
	data.Add(searchtest.Record(
		t, catalog.Accounts,
		fmt.Sprintf(`{"id":%q,"name":"None","domains":["https://","  /  "]}`, searchtest.ID("a", 99)),
	))
	w.load(t, data)
	w.holds(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 0)}})
	upsert := func(domain string) answer {
		body, err := json.Marshal(map[string]any{"match": map[string]string{"domain": domain}})
		fatal(t, err)
		return w.call(t, key, "POST", "/workspace/accounts/upsert", string(body))
	}
	for firm, spellings := range map[int][]string{
		1: {"plain.example", "https://WWW.plain.example:80/x", "plain.example."},
		2: {"path.example", "https://www.path.example/about/us?x=1#y", "https://path.example/elsewhere"},
		3: {"port.example", "port.example:8080", "www.port.example:9"},
		4: {"case.example", "Case.Example"},
		5: {"both.example", "www.both.example"},
		6: {"bücher.example", "xn--bcher-kva.example", "BÜCHER.example/"},
		7: {"müller.example", "xn--mller-kva.example"},
		8: {"bär.example", "xn--br-via.example"},
	} {
		for _, spelling := range spellings {
			var row struct {
				ID      string
				Domains []string
			}
			if a := upsert(spelling); a.status != 200 {
				t.Errorf("%s: %d %s", spelling, a.status, a.text)
			} else if a.into(t, &row, nil); row.ID != searchtest.ID("a", firm) || row.Domains[1] != stored[firm-1] {
				t.Errorf("%s finds %+v", spelling, row)
			}
		}
	}
	for domain, want := range map[string]verdict{
		"two.example": {409, "ambiguous_match"}, "bucher.example": {404, "not_found"}, "about": {404, "not_found"},
		"sub.path.example": {404, "not_found"},
	} {
		if a := upsert(domain); (verdict{a.status, a.code()}) != want {
			t.Errorf("%s: %d %s", domain, a.status, a.text)
		}
	}
	// An exact filter compares with the value in the record's own spelling.
	for value, want := range map[string]int{"path.example": 0, "HTTPS://www.path.example/about/us?x=1#y": 1} {
		var rows []struct{ ID string }
		a := w.call(t, key, "POST", "/data/accounts/search", fmt.Sprintf(`{"filters":{"domains":{"value":%q,"exact_match":true}}}`, value))
		if a.into(t, &rows, nil); len(rows) != want {
			t.Errorf("%s: %+v", value, rows)
		}
	}
}
