package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/client"
	"atlas/search/catalog"
)

// leftOutWalks print the ids of the book's projects, under a key of their own.
var leftOutWalks = map[string]string{
	"python": `import os
from atlas_client import Atlas
atlas = Atlas(os.environ["ATLAS_URL"], api_key=os.environ["ATLAS_API_KEY"]).with_idempotency_key("left-out-python")
for r in atlas.book.projects.all(fields=["notes"], sort={"field": "name", "order": "asc"}, limit=4, max_bytes=1000):
    print(r.id)
`,
	"typescript": `import { Atlas } from "atlas-client";
const atlas = new Atlas({ baseUrl: process.env.ATLAS_URL!, apiKey: process.env.ATLAS_API_KEY! }).withIdempotencyKey("left-out-typescript");
for await (const r of atlas.book.projects.all({ fields: ["notes"], sort: { field: "name", order: "asc" }, limit: 4, max_bytes: 1000 })) console.log(r.id);
`,
}

// A program that repeats its walk with the same keys gets the same records, also if they have
// become too long for its pages since. It then pays for one more page.
func TestClientsFetchWhatRepetitionsLeaveOut(t *testing.T) {
	t.Parallel()
	const n, page = 6, 4
	s := start(t, 0)
	c := s.client(s.key)
	var inputs []client.ProjectUpsert
	for _, id := range s.search(catalog.Projects, fmt.Sprintf(`{"limit":%d}`, n)).ids(t) {
		inputs = append(inputs, client.ProjectUpsert{ProjectID: id, Notes: client.To("short")})
	}
	write := func() {
		if err := must(c.Book.Projects.UpsertAll(t.Context(), inputs))(t).Err(); err != nil {
			t.Fatal(err)
		}
	}
	write()

	walks := map[string]func(*testing.T) []string{"go": func(t *testing.T) (ids []string) {
		q := client.Search{Fields: []string{"notes"}, Sort: client.Asc("name"), Limit: page, MaxBytes: 1000}
		for _, r := range collect(t, c.Book.Projects.All(client.WithIdempotencyKey(t.Context(), "left-out-go"), q)) {
			ids = append(ids, r.ID)
		}
		return ids
	}}
	for language, command := range clientPrograms(t, leftOutWalks) {
		walks[language] = func(t *testing.T) []string {
			cmd := command("ATLAS_URL="+s.base, "ATLAS_API_KEY="+s.key)
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &problems)
			}
			return strings.Fields(string(out))
		}
	}

	first := map[string][]string{}
	for language, walk := range walks {
		if first[language] = walk(t); len(first[language]) != n {
			t.Fatalf("%s: %d records", language, len(first[language]))
		}
	}
	for i := range inputs {
		inputs[i].Notes = client.To(strings.Repeat("x", 400))
	}
	write()
	for language, walk := range walks {
		before := s.usedCredits()
		if again := walk(t); !slices.Equal(again, first[language]) {
			t.Errorf("%s: %v, then %v", language, first[language], again)
		}
		if cost := s.usedCredits() - before; cost != page {
			t.Errorf("%s: the repetition cost %d", language, cost)
		}
	}
}
