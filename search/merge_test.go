package search_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// somePeople makes contacts that are linked, held, both or neither. They have few
// different names and times, most of them ties and some unknown. The held documents
// of some are stale.
func somePeople(t testing.TB, n int, random *rand.Rand) []person {
	names := []string{"Ärger", "arger", "Zoë", `Jo "\\"`, "Łódź", "Straße", "李", "\u0001", "nobody"}
	record := func(n int) *document.Record {
		members := fmt.Sprintf(`"name":%s,`, quote(names[random.IntN(len(names))]))
		if random.IntN(4) > 0 {
			members += fmt.Sprintf(`"created_at":"%d-01-%02dT00:00:00.000Z",`, 1960+10*random.IntN(8), 1+random.IntN(3))
		}
		return contact(t, n, max(0, random.IntN(6)-2), members)
	}
	people := make([]person, n)
	for i := range people {
		people[i].global = record(i)
		switch random.IntN(20) {
		case 0:
			people[i].held = record(i) // stale
		case 1:
			people[i] = person{held: people[i].global} // gone from the global records
		case 2, 3, 4, 5, 6, 7, 8, 9, 10, 11:
			people[i].held = people[i].global
		}
	}
	return people
}

// modelRow is a row of either search in the model.
type modelRow struct {
	id    string
	value any // nil, a folded string or an int64
}

func (r modelRow) compare(o modelRow, desc bool) int {
	order := 0
	switch {
	case r.value == nil && o.value == nil:
	case r.value == nil:
		return 1
	case o.value == nil:
		return -1
	default:
		if text, ok := r.value.(string); ok {
			order = strings.Compare(text, o.value.(string))
		} else {
			order = cmp.Compare(r.value.(int64), o.value.(int64))
		}
	}
	if desc {
		order = -order
	}
	return cmp.Or(order, strings.Compare(r.id, o.id))
}

// model is a View of these people, merged in memory.
type model struct {
	rows  []modelRow // of both searches, in order
	desc  bool
	total int
	// unknown are rows without a value to sort by.
	unknown int
}

func newModel(people []person, field string, desc bool) model {
	m := model{desc: desc}
	add := func(r *document.Record) {
		value := r.Value(field)
		if text, ok := value.(string); ok {
			value = catalog.Fold(text)
		}
		if value == unknown[field] {
			value = nil
			m.unknown++
		}
		m.rows = append(m.rows, modelRow{r.ID(), value})
	}
	for _, p := range people {
		if linked(p.global) {
			m.total++
			add(p.global)
		}
		if p.held != nil {
			add(p.held)
			if !linked(p.held) {
				m.total++
			}
		}
	}
	slices.SortFunc(m.rows, func(a, b modelRow) int { return a.compare(b, desc) })
	return m
}

// distinct returns the first n different ids of rows, and the row of the last one.
func distinct(rows []modelRow, n int) (ids []string, last int) {
	seen := map[string]bool{}
	for i, r := range rows {
		if len(ids) == n {
			break
		}
		if !seen[r.id] {
			seen[r.id] = true
			ids, last = append(ids, r.id), i
		}
	}
	return ids, last
}

// page returns the ids of a page with an offset, and the rows after it.
func (m model) page(offset, limit int) (ids []string, rest model) {
	rows := m.rows
	if offset > 0 {
		skipped, last := distinct(rows, offset)
		if len(skipped) < offset {
			return nil, model{}
		}
		rows = m.after(last)
	}
	ids, last := distinct(rows, limit)
	rest = m
	rest.rows = nil
	if more, _ := distinct(rows, limit+1); len(more) > limit {
		rest.rows = model{rows: rows, desc: m.desc}.after(last)
	}
	return ids, rest
}

// after returns the rows after a row. The same row of both searches is one.
func (m model) after(i int) []modelRow {
	rest := m.rows[i:]
	for len(rest) > 0 && rest[0].compare(m.rows[i], m.desc) == 0 {
		rest = rest[1:]
	}
	return rest
}

func recordIDs(t testing.TB, p query.Page) []string {
	t.Helper()
	var ids []string
	for _, record := range p.Rows {
		var r struct{ ID string }
		if err := json.Unmarshal(record, &r); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// Two overlapping searches with ties, unknown values and stale rows are merged. The
// page at any offset, by any sort, and the page after it equal those of a merge in
// memory.
func TestMergedOffsets(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 16))
	people := somePeople(t, 3_000, random)
	v := newViews(t, people)
	few := *v // a View of a workspace that holds nothing
	few.base.Workspace = searchtest.ID("a", 1)
	strangers := make([]person, len(people))
	for i, p := range people {
		strangers[i].global = p.global
	}
	rapid.Check(t, func(r *rapid.T) {
		field := rapid.SampledFrom([]string{"name", "created_at", "projects_count"}).Draw(r, "field")
		desc := rapid.Bool().Draw(r, "desc")
		of, from := v, people
		if rapid.IntRange(0, 4).Draw(r, "stranger") == 0 {
			of, from = &few, strangers
		}
		m := newModel(from, field, desc)
		if m.unknown == 0 && field != "projects_count" {
			r.Fatalf("no row without a %s", field)
		}
		offset := rapid.OneOf(rapid.IntRange(0, 1_100), rapid.IntRange(1_000, 3_100), rapid.Just(10_000)).Draw(r, "offset")
		limit := rapid.IntRange(1, 100).Draw(r, "limit")
		order := map[bool]string{false: "asc", true: "desc"}[desc]
		body := fmt.Sprintf(`{"limit":%d,"offset":%d,"sort":{"field":%q,"order":%q}`, limit, offset, field, order)
		for page, next := 0, ""; page < 3; page++ {
			want, rest := m.page(offset, limit)
			send := body + "}"
			if next != "" {
				send = body + `,"search_after":` + quote(next) + "}"
			}
			got, err := of.merged(t, send).run(t.Context(), v.engine)
			if err != nil {
				r.Fatal(err)
			}
			if ids := recordIDs(t, got); !slices.Equal(ids, want) {
				r.Fatalf("page %d of %s: %v, want %v", page, send, searchtest.Short(ids), searchtest.Short(want))
			}
			if got.Total != min(m.total, search.TotalCap) || got.Capped != (m.total > search.TotalCap) {
				r.Fatalf("%s: total %d, capped %v; want %d", send, got.Total, got.Capped, m.total)
			}
			if (got.Next != "") != (len(rest.rows) > 0) {
				r.Fatalf("page %d of %s: cursor %q, %d rows follow", page, send, got.Next, len(rest.rows))
			}
			if got.Next == "" {
				break
			}
			m, offset, next = rest, 0, got.Next
		}
	})
}
