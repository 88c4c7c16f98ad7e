package input_test

import (
	"strings"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"primary_use", "stage", "state", "city", "account_type", "account_ids", "cost", "name", "limit", "q"}
	for name, want := range map[string]string{
		"primray_use": "primary_use", "primaryUse": "primary_use", "Stage": "stage", "stag": "stage", "stahe": "stage",
		"account_types": "account_type",
		"account_id":    "account_ids", "ctiy": "city", "costs": "cost", "nme": "name", "nam": "name", "colour": "",
		"x": "", "": "", "sort": "", "LIMIT": "limit", "ctae": "", "tate": "state", "sity": "city",
		"primary-use ": "primary_use", "Q": "q",
	} {
		if got := input.Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// What other services call the same, and names that have the words of another.
func TestNearestByMeaning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known []string
		want  string
	}{
		"companies":         {[]string{"contacts", "accounts"}, "accounts"},
		"record.updated":    {[]string{"record.deleted", "record.changed"}, "record.changed"},
		"status":            {[]string{"stage", "workspace_status"}, "workspace_status"},
		"residential_units": {[]string{"units", "stage"}, "units"},
		"signal":            {[]string{"has_signal", "without_signal"}, "has_signal"},
		"construction":      {[]string{"permitted", "under_construction"}, "under_construction"},
		"count":             {[]string{"projects_count", "signals_count"}, ""}, // several have it
		"at":                {[]string{"filed_at"}, ""},                        // too short
		"name":              {[]string{"field", "name"}, "name"},               // known itself
	} {
		if got := input.Nearest(name, c.known); got != c.want {
			t.Errorf("%q: %q, want %q", name, got, c.want)
		}
	}
}

func TestMessagesNameTheNearest(t *testing.T) {
	t.Parallel()
	var issues input.Issues
	known := []string{"stage", "cost"}
	issues.Unrecognized([]string{"filters"}, []string{"colour", "stag"}, known, nil)
	issues.OutsideVocabulary(nil, input.Value{Kind: input.String, Text: "Fild"}, []string{"filed", "approved"})
	issues.OutsideVocabulary(nil, input.Value{Kind: input.Number, Text: "1"}, []string{"1.0"})
	for i, want := range []string{
		`unrecognized keys: "colour", "stag" (did you mean "stage"?); known here: stage, cost`,
		`must be one of: filed, approved; did you mean "filed"?`,
		`must be one of: 1.0`,
	} {
		if issues[i].Message != want {
			t.Errorf("%q, want %q", issues[i].Message, want)
		}
	}
}

// Names as long as a body, and many of them, take no time.
func TestNearestOfHostileNames(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var issues input.Issues
	names := make([]string, 100_000)
	for i := range names {
		names[i] = strings.Repeat("a", 11)
	}
	for range 10 * fault.MaxIssues {
		issues.Unrecognized(nil, []string{strings.Repeat("a", 1<<20)}, []string{strings.Repeat("ab", 50)}, nil)
		issues.Unrecognized(nil, names, []string{"primary_use", "account_type"}, nil)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v", took)
	}
}
