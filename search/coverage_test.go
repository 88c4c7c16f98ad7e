package search_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// surveyed is an engine on indices of three shards, with random records.
func surveyed(t *testing.T) (*search.Engine, searchtest.Indices, *searchtest.World) {
	t.Helper()
	indices := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 3})
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- test data
	pick := func(values ...string) string {
		if v := values[random.IntN(len(values))]; v != "" {
			return v
		}
		return "null"
	}
	long := strings.Repeat("Llanfair", 90)
	city := func() string {
		return pick(
			`"Calgary"`, `"CALGARY"`, `"Montréal"`, `"Montreal"`, `"montréal"`, `"Łódź"`, `"`+long+`"`, `"`+long+`"`,
			`"`+long+`"`, "", fmt.Sprintf(`"Town %d"`, random.IntN(40)),
		)
	}
	w := searchtest.NewWorld()
	for i := 1; i <= 400; i++ {
		at := time.Date(2025, 1, 1, random.IntN(5000), 0, 0, random.IntN(1000)*1e6, time.UTC).Format(catalog.TimeLayout)
		account, contact, project := searchtest.ID("a", i), searchtest.ID("c", i), searchtest.ID("p", i)
		w.Add(
			searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm","city":%s,"account_types":%s,"domains":%s,"updated_at":%q}`, account, city(),
				pick(`[]`, `["owner"]`, `["owner","lender"]`, `["developer"]`), pick(`[]`, `["a.example"]`), at)),
			searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Person","email":%s,"role":%s,"city":%s,"account_id":%s,"updated_at":%q}`, contact,
				pick(`"a@b.example"`, ""), pick(`"owner"`, `"broker"`, ""), city(), pick(`"`+account+`"`, ""), at)),
			searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Tower","stage":%s,"cost":%s,"city":%s,"contact_ids":%s,"updated_at":%q}`, project,
				pick(`"filed"`, `"permitted"`, ""), pick("0", "1.5", ""), city(), pick(`["`+contact+`"]`, `[]`), at)),
			searchtest.Record(t, catalog.Signals, fmt.Sprintf(`{"id":%q,"title":"Event","signal_type":%s,"occurred_at":"2026-01-01T00:00:00Z","detected_at":%q,"project_id":%s}`, searchtest.ID("s", i),
				pick(`"permit_filed"`, `"cost_changed"`), at, pick(`"`+project+`"`, ""))))
	}
	indices.Load(t, w)
	return &search.Engine{Elastic: indices.Client, Names: indices.Names, Timeout: 30 * time.Second}, indices, w
}

// modelled computes a coverage from the documents.
func modelled(t *testing.T, w *searchtest.World, c query.Coverage) []search.CoverageValue {
	t.Helper()
	type group struct {
		search.CoverageValue
		spellings map[string]int
		known     map[string]int
	}
	groups := map[string]*group{}
	for _, doc := range w.Documents()[c.Dataset] {
		var record map[string]any
		if err := json.Unmarshal(doc.Body, &record); err != nil {
			t.Fatal(err)
		}
		values, list := record[c.By.Name].([]any)
		if one, ok := record[c.By.Name].(string); ok && !list {
			values = []any{one}
		}
		for _, v := range values {
			spelling := v.(string)
			key := spelling
			if c.By.Dynamic() {
				key = catalog.Fold(spelling)
			}
			g := groups[key]
			if g == nil {
				g = &group{search.CoverageValue{Value: key, Known: map[string]float64{}}, map[string]int{}, map[string]int{}}
				groups[key] = g
			}
			g.Records++
			g.spellings[spelling]++
			if at, _ := record[catalog.NewestField(c.Dataset).Name].(string); g.Newest == nil || *g.Newest < at {
				g.Newest = &at
			}
			for _, f := range catalog.FilterFields(c.Dataset, catalog.Data) {
				if list, ok := record[f.Name].([]any); record[f.Name] != nil && (!ok || len(list) > 0) {
					g.known[f.Key]++
				}
			}
		}
	}
	all := []search.CoverageValue{}
	for _, g := range groups {
		for spelling, n := range g.spellings {
			if g.Label == "" || n > g.spellings[g.Label] || n == g.spellings[g.Label] && spelling < g.Label {
				g.Label = spelling
			}
		}
		if !c.By.Dynamic() {
			g.Label = c.By.Vocabulary.Label(g.Value)
		}
		for _, f := range catalog.FilterFields(c.Dataset, catalog.Data) {
			g.Known[f.Key] = math.Round(float64(g.known[f.Key])/float64(g.Records)*10_000) / 10_000
		}
		all = append(all, g.CoverageValue)
	}
	slices.SortFunc(all, func(a, b search.CoverageValue) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(a.Value, b.Value))
	})
	return all[:min(len(all), c.Limit)]
}

// All counts equal those of a model that reads the documents, on several shards, for every
// enum, and after deletions.
func TestCoverage(t *testing.T) {
	t.Parallel()
	e, _, w := surveyed(t)
	for _, d := range catalog.Datasets {
		for _, f := range catalog.FilterFields(d, catalog.Data) {
			if f.Kind != catalog.Enum {
				continue
			}
			for _, limit := range []int{1, 3, 100} {
				c := query.Coverage{Dataset: d, By: f, Limit: limit}
				got, err := e.Coverage(t.Context(), "A", c)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(modelled(t, w, c), got); diff != "" {
					t.Errorf("%s by %s, %d (-want +got):\n%s", d, f.Key, limit, diff)
				}
			}
		}
	}
}

// A source has the terms stored in the index, also after a change without a record.
func TestCoverageOfSources(t *testing.T) {
	t.Parallel()
	indices := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{})
	w := searchtest.NewWorld()
	for i, source := range []string{"City of Exampleton", "City of Exampleton", "CITY OF EXAMPLETON", "Other"} {
		w.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Tower","source":%q}`, searchtest.ID("p", i), source)))
	}
	indices.Load(t, w)
	e := &search.Engine{Elastic: indices.Client, Names: indices.Names, Timeout: 30 * time.Second}
	by := func(name string) []search.CoverageValue {
		t.Helper()
		f, _ := catalog.FieldNamed(catalog.Projects, name)
		values, err := e.Coverage(t.Context(), "A", query.Coverage{Dataset: catalog.Projects, By: f, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	if values := by("source"); len(values) != 2 || values[0].Source != nil {
		t.Fatalf("%+v", values)
	}
	alias := indices.Names.Alias("projects")
	all, err := indices.Client.MappingMeta(t.Context(), alias)
	if err != nil {
		t.Fatal(err)
	}
	for index, meta := range all {
		meta.Sources = []byte(`{"city of exampleton":{"page":null,"licence":"Public domain","attribution":"From Exampleton","terms":"https://example.org/terms"}}`)
		if err := indices.Client.PutMappingMeta(t.Context(), index, meta); err != nil {
			t.Fatal(err)
		}
	}
	values := by("source")
	want := &catalog.SourceTerms{Licence: new("Public domain"), Attribution: new("From Exampleton"), Terms: new("https://example.org/terms")}
	if diff := gocmp.Diff(want, values[0].Source); diff != "" || values[1].Source != nil {
		t.Errorf("%v (-want +got):\n%s", values[1].Source, diff)
	}
	if values := by("stage"); len(values) > 0 && values[0].Source != nil {
		t.Errorf("%+v", values)
	}
	if after, err := indices.Client.MappingMeta(t.Context(), alias); err != nil || gocmp.Equal(all, after) {
		t.Errorf("%v %v", after, err)
	}
}

// The version of a dataset rises with each write and each deletion, that of others does
// not.
func TestRelease(t *testing.T) {
	t.Parallel()
	e, indices, w := surveyed(t)
	release := func() search.Release {
		t.Helper()
		r, err := e.Release(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := release()
	at, err := time.Parse(catalog.TimeLayout, before.LoadedAt)
	if err != nil || time.Since(at) < 0 || time.Since(at) > time.Hour || before.Generation != "1" || len(before.Datasets) != 4 {
		t.Errorf("%+v, %v", before, err)
	}
	for _, d := range catalog.Datasets {
		var newest string
		for _, doc := range w.Documents()[d] {
			var record map[string]any
			if err := json.Unmarshal(doc.Body, &record); err != nil {
				t.Fatal(err)
			}
			newest = max(newest, record[catalog.NewestField(d).Name].(string))
		}
		if got := before.Datasets[d]; got.Records != 400 || got.Newest == nil || *got.Newest != newest || got.Version < 1e15 ||
			got.Version > 1<<53 {
			t.Errorf("%s: %+v, the newest is %s", d, got, newest)
		}
	}
	doc := w.Documents()[catalog.Accounts][0]
	indices.Put(t, catalog.Accounts, doc)
	written := release()
	var batch elastic.Batch
	batch.Delete(doc.ID)
	if refused, err := indices.Client.Bulk(
		t.Context(), indices.Names.Alias("accounts"), &batch, elastic.Retry{For: 30 * time.Second},
	); err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	indices.Refresh(t)
	deleted := release()
	a, b, c := before.Datasets[catalog.Accounts], written.Datasets[catalog.Accounts], deleted.Datasets[catalog.Accounts]
	if a.Version >= b.Version || b.Version >= c.Version || c.Records != 399 {
		t.Errorf("%+v, written %+v, deleted %+v", a, b, c)
	}
	if before.Datasets[catalog.Signals] != deleted.Datasets[catalog.Signals] &&
		*before.Datasets[catalog.Signals].Newest != *deleted.Datasets[catalog.Signals].Newest {
		t.Errorf("signals: %+v, then %+v", before.Datasets[catalog.Signals], deleted.Datasets[catalog.Signals])
	}
	if before.Datasets[catalog.Signals].Version != deleted.Datasets[catalog.Signals].Version {
		t.Error("a write of an account changed the version of signals")
	}
}

// Without records there is nothing to list, and without an index no answer.
func TestReleaseOfNothing(t *testing.T) {
	t.Parallel()
	indices := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 2})
	e := &search.Engine{Elastic: indices.Client, Names: indices.Names, Timeout: 30 * time.Second}
	r, err := e.Release(t.Context())
	if got := r.Datasets[catalog.Accounts]; err != nil || got.Records != 0 || got.Newest != nil {
		t.Errorf("%+v, %v", r, err)
	}
	city, _ := catalog.FieldNamed(catalog.Accounts, "city")
	if values, err := e.Coverage(t.Context(), "A", query.Coverage{Dataset: catalog.Accounts, By: city, Limit: 10}); err != nil ||
		values == nil || len(values) != 0 {
		t.Errorf("%v, %v", values, err)
	}
	none := &search.Engine{Elastic: indices.Client, Names: mappings.Names{Prefix: "none-"}, Timeout: 30 * time.Second}
	_, err = none.Release(t.Context())
	unavailable(t, err)
	_, err = none.Coverage(t.Context(), "A", query.Coverage{Dataset: catalog.Accounts, By: city, Limit: 10})
	unavailable(t, err)
}
