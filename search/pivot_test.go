package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

func pivotRequest(t testing.TB, d catalog.Dataset, base catalog.BaseKind, body any) (query.PivotRequest, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	v, issues := input.Decode(text)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return query.PivotRule(d, base).Parse(v)
}

// pivot asks for a pivot of the Data API.
func pivot(t testing.TB, e *search.Engine, d catalog.Dataset, body any) (query.Pivot, error) {
	t.Helper()
	r, err := pivotRequest(t, d, catalog.Data, body)
	if err != nil {
		return query.Pivot{}, err
	}
	return e.Pivot(t.Context(), query.PivotSearch{Request: r, Sets: []query.Query{r.Query}})
}

// TestPivotModel compares pivots of random records with those that a model computes from the
// records that searches find.
func TestPivotModel(t *testing.T) {
	t.Parallel()
	requests := 80
	if testing.Short() {
		requests = 15
	}
	for _, shards := range []int{1, 3} {
		r := rand.New(rand.NewPCG(uint64(shards), 23)) // #nosec G404 -- not a secret
		w := searchtest.AnyWorld(t, r, 150)
		x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
		e := &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}
		x.Load(t, w)
		for _, d := range catalog.Datasets {
			model := modelOf(t, e, w, d)
			rows := model.Matching(map[string]any{})
			for range requests {
				body := searchtest.AnyPivot(r, model.Fields, rows)
				got, err := pivot(t, e, d, body)
				if err != nil {
					t.Fatalf("%s %v: %v", d, body, err)
				}
				model.CheckPivot(t, body, got)
			}
		}
	}
}

// The cells are exact even if a node does not have all values of a field in one list, the
// median of many values is the middle one, and a measure of two values is not returned.
func TestPivotMedians(t *testing.T) {
	t.Parallel()
	w := searchtest.NewWorld()
	var n int
	add := func(stage string, costs ...string) {
		for _, cost := range costs {
			n++
			w.Add(
				searchtest.Record(
					t,
					catalog.Projects,
					fmt.Sprintf(`{"id":%q,"name":"P","stage":%q,"cost":%s}`, searchtest.ID("p", n), stage, cost),
				),
			)
		}
	}
	add("filed", "1", "3", "null")                   // two values
	add("permitted", "5", "7")                       // two records
	add("completed", "null", "null", "null")         // none is known
	add("under_review", "-1e308", "1e308", "0", "2") // even, with far ends
	for i := range 2001 {
		add("under_construction", fmt.Sprint(i*i))
	}
	e, x := newEngine(t)
	x.Load(t, w)
	got, err := pivot(t, e, catalog.Projects, map[string]any{
		"rows": map[string]any{"field": "stage"}, "measure": map[string]any{"field": "cost", "of": "median"},
	})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, g := range got.Rows.Groups {
		said[g.Value] = fmt.Sprint(g.Count, " ", string(g.Measure))
	}
	want := map[string]string{
		"filed": "3 null", "permitted": "2 null", "completed": "3 null", "under_review": "4 1", "under_construction": "2001 1000000",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPivotBounds: too many cells are refused by name, before or after they are known.
func TestPivotBounds(t *testing.T) {
	t.Parallel()
	w := searchtest.NewWorld()
	for i, at := range []string{"1900-01-01", "2024-05-05"} {
		w.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(
			`{"id":%q,"name":"P","city":"C%d","filed_at":%q}`, searchtest.ID("p", i+1), i, at)))
	}
	e, x := newEngine(t)
	x.Load(t, w)
	for body, want := range map[string]string{
		`{"rows":{"field":"city","limit":50},"columns":{"field":"state","limit":100}}`:                        "columns.limit: 50 rows",
		`{"rows":{"field":"filed_at","interval":"month"}}`:                                                    "rows.interval: makes 1493 buckets",
		`{"rows":{"field":"city"},"columns":{"field":"filed_at","interval":"month"}}`:                         "columns.interval: makes 1493 buckets",
		`{"rows":{"field":"filed_at","interval":"quarter"},"columns":{"field":"city"}}`:                       "",
		`{"rows":{"field":"filed_at","interval":"quarter"},"columns":{"field":"city","limit":1}}`:             "",
		`{"rows":{"field":"filed_at","interval":"quarter"},"columns":{"field":"filed_at","interval":"year"}}`: "rows: 498 rows and 125 columns make 62250 cells, more than 1000",
	} {
		_, err := pivot(t, e, catalog.Projects, jsontext.Value(body))
		var said string
		if e, ok := errors.AsType[*fault.Error](err); ok {
			said = e.Message
		} else if err != nil {
			said = err.Error()
		}
		if want == "" && err != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", body, said, want)
		}
	}
	empty, err := pivot(t, e, catalog.Projects, jsontext.Value(
		`{"filters":{"city":{"value":"nowhere"}},"rows":{"field":"city"},"columns":{"field":"filed_at","interval":"year"},"measure":{"field":"cost","of":"sum"}}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(empty)
	if want := `{"count":0,"export_credits":0,"cell_count":0,"tokens":1,"measure":null,"rows":{"field":"city","groups":[]},"columns":{"field":"filed_at","groups":[]},"cells":[]}`; string(
		text,
	) != want {
		t.Errorf("nothing found:\n%s\n%s", text, want)
	}
}

func TestCompilePivot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dataset catalog.Dataset
		base    query.Base
		body    string
	}{
		"pivot_one":    {catalog.Projects, dataBase, `{"query":"Bow","rows":{"field":"stage"}}`},
		"pivot_two":    {catalog.Projects, dataBase, `{"filters":{"city":{"value":"Łódź"}},"rows":{"field":"city","limit":2},"columns":{"field":"permitted_at","interval":"month"},"measure":{"field":"cost","of":"median"}}`},
		"pivot_book":   {catalog.Accounts, bookBase, `{"rows":{"field":"tags"},"columns":{"field":"icp_tier"},"measure":{"field":"atlas_score","of":"average"}}`},
		"pivot_people": {catalog.Contacts, viewBase, `{"query":"ada","rows":{"field":"role"},"measure":{"field":"projects_count","of":"max"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := pivotRequest(t, c.dataset, c.base.Kind, jsontext.Value(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Query.Base = c.base
			sets := []query.Query{r.Query}
			sets[0].Held = c.base.Kind == catalog.Book
			if name == "pivot_people" { // of projects, and held
				held := r.Query
				held.Held = true
				sets = append(sets, held)
			}
			pretty := jsontext.Value(search.CompilePivot(query.PivotSearch{Request: r, Sets: sets}))
			if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			pretty = append(pretty, '\n')
			path := filepath.Join("testdata", "compile", name+".golden.json")
			if *update {
				if err := os.WriteFile(path, pretty, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(pretty)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}
