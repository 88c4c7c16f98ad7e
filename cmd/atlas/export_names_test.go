package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/client"
)

// Names are those of the first three ids, read once each, in all formats and of Views.
func TestExportNames(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	c := s.client(s.key)
	in := func(name string) string { return t.TempDir() + "/" + name }
	names := map[string]string{}
	for a, err := range c.Accounts.All(t.Context(), client.Search{}) {
		if err != nil {
			t.Fatal(err)
		}
		names[a.ID] = a.Name
	}
	want, read, rows := map[string]string{}, map[string]bool{}, 0
	for p, err := range c.Projects.All(t.Context(), client.Search{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		var of []string
		for _, id := range p.AccountIDs[:min(3, len(p.AccountIDs))] {
			of = append(of, names[id])
			read[id] = true
		}
		want[p.ID] = strings.Join(of, ";")
	}
	if len(read) < 100 {
		t.Fatalf("the projects have only %d firms", len(read))
	}
	credits := func() int { return must(c.Credits(t.Context()))(t).Used }

	out, before := in("names.csv"), credits()
	said := s.export(0, "projects", "--names", "--columns", "id,account_names", "--formulas", "--out", out)
	if got := credits() - before; got != rows+len(read) || !strings.Contains(said, fmt.Sprintf("credits: %d now", got)) && rows < 1000 {
		t.Errorf("%d credits for %d rows with %d firms: %s", got, rows, len(read), said)
	}
	table := must(csv.NewReader(strings.NewReader(contents(t, out))).ReadAll())(t)
	if !slices.Equal(table[0], []string{"id", "account_names"}) || len(table) != rows+1 {
		t.Fatalf("%v, %d rows", table[0], len(table))
	}
	for _, row := range table[1:] {
		if row[1] != want[row[0]] {
			t.Errorf("%s is named %q, want %q", row[0], row[1], want[row[0]])
		}
	}

	v := must(c.Views.Upsert(t.Context(), client.ViewUpsert{
		Dataset: "project", Type: "dynamic", Name: "All", Definition: client.Dynamic("", nil),
	}))(t)
	out = in("view.ndjson")
	s.export(0, "--view", v.ID, "--names", "--out", out)
	lines := strings.Split(strings.TrimSpace(contents(t, out)), "\n")
	for _, line := range lines {
		var row struct {
			ID    string
			Names []string `json:"account_names"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(row.Names, ";"); got != want[row.ID] {
			t.Errorf("%s is named %q, want %q", row.ID, got, want[row.ID])
		}
	}
	if len(lines) != rows {
		t.Errorf("%d rows of the View, want %d", len(lines), rows)
	}
	out = in("signals.parquet")
	s.export(0, "signals", "--filter", "signal_type=permit_expired", "--names", "--fields", "title,account_names", "--out", out)

	for text, args := range map[string][]string{
		"accounts have no ids":              {"accounts", "--names"},
		"which has the records":             {"accounts", "--join", "--names"},
		"is among the columns":              {"projects", "--names", "--columns", "id,name", "--format", "csv"},
		`no "account_names"`:                {"projects", "--columns", "id,account_names", "--format", "csv"},
		"stopped after 0 rows at --max-cre": {"projects", "--names", "--max-credits", "6"},
	} {
		status, _, errs := s.atlas(append([]string{"export", "--out", in("refused")}, args...)...)
		if status == 0 || !strings.Contains(errs, text) {
			t.Errorf("%v: status %d, %s; want %s", args, status, errs, text)
		}
	}
}
