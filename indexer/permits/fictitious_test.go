package permits_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/permits"
	"atlas/search/catalog"
)

// fictitious reports whether a record of the sample is marked as made up.
func fictitious(r record) bool {
	for _, key := range []string{"name", "title", "source"} {
		if s, _ := r[key].(string); strings.HasSuffix(s, " (fictitious)") {
			return true
		}
	}
	return false
}

func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, s := range v {
			all = append(all, s.(string))
		}
		return all
	}
	return nil
}

// Every value of every vocabulary occurs in the sample.
func TestSampleHasEveryValue(t *testing.T) {
	t.Parallel()
	const least = 5
	_, got := convert(t, permits.Calgary(), today)
	for _, c := range []struct {
		dataset, key string
		vocabulary   catalog.Vocabulary
	}{
		{"projects", "stage", catalog.Stages},
		{"projects", "disposition", catalog.Dispositions}, {"projects", "primary_use", catalog.PrimaryUses},
		{"projects", "gc_status", catalog.GCStatuses},
		{"accounts", "account_types", catalog.AccountTypes}, {"contacts", "role", catalog.ContactRoles},
		{"contacts", "status", catalog.ContactStatuses}, {"signals", "signal_type", catalog.SignalTypes}, {"signals", "stage", catalog.Stages},
	} {
		counts := map[string]int{}
		for _, r := range got[c.dataset] {
			for _, v := range list(r[c.key]) {
				counts[v]++
			}
		}
		for _, v := range c.vocabulary.Values() {
			if counts[v] < least {
				t.Errorf("%s: %d records have the %s %s, want %d", c.dataset, counts[v], c.key, v, least)
			}
			delete(counts, v)
		}
		if len(counts) > 0 {
			t.Errorf("%s: %s has other values: %v", c.dataset, c.key, counts)
		}
	}
}

// Firms with large multifamily projects under construction, with people and with
// signals of the last months, in several places.
func TestSampleAnswersTheFirstQuestion(t *testing.T) {
	t.Parallel()
	_, got := convert(t, text(head), today)
	people, recent := map[string]int{}, map[string]int{}
	for _, c := range got["contacts"] {
		people[c["account_id"].(string)]++
	}
	since := today.AddDate(0, 0, -90).Format(time.RFC3339)
	for _, s := range got["signals"] {
		if s["occurred_at"].(string) > since {
			for _, firm := range list(s["account_ids"]) {
				recent[firm]++
			}
		}
	}
	firms, cities, points := map[string]bool{}, map[any]bool{}, map[[2]any]bool{}
	for _, p := range got["projects"] {
		if cost, _ := p["cost"].(float64); cost < 1e6 || p["primary_use"] != "multifamily" ||
			p["stage"] != "under_construction" || p["disposition"] != "active" {
			continue
		}
		cities[p["city"]] = true
		points[[2]any{p["latitude"], p["longitude"]}] = true
		for _, firm := range list(p["account_ids"]) {
			if people[firm] > 0 && recent[firm] > 0 {
				firms[firm] = true
			}
		}
	}
	if len(firms) < 20 || len(cities) < 4 || len(points) < 10 {
		t.Errorf("%d firms, %d cities, %d points", len(firms), len(cities), len(points))
	}
}

// What is made up has its marks and plausible dates, and depends on nothing but the day.
func TestFictitiousRecords(t *testing.T) {
	t.Parallel()
	// No permits: all records are made up.
	_, got := convert(t, text(head), today)
	const later = 9
	_, next := convert(t, text(head), today.AddDate(0, 0, later))
	now := today.Format(time.RFC3339)
	for dataset, records := range got {
		seen := map[string]bool{}
		for i, r := range records {
			id := r["id"].(string)
			if seen[id] {
				t.Errorf("%s: %v comes twice", dataset, r)
			}
			seen[id] = true
			if !fictitious(r) {
				t.Errorf("%s: %v is not marked", dataset, r)
			}
			for key, v := range r {
				at, _ := v.(string)
				if !strings.HasSuffix(key, "_at") {
					continue
				}
				if at > now {
					t.Errorf("%s: %v is in the future", dataset, r)
				}
				day, err := time.Parse(time.RFC3339, at)
				if err != nil {
					t.Fatal(err)
				}
				r[key] = day.AddDate(0, 0, later).Format("2006-01-02T15:04:05.000Z")
			}
			if diff := cmp.Diff(r, next[dataset][i]); diff != "" {
				t.Errorf("%s: %s", dataset, diff)
			}
			order := []any{r["created_at"], r["filed_at"], r["permitted_at"], r["completed_at"], r["updated_at"]}
			if dates := slices.DeleteFunc(order, func(v any) bool { return v == nil }); !slices.IsSortedFunc(
				dates, func(a, b any) int { return strings.Compare(a.(string), b.(string)) },
			) {
				t.Errorf("%s: the dates of %v are in another order", dataset, r)
			}
		}
	}
}
