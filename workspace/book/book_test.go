package book_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/workspace/book"
)

func TestScore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	full := book.ScoreFacts{LastActivity: now, Projects: 50, Contacts: 20}
	for name, c := range map[string]struct {
		tier  string
		facts book.ScoreFacts
		want  int
	}{
		"nothing known":        {"", book.ScoreFacts{}, 20},
		"tier 1 alone":         {"tier_1", book.ScoreFacts{}, 40},
		"tier 2 alone":         {"tier_2", book.ScoreFacts{}, 26},
		"tier 3 alone":         {"tier_3", book.ScoreFacts{}, 13},
		"everything":           {"tier_1", full, 100},
		"more than everything": {"tier_1", book.ScoreFacts{LastActivity: now.AddDate(0, 0, 3), Projects: 5_000, Contacts: 900}, 100},
		"disqualified":         {"disqualified", full, 0},
		"90 days ago":          {"", book.ScoreFacts{LastActivity: ago(90)}, 31},
		"one project":          {"", book.ScoreFacts{Projects: 1}, 24},
		"one contact":          {"", book.ScoreFacts{Contacts: 1}, 22},
	} {
		if got := book.Score(c.tier, c.facts, now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	for _, c := range []struct {
		recent, before int64
		want           string
	}{
		{0, 0, "steady"}, {1, 0, "rising"}, {0, 1, "falling"}, {6, 5, "rising"}, {12, 10, "rising"}, {11, 10, "steady"},
		{10, 10, "steady"}, {9, 10, "steady"}, {8, 10, "falling"}, {4, 5, "falling"},
	} {
		if got := book.Trend(book.ScoreFacts{Recent: c.recent, Before: c.before}); got != c.want {
			t.Errorf("%d against %d: %s, want %s", c.recent, c.before, got, c.want)
		}
	}
}

func TestUpsertRule(t *testing.T) {
	t.Parallel()
	parse := func(body string) (book.Input, error) {
		v, _ := input.Decode([]byte(body))
		return book.UpsertRule(catalog.Accounts).Parse(v)
	}
	in, err := parse(`{"match":{"domain":"WWW.Acme.com"},"icp_tier":null,"notes":" a ","tags":[" Hot","hot","HOT ","b"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := book.Input{Match: "acme.com", Change: book.OverlayChange{"icp_tier": nil, "notes": "a", "tags": []string{"Hot", "b"}}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

// Tags with the same folded form are equal in any encoding. The first spelling is stored in
// composed form, and limits apply to that form.
func TestTagsAreFolded(t *testing.T) {
	t.Parallel()
	const maxTag = 64
	long := strings.Repeat("e\u0301", maxTag)
	for given, want := range map[string][]string{
		`["été","e\u0301te\u0301","ÉTÉ","ete"]`:    {"été"},
		`["e\u0301te\u0301","été"]`:                {"été"},
		`["Øl","ol","Łódź","lodz","Þór","thor"]`:   {"Øl", "Łódź", "Þór"},
		`["ガ","カ\u3099","カ"]`:                      {"ガ", "カ"},
		`["Straße","STRASSE","b"]`:                 {"Straße", "b"},
		`["` + long + `","` + long + `"]`:          {strings.Repeat("é", maxTag)},
		`["` + long + `x"]`:                        nil,
		`["` + strings.Repeat("\u0958", 33) + `"]`: nil, // two characters each when composed
	} {
		v, _ := input.Decode([]byte(`{"project_id":"00000001-0000-4000-8000-000000000001","tags":` + given + `}`))
		in, err := book.UpsertRule(catalog.Projects).Parse(v)
		if want == nil {
			if fault.CodeOf(err) != fault.InvalidInput {
				t.Errorf("%s: %v", given, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if diff := cmp.Diff(any(want), in.Change["tags"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
}

// A change that does not alter the overlay is reported as no change.
func TestApply(t *testing.T) {
	t.Parallel()
	o := book.Overlay{Values: book.Values{"workspace_status": "a", "tags": []string{"x", "y"}}}
	for name, c := range map[string]struct {
		change  book.OverlayChange
		changed bool
	}{
		"nothing":       {book.OverlayChange{}, false},
		"the same":      {book.OverlayChange{"workspace_status": "a", "tags": []string{"x", "y"}}, false},
		"null again":    {book.OverlayChange{"notes": nil}, false},
		"another":       {book.OverlayChange{"workspace_status": "b"}, true},
		"cleared":       {book.OverlayChange{"workspace_status": nil}, true},
		"other order":   {book.OverlayChange{"tags": []string{"y", "x"}}, true},
		"no tags":       {book.OverlayChange{"tags": []string{}}, true},
		"an empty text": {book.OverlayChange{"notes": ""}, true},
	} {
		if _, changed := c.change.Apply(o); changed != c.changed {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
}

// A record outside the book meets only the expectation that it is absent. For one in the book,
// only the named values count, and an empty value equals none.
func TestExpectation(t *testing.T) {
	t.Parallel()
	o := &book.Overlay{Values: book.Values{"workspace_status": "a", "tags": []string{"x", "y"}}}
	for name, c := range map[string]struct {
		body    string
		met     bool // by o
		outside bool // met by a record outside the book
	}{
		"nothing is expected":       {`{}`, true, true},
		"that it is not there":      {`{"expected":{"in_book":false}}`, false, true},
		"that it is there":          {`{"expected":{}}`, true, false},
		"the value":                 {`{"expected":{"workspace_status":"a"}}`, true, false},
		"all values":                {`{"expected":{"workspace_status":"a","tags":["x","y"],"notes":null,"icp_tier":null}}`, true, false},
		"another value":             {`{"expected":{"workspace_status":"b"}}`, false, false},
		"one of two":                {`{"expected":{"workspace_status":"a","notes":"n"}}`, false, false},
		"no value":                  {`{"expected":{"workspace_status":null}}`, false, false},
		"no tags":                   {`{"expected":{"tags":[]}}`, false, false},
		"tags in another order":     {`{"expected":{"tags":["y","x"]}}`, false, false},
		"the change does not count": {`{"workspace_status":"b","expected":{"workspace_status":"a"}}`, true, false},
	} {
		v, _ := input.Decode([]byte(`{"account_id":"00000001-0000-4000-8000-000000000001",` + c.body[1:]))
		if c.body == `{}` {
			v, _ = input.Decode([]byte(`{"account_id":"00000001-0000-4000-8000-000000000001"}`))
		}
		in, err := book.UpsertRule(catalog.Accounts).Parse(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in.Expected.Met(o) != c.met || in.Expected.Met(nil) != c.outside {
			t.Errorf("%s: %v of the record, %v outside the book", name, in.Expected.Met(o), in.Expected.Met(nil))
		}
	}
	for name, body := range map[string]string{
		"of another dataset": `{"project_id":"00000001-0000-4000-8000-000000000001","expected":{"icp_tier":null}}`,
		"computed":           `{"project_id":"00000001-0000-4000-8000-000000000001","expected":{"updated_at":null}}`,
		"no object":          `{"project_id":"00000001-0000-4000-8000-000000000001","expected":"x"}`,
		"values outside":     `{"project_id":"00000001-0000-4000-8000-000000000001","expected":{"in_book":false,"notes":"x"}}`,
		"no list":            `{"project_id":"00000001-0000-4000-8000-000000000001","expected":{"tags":null}}`,
	} {
		v, _ := input.Decode([]byte(body))
		if _, err := book.UpsertRule(catalog.Projects).Parse(v); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}
