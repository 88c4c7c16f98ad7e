package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/query"
)

// An operator looks at the projection, and rebuilds it while the service serves.
func TestProjectionCommands(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	ids := s.search(query.Projects, `{"limit":7}`).ids(t)
	for _, id := range ids {
		if a := s.call("POST", "/workspace/projects/upsert", s.key, fmt.Sprintf(`{"project_id":%q,"tags":["t"]}`, id)); a.status != 200 {
			t.Fatalf("%s", a.raw)
		}
	}
	found := func() []string {
		t.Helper()
		a := s.call("POST", "/workspace/projects/search", s.key, `{"filters":{"tags":{"value":"t"}}}`)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.raw)
		}
		return a.ids(t)
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
		if err := json.Unmarshal([]byte(atlas("projection", "status", "--json", "--postgres-system-url", s.config.PostgresSystemURL)), &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := look()
	if before.Records != 7 || before.Pending != 0 || len(before.Generations) != len(query.Held) {
		t.Errorf("%+v", before)
	}
	out := atlas("projection", "rebuild", "--elasticsearch-url", s.config.ElasticsearchURL[0], "--index-prefix", s.config.IndexPrefix,
		"--held-index-prefix", s.config.HeldIndexPrefix, "--postgres-url", s.config.PostgresURL, "--postgres-system-url", s.config.PostgresSystemURL)
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
	if text := atlas("projection", "status", "--postgres-system-url", s.config.PostgresSystemURL); !strings.Contains(text, "held records") || !strings.Contains(text, "(serving)") {
		t.Errorf("%s", text)
	}
}
