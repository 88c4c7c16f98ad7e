package boards_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace/boards"
)

const someView = "550e8400-e29b-41d4-a716-446655440000"

func parse(t *testing.T, body string) (boards.Change, []string) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	c, err := boards.ChangeRule.Parse(v)
	var problems []string
	if e, invalid := errors.AsType[*fault.Error](err); invalid {
		for _, i := range e.Issues {
			problems = append(problems, fmt.Sprintf("%s %s", i.Code, strings.Join(i.Path, ".")))
		}
	}
	return c, problems
}

func TestChanges(t *testing.T) {
	t.Parallel()
	tile := func(rest string) string {
		id := `"view_id":"` + someView + `"`
		rest = strings.NewReplacer(`"VIEW"`, `"view",`+id, `"VIEW_ID"`, id).Replace(rest)
		return `{"name":"B","tiles":[{"title":"T",` + rest + `}]}`
	}
	for body, want := range map[string]string{
		`{"name":"B"}`: "", `{"name":"  B ","tiles":[]}`: "", `{"id":"` + someView + `"}`: "",
		`{}`: "custom name", `{"name":""}`: "too_small name", `{"name":"` + strings.Repeat("x", 101) + `"}`: "too_big name",
		`{"name":"B","tile":[]}`: "unrecognized_keys ",
		`{"name":"B","tiles":[` + strings.TrimSuffix(strings.Repeat(`{},`, 13), ",") + `]}`: "too_big tiles",
		// As read.
		`{"id":"` + someView + `","workspace_id":"x","name":"B","tiles":[],"revision":2,"created_by":null,"updated_by":"x","created_at":"2026","updated_at":"2026"}`: "",

		tile(`"kind":"chart","dataset":"projects","of":"data","request":{"query":"bow","filters":{"filed_at":{"value":["now-90d",null]}},"facets":[{"field":"stage"}]}`): "",
		tile(`"kind":"map","dataset":"projects","of":"book","request":{"facets":[{"geo":{"precision":12}}]}`):                                                            "",
		tile(`"kind":"pivot","dataset":"signals","of":"data","request":{"rows":{"field":"signal_type"}}`):                                                                "",
		tile(`"kind":"view","dataset":"accounts","of":"VIEW","request":{}`):                                                                                              "",
		tile(`"kind":"chart","dataset":"accounts","of":"VIEW","request":{"facets":[{"field":"workspace_status"}]}`):                                                      "",
		tile(`"kind":"chart","dataset":"projects","of":"data","request":{"facets":[{"field":"stages"}]}`):                                                                "unrecognized_keys tiles.0.request.facets.0.field",
		tile(`"kind":"chart","dataset":"projects","of":"data","request":{"facets":[]}`):                                                                                  "custom tiles.0.request.facets",
		tile(`"kind":"chart","dataset":"projects","of":"data","request":{"facets":[{"geo":{"precision":12}}]}`):                                                          "custom tiles.0.request.facets",
		tile(`"kind":"map","dataset":"projects","of":"data","request":{"facets":[{"field":"stage"}]}`):                                                                   "custom tiles.0.request.facets",
		tile(`"kind":"view","dataset":"accounts","of":"VIEW","request":{"facets":[{"field":"city"}]}`):                                                                   "custom tiles.0.request.facets",
		tile(`"kind":"pivot","dataset":"projects","of":"data","request":{"rows":{"field":"account_ids"}}`):                                                               "unrecognized_keys tiles.0.request.rows.field",
		tile(`"kind":"pivot","dataset":"projects","of":"data","request":{"rows":{"field":"stage"},"dry_run":true}`):                                                      "custom tiles.0.request.dry_run",
		tile(`"kind":"chart","dataset":"projects","of":"data","request":{"filters":{"tags":{"value":"x"}},"facets":[{"field":"stage"}]}`):                                "unrecognized_keys tiles.0.request.filters",
		tile(`"kind":"chart","dataset":"contacts","of":"data","request":{"filters":{"email":{"value":"x"}},"facets":[{"field":"role"}]}`):                                "custom tiles.0.request.filters.email",
		tile(`"kind":"chart","dataset":"signals","of":"book","request":{"facets":[{"field":"signal_type"}]}`):                                                            "custom tiles.0.dataset",
		tile(`"kind":"view","dataset":"projects","of":"data","request":{}`):                                                                                              "custom tiles.0.of",
		tile(`"kind":"view","dataset":"projects","of":"view","request":{}`):                                                                                              "custom tiles.0.view_id",
		tile(`"kind":"chart","dataset":"projects","of":"data","VIEW_ID","request":{"facets":[{"field":"stage"}]}`):                                                       "custom tiles.0.of",
		tile(`"kind":"list","dataset":"project","of":"data","request":[]`):                                                                                               "invalid_union tiles.0.kind; invalid_union tiles.0.dataset; invalid_type tiles.0.request",
	} {
		if _, got := parse(t, body); strings.Join(got, "; ") != want {
			t.Errorf("%s:\n%s", body, cmp.Diff(want, strings.Join(got, "; ")))
		}
	}
}

// A request is stored as it was sent, without spaces and with one text for each number.
func TestRequestsStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	c, problems := parse(t, `{"name":"B","tiles":[{"kind":"chart","title":"T","dataset":"projects","of":"data",
		"request":{ "query": "<b> & \"Łódź\" \n", "filters": {"cost": {"value": [1.50, null]}}, "facets": [{"field": "cost", "buckets": 1e1}] }}]}`)
	if problems != nil {
		t.Fatal(problems)
	}
	want := `{"query":"<b> & \"Łódź\" \n","filters":{"cost":{"value":[1.5,null]}},"facets":[{"field":"cost","buckets":10}]}`
	if diff := cmp.Diff(want, string((*c.Tiles)[0].Request)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A store writes out the exponent of a number: a number that gets too long is refused, and
// others count by their stored length.
func TestNumbersOfRequestsAreShort(t *testing.T) {
	t.Parallel()
	tile := func(latitude string) string {
		return `{"name":"B","tiles":[{"kind":"chart","title":"T","dataset":"projects","of":"data","request":{"facets":[{"field":"stage"}],
			"filters":{"location":{"value":{"near":{"latitude":` + latitude + `,"longitude":-1e2,"radius_m":1e3}}}}}}]}`
	}
	for latitude, want := range map[string]string{
		"51.05": "", "5105e-2": "", "1e-300": "", "1e-20000": "custom tiles.0.request", "1e-16000": "custom tiles.0.request",
		"1e-99999999999999999999": "custom tiles.0.request", "51.0" + strings.Repeat("0", 40): "custom tiles.0.request", "0e99999": "",
	} {
		c, got := parse(t, tile(latitude))
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: got %v, want %q", latitude, got, want)
		}
		if want == "" && len((*c.Tiles)[0].Request) > 500 {
			t.Errorf("%s: %d bytes", latitude, len((*c.Tiles)[0].Request))
		}
	}
	a, _ := parse(t, tile("5105e-2"))
	b, _ := parse(t, strings.NewReplacer("-1e2", "-100", "1e3", "1000.0").Replace(tile("51.050")))
	if !(*a.Tiles)[0].Equal((*b.Tiles)[0]) {
		t.Errorf("%s is not %s", (*a.Tiles)[0].Request, (*b.Tiles)[0].Request)
	}
}
