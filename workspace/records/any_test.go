package records_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace/views"
)

// TestAnyDefinitionRuns draws valid definitions, also large ones, stores them and
// searches their Views: Elasticsearch accepts each.
func TestAnyDefinitionRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, searchtest.Read(t, "../../search/testdata/cases.yaml").World)
	letters := []rune("aZé0 -\"\\*:()~建Łß🏗\u0301\u200d\t")
	text := func(most int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			s := string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, most).Draw(t, "letters"))
			if utf8.RuneCountInString(s) > most {
				t.Fatal("too long")
			}
			return s
		})
	}
	digits := rapid.StringMatching(`[0-9]{1,15}`)
	day := rapid.SampledFrom([]string{"0001-01-01", "1969-12-31", "2024-02-29", "2024-03-01", "9999-12-31"})
	rapid.Check(t, func(r *rapid.T) {
		d := rapid.SampledFrom(catalog.Held).Draw(r, "dataset")
		fields := map[string]any{}
		for _, k := range views.DefinitionKeys(d) {
			if !rapid.Bool().Draw(r, "with "+k.Key) {
				continue
			}
			switch k.Shape {
			case views.NumberRange:
				fields[k.Key] = span(r, "min", "max", digits)
			case views.DateRange:
				fields[k.Key] = span(r, "after", "before", day)
			case views.Known:
				fields[k.Key] = []string{rapid.SampledFrom([]string{"known", "unknown"}).Draw(r, "known")}
			case views.OneID:
				fields[k.Key] = []string{searchtest.ID("a", 1)}
			default:
				of := text(300)
				if k.Field.Vocabulary != nil {
					of = rapid.SampledFrom(k.Field.Vocabulary.Values())
				}
				fields[k.Key] = rapid.SliceOfN(of, 1, 100).Draw(r, k.Key)
			}
		}
		body, err := json.Marshal(map[string]any{"version": 1, "q": text(500).Draw(r, "q"), "fields": fields})
		fatal(t, err)
		definition, err := views.ParseDefinition(valueOf(t, `{"d":`+string(body)+`}`).Get("d"), d, views.Dynamic)
		if err != nil {
			return // two equal values, or ends that are crossed
		}
		v := views.View{
			ID: views.ID(uuids([]string{searchtest.ID("p", 1)})[0]), Workspace: w.in, Dataset: d, Type: views.Dynamic,
			Definition: definition,
		}
		q, err := query.Parse(valueOf(t, `{"limit":1}`), d, query.Base{Kind: catalog.View})
		fatal(t, err)
		if _, err := w.SearchView(t.Context(), v, q); err != nil {
			r.Fatalf("%s: %v", body, err)
		}
	})
}

// span is a range with one end or both ends.
func span(r *rapid.T, from, to string, ends *rapid.Generator[string]) map[string]string {
	m := map[string]string{}
	which := rapid.IntRange(1, 3).Draw(r, "ends "+strconv.Quote(from))
	if which&1 != 0 {
		m[from] = ends.Draw(r, from)
	}
	if which&2 != 0 {
		m[to] = ends.Draw(r, to)
	}
	return m
}
