package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
)

func (s *service) suggestCommand(t *testing.T) {
	c := s.client(s.key)
	want := must(c.Accounts.Suggest(t.Context(), client.SuggestRequest{
		Prefix: "b", Limit: 3, Filters: client.Filters{"state": client.AnyOf("AB")},
	}))(t)
	if len(want) == 0 {
		t.Fatal("no account in AB begins with b")
	}
	status, out, errs := s.atlas("suggest", "accounts", "b", "--limit", "3", "--json", "--filter", "state=AB")
	var got []client.Suggestion
	for line := range strings.Lines(out) {
		var one client.Suggestion
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	if diff := cmp.Diff(want, got); status != 0 || diff != "" {
		t.Errorf("%d %s (-want +got):\n%s", status, errs, diff)
	}
	status, out, errs = s.atlas("suggest", "projects", "c", "--field", "city", "--limit", "2")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || strings.Join(strings.Fields(lines[0]), " ") != "FIELD VALUE COUNT ID" || len(lines) < 2 ||
		!strings.HasPrefix(lines[1], "city") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	for want, args := range map[string][]string{
		"--limit must be": {"accounts", "x", "--limit", "21"}, "<dataset> must be": {"firms", "x"},
		"no relations": {"accounts", "x", "--filter", "has_project"}, "prefix": {"accounts", "?!"},
	} {
		if status, out, errs := s.atlas(append([]string{"suggest"}, args...)...); status != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: %d %s%s, want %q", args, status, out, errs, want)
		}
	}
}
