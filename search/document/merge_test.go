package document_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/document"
)

// A line that merges a record, and lines that do not or are wrong.
func TestParseMerge(t *testing.T) {
	t.Parallel()
	const (
		one  = "10000000-0000-4000-8000-000000000001"
		two  = "10000000-0000-4000-8000-000000000002"
		none = "00000000-0000-0000-0000-000000000000"
	)
	at := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for line, want := range map[string]struct {
		merge    document.Merge
		is       bool
		problems []document.Problem
	}{
		`{"id":"` + one + `","merged_into":"` + two +
			`"}`: {document.Merge{ID: one, Into: two}, true, nil},
		` {"merged_into":"` + two + `","id":"` + one +
			`","updated_at":"2024-06-01"} `: {document.Merge{ID: one, Into: two, Updated: &at}, true, nil},
		`{"id":"` + one + `","merged_into":"` + two +
			`","updated_at":null,"name":7,"projects_count":"many"}`: {document.Merge{ID: one, Into: two}, true, nil},
		`{"id":"` + one + `","merged_into":null,"name":"Firm"}`:  {},
		`{"id":"` + one + `","name":"the \"merged_into\" firm"}`: {},
		`{"id":"` + one + `","merged_into":"` + two + `"`:        {},
		`{"id":"` + one + `","merged_into":"` + one + `"}`: {
			document.Merge{ID: one, Into: one}, true,
			[]document.Problem{{Field: "merged_into", Reason: "is the record itself"}},
		},
		`{"id":"` + one + `","merged_into":"` + none + `"}`: {
			document.Merge{ID: one, Into: none}, true,
			[]document.Problem{{Field: "merged_into", Reason: "is the id of no record"}},
		},
		`{"merged_into":"` + two + `"}`: {
			document.Merge{Into: two}, true, []document.Problem{{Field: "id", Reason: "required"}},
		},
		`{"id":"` + one + `","merged_into":["` + two + `"]}`: {
			document.Merge{ID: one}, true, []document.Problem{{Field: "merged_into", Reason: "is not a UUID"}},
		},
		`{"id":"` + one + `","merged_into":"` + two + `","deleted":true}`: {
			document.Merge{ID: one, Into: two}, true, []document.Problem{{Field: "deleted", Reason: "unknown key"}},
		},
		`{"id":"` + one + `","merged_into":"` + two + `","updated_at":"soon"}`: {
			document.Merge{ID: one, Into: two}, true,
			[]document.Problem{{Field: "updated_at", Reason: "is not a date (YYYY-MM-DD or RFC 3339)"}},
		},
	} {
		merge, is, problems := document.ParseMerge(catalog.Accounts, []byte(line))
		if diff := cmp.Diff(want.merge, merge); is != want.is || diff != "" {
			t.Errorf("%s: %v\n%s", line, is, diff)
		}
		if diff := cmp.Diff(want.problems, problems); diff != "" {
			t.Errorf("%s:\n%s", line, diff)
		}
		if !is || len(problems) > 0 {
			continue
		}
		again, is, problems := document.ParseMerge(catalog.Accounts, merge.AppendLine(nil))
		if diff := cmp.Diff(merge, again); !is || len(problems) > 0 || diff != "" {
			t.Errorf("%s again: %v %v\n%s", line, is, problems, diff)
		}
	}
	if _, problems := document.Parse(
		catalog.Accounts, []byte(`{"id":"`+one+`","merged_into":null,"name":"Firm"}`), time.Now(),
	); len(problems) > 0 {
		t.Errorf("a record with null: %v", problems)
	}
	if _, problems := document.Parse(
		catalog.Accounts, []byte(`{"id":"`+one+`","merged_into":"`+two+`","name":"Firm"}`), time.Now(),
	); len(problems) != 1 {
		t.Errorf("no record: %v", problems)
	}
}
