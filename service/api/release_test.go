package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A coverage lists what is requested, costs nothing, and names each mistake of a request.
func TestCoverageRequests(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 10)
	var data struct {
		Values []struct {
			Value, Label string
			Records      int
			Known        map[string]float64
		}
	}
	w.call(t, key, "POST", "/data/coverage", `{"dataset":"signals","by":"signal_type"}`).into(t, &data, nil)
	if len(data.Values) != 1 || data.Values[0].Value != "stage_changed" || data.Values[0].Label != "Stage changed" ||
		data.Values[0].Records != 5 || data.Values[0].Known["project_id"] != 1 || data.Values[0].Known["stage"] != 0 {
		t.Errorf("%+v", data)
	}
	w.call(t, key, "POST", "/data/coverage", `{"dataset":"contacts","by":"role","limit":100}`).into(t, &data, nil)
	if len(data.Values) != 0 {
		t.Errorf("roles of nobody: %+v", data)
	}
	for body, want := range map[string][]string{
		`{}`: {"dataset", "by"},
		`{"dataset":"people","by":"city","limit":0,"x":1}`: {"dataset", "limit", ""},
		`{"dataset":1,"by":2}`:                             {"dataset", "by"},
		`{"dataset":"contacts","by":"email"}`:              {"by"},
		`{"dataset":"contacts","by":"name","limit":101}`:   {"by", "limit"},
		`{"dataset":"accounts","by":"account_types"}`:      {"by"},
		`{"dataset":"accounts","by":"icp_tier"}`:           {"by"},
		`{"dataset":"accounts","by":["city"]}`:             {"by"},
		`{"dataset":"accounts","by":"city","filters":{}}`:  {""},
	} {
		a := w.call(t, key, "POST", "/data/coverage", body)
		var e struct {
			Error struct{ Issues []struct{ Path []string } }
		}
		fatal(t, json.Unmarshal([]byte(a.text), &e))
		var paths []string
		for _, issue := range e.Error.Issues {
			paths = append(paths, strings.Join(issue.Path, " "))
		}
		if a.code() != "validation" || !slices.Equal(paths, want) {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
	var release struct {
		Datasets map[string]struct{ Records int }
	}
	w.call(t, key, "GET", "/data/release", "").into(t, &release, nil)
	if release.Datasets["accounts"].Records != 5 || len(release.Datasets) != 4 {
		t.Errorf("%+v", release)
	}
}
