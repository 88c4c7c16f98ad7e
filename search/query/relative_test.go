package query_test

import (
	"strings"
	"testing"
	"time"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// The grammar of docs/api.md, "Relative dates", at one time.
func TestRelative(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 23, 30, 15, 7, time.FixedZone("", -7200)) // 1 April in UTC
	for text, want := range map[string]string{
		"now": "2026-04-01T01:30:15Z", "now-2h": "2026-03-31T23:30:15Z", "now+1h": "2026-04-01T02:30:15Z",
		"today": "2026-04-01", "today-1d": "2026-03-31", "yesterday": "",
		"now-30d": "2026-03-02", "today-30d": "2026-03-02", "now+1w": "2026-04-08", "now-1M": "2026-03-01", "now-1y": "2025-04-01",
		"2026-Q1": "2026-01-01 2026-03-31", "2024-q4": "2024-10-01 2024-12-31",
		"now-30": "", "now-30days": "", "Now": "", "NOW-1d": "", "today-1h": "", "now-1m": "", "now-99999d": "",
		"now-9999y": "", "2026-Q5": "", "2026-Q0": "", "0000-Q1": "", "": "", "now ": "", "2026-01-01": "",
		"last 30 days": "",
	} {
		first, last, ok := query.Relative(text, now)
		got := ""
		if ok {
			if got = first; last != first {
				got += " " + last
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if first, _, _ := query.Relative("today-1M", time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)); first != "2026-02-28" {
		t.Errorf("a month before 31 March: %s", first)
	}
}

// Relative dates are replaced in filters by date at any depth and in since, and nowhere else;
// the hints say by what.
func TestResolveDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for body, want := range map[string]string{
		`{"filters":{"filed_at":{"value":["now-30d",null]}}}`:          `{"filters":{"filed_at":{"value":["2026-10-27",null]}}}`,
		`{"filters":{"filed_at":{"value":"2026-Q1"}}}`:                 `{"filters":{"filed_at":{"value":["2026-01-01","2026-03-31"]}}}`,
		`{"filters":{"filed_at":{"value":["2025-Q4","2026-Q1"]}}}`:     `{"filters":{"filed_at":{"value":["2025-10-01","2026-03-31"]}}}`,
		`{"any":[{"filters":{"filed_at":{"value":"today"}}}]}`:         `{"any":[{"filters":{"filed_at":{"value":"2026-11-26"}}}]}`,
		`{"relations":{"has_signal":{"occurred_at":{"value":"now"}}}}`: `{"relations":{"has_signal":{"occurred_at":{"value":"2026-11-26T12:00:00Z"}}}}`,
		`{"query":"today","filters":{"name":{"value":"now"}}}`:         `{"query":"today","filters":{"name":{"value":"now"}}}`,
		`{"filters":{"city":{"value":["today"]}}}`:                     `{"filters":{"city":{"value":["today"]}}}`,
		`{"since":"now-7d"}`: `{"since":"2026-11-19"}`,
		`{"definition":{"filters":{"filed_at":{"value":"today"}}}}`: `{"definition":{"filters":{"filed_at":{"value":"today"}}}}`,
	} {
		v, _ := input.Decode([]byte(body))
		got, resolved := query.ResolveDates(v, now)
		if got.JSON() != want || (len(resolved) > 0) != (body != want) {
			t.Errorf("%s: %s %q, want %s", body, got.JSON(), resolved, want)
		}
	}
	v, _ := input.Decode([]byte(`{"filters":{"filed_at":{"value":["now-30d",null]}},"none":[{"relations":{"has_signal":{"occurred_at":{"value":"2026-Q1"}}}}]}`))
	v, _ = query.ResolveDates(v, now)
	q, err := query.Parse(v, catalog.Projects, query.Base{Kind: catalog.Data})
	if hints := strings.Join(q.Hints.For(1, nil), "\n"); err != nil || hints != "\"now-30d\" is 2026-10-27, in UTC\n\"2026-Q1\" is 2026-01-01 to 2026-03-31, in UTC" {
		t.Errorf("%v %s", err, hints)
	}
	for _, text := range []string{"now-30", "last 30 days", "2026Q1", "30d", "now-1m"} {
		if problem := query.DateProblem(text); !strings.Contains(problem, "now-30d") {
			t.Errorf("%q: %s", text, problem)
		}
	}
}
