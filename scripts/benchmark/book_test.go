package main

import (
	"testing"

	"github.com/google/uuid"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/book"
)

func decoded(t *testing.T, body string) input.Value {
	t.Helper()
	value, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatalf("%s: %v", body, issues)
	}
	return value
}

func TestUpsertsAreValidAndEachChangesSomething(t *testing.T) {
	t.Parallel()
	for _, d := range []catalog.Dataset{catalog.Accounts, catalog.Projects} {
		id := uuid.NewString()
		var before book.Overlay
		for n := range 1_000 {
			body := upsertItem(d, id, n)
			in, err := book.UpsertRule(d).Parse(decoded(t, body))
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			after, changed := in.Change.Apply(before)
			if in.Record != id || !changed || (after.Tier() != "") != (d == catalog.Accounts) {
				t.Fatalf("%s: record %s, changed %v, tier %v", body, in.Record, changed, after.Tier())
			}
			before = after
		}
	}
}

func TestBookSearchesAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range bookCases {
		for _, body := range c.bodies {
			q, err := query.Parse(decoded(t, body), catalog.Projects, query.Base{Kind: catalog.Book, Workspace: uuid.NewString()})
			if err != nil {
				t.Errorf("%s: %s: %v", c.name, body, err)
			} else if q.Limit != query.DefaultLimit {
				t.Errorf("%s: %s has limit %d", c.name, body, q.Limit)
			}
		}
	}
}
