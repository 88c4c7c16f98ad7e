package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// Relative dates find the same as the absolute dates of that day. The answer has those;
// stored definitions refuse relative ones.
func TestRelativeDates(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	for i, filed := range []string{day(0), day(20), day(40), "2020-02-29"} {
		data.Add(searchtest.Record(t, catalog.Projects, `{"id":"`+searchtest.ID("p", i+1)+`","name":"P","filed_at":"`+filed+`"}`))
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	filtered := func(value string) string { return `{"filters":{"filed_at":{"value":` + value + `}}}` }
	for value, want := range map[string]int{
		`["now-30d",null]`: 2, `"today"`: 1, `"2020-Q1"`: 1, `[null,"now-30d"]`: 2, `["now-24h","now"]`: 1,
	} {
		for _, path := range []string{"/data/projects/search", "/data/projects/facets"} {
			var found []any
			var counted struct {
				Count int `json:"count"`
			}
			var m struct {
				Hints []string `json:"hints"`
			}
			a := w.call(t, w.key, "POST", path, filtered(value))
			n := 0
			if strings.HasSuffix(path, "facets") {
				a.into(t, &counted, &m)
				n = counted.Count
			} else {
				a.into(t, &found, &m)
				n = len(found)
			}
			if n != want && value != `["now-24h","now"]` || len(m.Hints) == 0 || !strings.Contains(m.Hints[0], "in UTC") {
				t.Errorf("%s %s: %d, want %d: %s", path, value, n, want, a.text)
			}
		}
	}
	if a := w.call(t, w.key, "POST", "/data/projects/changes", `{"since":"now-7d"}`); a.status != 200 ||
		!strings.Contains(a.text, "is "+day(7)) {
		t.Errorf("changes: %d %s", a.status, a.text)
	}
	if a := w.call(t, w.key, "POST", "/data/projects/search", filtered(`"last 30 days"`)); a.status != 400 ||
		!strings.Contains(a.text, "now-30d") {
		t.Errorf("what is no relative date: %d %s", a.status, a.text)
	}
	if a := w.call(t, w.key, "POST", "/workspace/webhooks/"+uuid.NewString()+"/replay", `{"from":"now-7d","to":"now"}`); a.status != 400 ||
		!strings.Contains(a.text, "relative dates are for filters and since") {
		t.Errorf("a replay: %d %s", a.status, a.text)
	}
	if a := w.call(
		t, w.key, "POST", "/workspace/views/upsert",
		`{"dataset":"project","view_type":"dynamic","name":"V","definition":{"version":1,"q":"","fields":{"detected":{"after":"now-30d"}}}}`,
	); a.status != 400 ||
		!strings.Contains(a.text, "relative dates are for requests") {
		t.Errorf("a stored definition: %d %s", a.status, a.text)
	}
}
