package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/input"
	"atlas/search/query"
	"atlas/workspace"
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
	for _, d := range []query.Dataset{query.Accounts, query.Projects} {
		id := uuid.NewString()
		var before workspace.Overlay
		for n := range 1_000 {
			body := upsertItem(d, id, n)
			in, err := workspace.ParseUpsert(decoded(t, body), d, nil)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			after, changed := in.Change.Apply(before)
			if in.Record != id || !changed || (after.Tier() != "") != (d == query.Accounts) {
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
			q, err := query.Parse(decoded(t, body), query.Projects, query.Base{Kind: query.Book, Workspace: uuid.NewString()})
			if err != nil {
				t.Errorf("%s: %s: %v", c.name, body, err)
			} else if q.Limit != query.DefaultLimit {
				t.Errorf("%s: %s has limit %d", c.name, body, q.Limit)
			}
		}
	}
}

func TestByTurnsDoesBothAsOften(t *testing.T) {
	t.Parallel()
	var order []string
	thing := func(name string, took time.Duration) func(int) (time.Duration, error) {
		return func(turn int) (time.Duration, error) {
			if turn != len(order)/3 {
				t.Errorf("%s in turn %d is told of turn %d", name, len(order)/3, turn)
			}
			order = append(order, name)
			return took, nil
		}
	}
	took, err := byTurns(0, thing("one", 1), thing("other", 2), thing("third", 3))
	if err != nil {
		t.Fatal(err)
	}
	for i, each := range took {
		if len(each) != fewestTurns || each[3] != time.Duration(i+1) {
			t.Errorf("%d: %v", i, each)
		}
	}
	for i, name := range order {
		if want := []string{"one", "other", "third"}[i%3]; name != want {
			t.Errorf("%d: %s, want %s", i, name, want)
		}
	}
}

func TestByTurnsEndsWithAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	turns := 0
	_, err := byTurns(time.Hour, func(int) (time.Duration, error) { return 0, nil }, func(turn int) (time.Duration, error) {
		if turns++; turn == 2 {
			return 0, broken
		}
		return 0, nil
	})
	if !errors.Is(err, broken) || turns != 3 {
		t.Errorf("%v after %d turns", err, turns)
	}
}
