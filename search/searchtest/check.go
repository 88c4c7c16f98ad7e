package searchtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Page is the answer of a search.
type Page struct {
	IDs    []string
	Total  int
	Capped bool
	Next   string // the cursor, empty on the last page
}

// Search runs a search request on a dataset.
type Search func(ctx context.Context, d catalog.Dataset, body []byte) (Page, error)

// totalCap is the highest exact total.
const totalCap = 1000

// Check checks the results of a search against a case: in one page and, if the body
// has no limit or offset, paged to the end by one, two and seven rows.
func Check(t *testing.T, c Case, search Search) {
	t.Helper()
	body := members(t, c.Body)
	_, limited := body["limit"]
	_, shifted := body["offset"]
	whole := !limited && !shifted
	if !limited {
		body = with(body, "limit", query.MaxLimit)
	}
	got := run(t, c.Dataset, body, search)
	want, ids := c.Want, got.IDs
	if c.Unordered {
		want, ids = slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(ids))
	}
	if diff := cmp.Diff(Short(want), Short(ids)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	total := len(c.Want)
	if c.Total != nil {
		total = *c.Total
	}
	if got.Total != min(total, totalCap) || got.Capped != (total > totalCap) {
		t.Errorf("total %d, capped %v; want %d", got.Total, got.Capped, total)
	}
	if !whole || t.Failed() {
		return
	}
	if got.Next != "" {
		t.Errorf("the only page has a cursor")
	}
	for _, limit := range []int{1, 2, 7} {
		if diff := cmp.Diff(Short(got.IDs), Short(Walk(t, c.Dataset, c.Body, limit, total, search))); diff != "" {
			t.Errorf("paged by %d (-one page +paged):\n%s", limit, diff)
		}
	}
}

// Walk pages to the end and returns all ids in order. Every page but the last must
// be full, and the total of each must be total. A negative total is not checked:
// records change during the walk.
func Walk(t testing.TB, d catalog.Dataset, body json.RawMessage, limit, total int, search Search) []string {
	t.Helper()
	request := with(members(t, body), "limit", limit)
	all := []string{}
	for {
		p := run(t, d, request, search)
		all = append(all, p.IDs...)
		if total >= 0 && (p.Total != min(total, totalCap) || p.Capped != (total > totalCap)) {
			t.Fatalf("after %d rows by %d: total %d, capped %v; want %d", len(all), limit, p.Total, p.Capped, total)
		}
		// When records are deleted during the walk, the last page may be empty.
		if len(p.IDs) > limit || p.Next != "" && len(p.IDs) < limit || len(p.IDs) == 0 && len(all) > 0 && total >= 0 {
			t.Fatalf("after %d rows by %d: a page of %d, cursor %q", len(all), limit, len(p.IDs), p.Next)
		}
		if p.Next == "" {
			return all
		}
		if total >= 0 && len(all) > total {
			t.Fatalf("paging by %d does not end: %d rows of %d", limit, len(all), total)
		}
		request = with(request, "search_after", p.Next)
	}
}

func run(t testing.TB, d catalog.Dataset, body map[string]json.RawMessage, search Search) Page {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	p, err := search(t.Context(), d, data)
	if err != nil {
		t.Fatalf("%.500s: %v", data, err)
	}
	return p
}

func members(t testing.TB, body json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%.500s: %v", body, err)
	}
	return m
}

// with is a copy of a body with one more member.
func with(body map[string]json.RawMessage, name string, value any) map[string]json.RawMessage {
	body = maps.Clone(body)
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("searchtest: %T is no JSON: %v", value, err)) // all values are numbers and strings
	}
	body[name] = text
	return body
}
