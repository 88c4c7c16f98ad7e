package search_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

func parsed(t interface{ Fatalf(string, ...any) }, d catalog.Dataset, body string) query.Query {
	v, issues := input.Decode([]byte(body))
	q, err := query.Parse(v, d, query.Base{Kind: catalog.Data})
	if len(issues) > 0 || err != nil {
		t.Fatalf("%s: %v %v", body, issues, err)
	}
	return q
}

// TestMatchingFindsWhatTheModelFinds draws several requests at once and some records, and
// compares with an evaluation in memory.
func TestMatchingFindsWhatTheModelFinds(t *testing.T) {
	t.Parallel()
	w, model := searchtest.ModelWorld(t, 60)
	e, x := newEngine(t)
	x.Load(t, w)
	// Searches that find more than a few run in another way.
	engines := []*search.Engine{e, {Elastic: e.Elastic, Names: e.Names, Cursors: e.Cursors, Timeout: e.Timeout, FewMatches: 2}}
	for _, d := range []catalog.Dataset{catalog.Accounts, catalog.Projects} {
		all, some := 0, 0
		searchtest.CheckAll(t, func(r *rapid.T) {
			random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "among")))
			e := engines[rapid.IntRange(0, len(engines)-1).Draw(r, "engine")]
			among := map[string]bool{}
			var ids []uuid.UUID
			for _, record := range w.Records(d) {
				if among[record.ID()] = random.IntN(3) > 0; among[record.ID()] {
					ids = append(ids, uuid.MustParse(record.ID()))
				}
			}
			searches := make([]query.Query, rapid.IntRange(1, 5).Draw(r, "searches"))
			want := make([][]string, len(searches))
			for i := range searches {
				c := model.Draw(r, d, catalog.Data)
				searches[i] = parsed(r, d, string(c.Body()))
				want[i] = model.Find(d, catalog.Data, c, func(id string) bool { return among[id] })
			}
			found, err := e.Matching(t.Context(), d, ids, searches)
			if err != nil {
				r.Fatalf("%v", err)
			}
			for i, of := range found {
				if diff := cmp.Diff(searchtest.Short(want[i]), searchtest.Short(texts(of))); diff != "" {
					r.Fatalf("search %d of %s (-want +got):\n%s", i, d, diff)
				}
				all++
				if len(of) > 0 {
					some++
				}
			}
		})
		if some < 20 || some > all-5 {
			t.Errorf("%s: %d of %d searches find records", d, some, all)
		}
	}
}

func sortedIDs(w *searchtest.World, d catalog.Dataset) (ids []uuid.UUID) {
	for _, record := range w.Records(d) {
		ids = append(ids, uuid.MustParse(record.ID()))
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func texts(ids []uuid.UUID) []string {
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		all = append(all, id.String())
	}
	return all
}

// TestMatchingOfTexts compares searches with texts, circles and many matches with Search.
func TestMatchingOfTexts(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	w := searchtest.AnyWorld(t, rand.New(rand.NewPCG(5, 5)), 300)
	x.Load(t, w)
	var ids []uuid.UUID
	for i, record := range w.Records(catalog.Projects) {
		if i%3 > 0 {
			ids = append(ids, uuid.MustParse(record.ID()))
		}
	}
	there := len(ids)
	for range 2_500 { // more than one request looks for, most of which no index has
		ids = append(ids, uuid.New())
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	words := map[string]bool{}
	for _, record := range w.Records(catalog.Projects) {
		var fields struct{ Name, Description string }
		if err := json.Unmarshal(record.AppendPublic(nil), &fields); err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(fields.Name) {
			words[word] = true
		}
	}
	bodies := []string{`{}`, `{"query":"nothing has this word"}`}
	for word := range words {
		if len(bodies) < 40 && word != "" {
			bodies = append(bodies, fmt.Sprintf(`{"query":%q}`, word), fmt.Sprintf(`{"query":%q,"words":"exact"}`, word))
		}
	}
	id, _ := catalog.FieldNamed(catalog.Projects, "id")
	find := dataSearch(e, func(q *query.Query) { q.Where = append(q.Where, query.Terms{Field: &id, Values: texts(ids)}) })
	searches := make([]query.Query, len(bodies))
	for i, body := range bodies {
		searches[i] = parsed(t, catalog.Projects, body)
	}
	found, err := e.Matching(t.Context(), catalog.Projects, ids, searches)
	if err != nil {
		t.Fatal(err)
	}
	some := 0
	for i, body := range bodies {
		if body == `{}` {
			if len(found[i]) != there {
				t.Errorf("all records: %d of %d", len(found[i]), there)
			}
			continue
		}
		page, err := find(t.Context(), catalog.Projects, []byte(strings.Replace(body, `{`, `{"limit":100,`, 1)))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		slices.Sort(page.IDs)
		if diff := cmp.Diff(searchtest.Short(page.IDs), searchtest.Short(texts(found[i]))); diff != "" && page.Total <= 100 {
			t.Errorf("%s (-Search +Matching):\n%s", body, diff)
		}
		some += min(1, len(page.IDs))
	}
	if some < 10 {
		t.Errorf("only %d searches find records", some)
	}
}

// loadedProjects is an engine over a random world, and the ids of its projects, in order.
func loadedProjects(t *testing.T, seed uint64, records int) (*search.Engine, []uuid.UUID) {
	t.Helper()
	e, x := newEngine(t)
	w := searchtest.AnyWorld(t, rand.New(rand.NewPCG(seed, seed)), records)
	x.Load(t, w)
	return e, sortedIDs(w, catalog.Projects)
}

// Searches that find more than one answer holds get all of it, from more than one request.
func TestMatchingOfMoreThanAnAnswerHolds(t *testing.T) {
	t.Parallel()
	e, ids := loadedProjects(t, 6, 600)
	searches := make([]query.Query, search.MaxMatchingSearches)
	for i := range searches {
		searches[i] = parsed(t, catalog.Projects, `{}`)
		if i%10 == 0 {
			searches[i] = parsed(t, catalog.Projects, `{"query":"nothing has this word"}`)
		}
	}
	// Elasticsearch returns at most 65,536 buckets.
	if n := len(ids) * search.MaxMatchingSearches * 9 / 10; n < 50_000 {
		t.Fatalf("only %d matches", n)
	}
	found, err := e.Matching(t.Context(), catalog.Projects, ids, searches)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range found {
		want := ids
		if i%10 == 0 {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("search %d finds %d of %d", i, len(got), len(want))
		}
	}
}

// Records that were written before are not searched again after the alias moves to an index
// whose numbers are others.
func TestMatchingWhileTheAliasMoves(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	w := searchtest.AnyWorld(t, rand.New(rand.NewPCG(7, 7)), 40)
	x.Load(t, w)
	x.Load(t, w) // so that the numbers are higher than those in the index after
	ids := sortedIDs(w, catalog.Projects)
	alias := x.Names.Alias(string(catalog.Projects))
	before, after := x.Names.Generation(string(catalog.Projects), "1"), x.Names.Generation(string(catalog.Projects), "2")
	body, err := mappings.Index(string(catalog.Projects), mappings.Settings{Shards: 2})
	if err == nil {
		err = x.Client.CreateIndex(t.Context(), after, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, x.Client, after) })
	moved, gone := false, false
	moving := proxied(t, e, func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_msearch") || moved {
			return false
		}
		moved = true
		err := x.Client.ChangeAliases(t.Context(), []elastic.AliasChange{
			{Index: after, Alias: alias}, {Index: before, Alias: alias, Remove: true},
		})
		if err == nil && gone {
			err = x.Client.DeleteIndices(t.Context(), before)
		}
		if err == nil && !gone {
			x.Load(t, w)
		}
		if err != nil {
			t.Error(err)
		}
		return false
	})
	all := []query.Query{parsed(t, catalog.Projects, `{}`)}
	found, err := moving.Matching(t.Context(), catalog.Projects, ids, all)
	if err != nil || !slices.Equal(found[0], ids) {
		t.Errorf("%d of %d: %v", len(found[0]), len(ids), err)
	}
	if !moved {
		t.Fatal("the alias was not moved")
	}
	before, after, moved, gone = after, before, false, true
	if found, err := moving.Matching(t.Context(), catalog.Projects, ids, all); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an index that is gone meanwhile: %d records, %v", len(found), err)
	}
}

// Short searches that take too long run as filters instead.
func TestMatchingThatTakesTooLong(t *testing.T) {
	t.Parallel()
	e, ids := loadedProjects(t, 9, 40)
	slow := proxied(t, e, func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/_msearch") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	slow.Timeout = time.Second
	found, err := slow.Matching(t.Context(), catalog.Projects, ids, []query.Query{parsed(t, catalog.Projects, `{}`)})
	if err != nil || !slices.Equal(found[0], ids) {
		t.Errorf("%d of %d: %v", len(found), len(ids), err)
	}
}

// Searches that nobody waits for take one thread, and no place in the cache of answers.
func TestMatchingLeavesSearchesToOthers(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	w := searchtest.AnyWorld(t, rand.New(rand.NewPCG(8, 8)), 40)
	x.Load(t, w)
	ids := sortedIDs(w, catalog.Accounts)
	var several []string
	watched := proxied(t, e, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/_msearch") {
			several = append(several, r.URL.Query().Get("max_concurrent_searches"))
		}
		return false
	})
	watched.FewMatches = 1
	all := make([]query.Query, 3)
	for i := range all {
		all[i] = parsed(t, catalog.Accounts, fmt.Sprintf(`{"query":"w%d"}`, i))
	}
	all[0] = parsed(t, catalog.Accounts, `{}`)
	for range 2 {
		if found, err := watched.Matching(t.Context(), catalog.Accounts, ids, all); err != nil || len(found[0]) != len(ids) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1", "1"}, several); diff != "" {
		t.Errorf("searches at once (-want +got):\n%s", diff)
	}
	res, err := x.Client.Do(t.Context(), esapi.IndicesStatsRequest{
		Index: []string{x.Names.Alias(string(catalog.Accounts))}, Metric: []string{"request_cache"}, FilterPath: []string{"_all.total"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(res.Body)), `"hit_count":0,"miss_count":0`; !strings.Contains(got, want) {
		t.Errorf("the cache of answers: %s", got)
	}
}

func TestMatchingRefuses(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	one := []uuid.UUID{uuid.New()}
	held := parsed(t, catalog.Accounts, `{}`)
	held.Held = true
	for what, ask := range map[string]func() ([][]uuid.UUID, error){
		"a search of held records": func() ([][]uuid.UUID, error) {
			return e.Matching(t.Context(), catalog.Accounts, one, []query.Query{held})
		},
		"a search of another dataset": func() ([][]uuid.UUID, error) {
			return e.Matching(t.Context(), catalog.Projects, one, []query.Query{parsed(t, catalog.Accounts, `{}`)})
		},
		"too many records": func() ([][]uuid.UUID, error) {
			all := []query.Query{parsed(t, catalog.Accounts, `{}`)}
			return e.Matching(t.Context(), catalog.Accounts, make([]uuid.UUID, search.MaxMatching+1), all)
		},
		"too many searches": func() ([][]uuid.UUID, error) {
			return e.Matching(t.Context(), catalog.Accounts, one, make([]query.Query, search.MaxMatchingSearches+1))
		},
	} {
		if _, err := ask(); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", what, err)
		}
	}
	found, err := e.Matching(t.Context(), catalog.Accounts, nil, []query.Query{parsed(t, catalog.Accounts, `{}`)})
	if err != nil || len(found) != 1 || found[0] != nil {
		t.Errorf("among no records: %v %v", found, err)
	}
}
