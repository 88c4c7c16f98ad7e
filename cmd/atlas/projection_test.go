package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
	"atlas/search/catalog"
	"atlas/workspace/postgres"
)

// An operator inspects the projection, and rebuilds it while the service runs.
func TestProjectionCommands(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	c := s.client(s.key)
	var ids []string
	for _, p := range must(c.Projects.Search(t.Context(), client.Search{Limit: 7}))(t).Records {
		ids = append(ids, p.ID)
		must(c.Book.Projects.Upsert(t.Context(), client.ProjectUpsert{ProjectID: p.ID, Tags: []string{"t"}}))(t)
	}
	found := func() (ids []string) {
		t.Helper()
		for _, p := range collect(t, c.Book.Projects.All(t.Context(), client.Search{Filters: client.Filters{"tags": client.Is("t")}})) {
			ids = append(ids, p.ID)
		}
		return ids
	}
	if diff := cmp.Diff(ids, found()); diff != "" {
		t.Fatal(diff)
	}
	atlas := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 0 {
			t.Fatalf("atlas %s: status %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
		}
		return out.String()
	}
	type status struct {
		Records, Pending int
		Generations      []struct {
			Dataset, Generation string
			Serving             bool
		}
	}
	look := func() (st status) {
		t.Helper()
		if err := json.Unmarshal(
			[]byte(atlas("projection", "status", "--json", "--postgres-system-url", s.config.PostgresSystemURL)), &st,
		); err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := look()
	if before.Records != 7 || before.Pending != 0 || len(before.Generations) != len(catalog.Held) {
		t.Errorf("%+v", before)
	}
	// A server that was killed has a lease for some seconds more.
	system := must(postgres.OpenSystem(t.Context(), s.config.PostgresSystemURL, postgres.Options{}))(t)
	defer system.Close()
	if !must(system.AcquireLease(t.Context(), "held generations of accounts", "a killed server", 3*time.Second))(t) {
		t.Fatal("the lease is taken")
	}
	out := atlas("projection", "rebuild", "--elasticsearch-url", s.config.ElasticsearchURL[0], "--index-prefix", s.config.IndexPrefix,
		"--held-index-prefix", s.config.HeldIndexPrefix, "--postgres-url", s.config.PostgresURL, "--postgres-system-url",
		s.config.PostgresSystemURL)
	if !strings.Contains(out, "new indices") {
		t.Errorf("%s", out)
	}
	after := look()
	for i, g := range after.Generations {
		if !g.Serving || g.Generation == before.Generations[i].Generation {
			t.Errorf("%+v, before %+v", g, before.Generations[i])
		}
	}
	if diff := cmp.Diff(ids, found()); diff != "" {
		t.Error(diff)
	}
	if text := atlas("projection", "status", "--postgres-system-url", s.config.PostgresSystemURL); !strings.Contains(text, "held records") ||
		!strings.Contains(text, "(serving)") {
		t.Errorf("%s", text)
	}
}
