package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/changes"
)

// The history of a record has its published and stored changes, the latest first.
func TestHistoryOfARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := uuid.New(), uuid.New()
	fatal(t, w.system.StartFeedOver(t.Context(), uuid.New(), uuid.New(), "g"))
	write := func(list ...changes.Change) {
		t.Helper()
		fatal(t, w.system.BeginChanges(t.Context(), "writer", nil, false))
		fatal(t, w.system.AppendChanges(t.Context(), "writer", list))
	}
	publish := func(list ...changes.Change) {
		t.Helper()
		write(list...)
		id, err := w.system.PreparePublication(t.Context(), "writer")
		fatal(t, err)
		fatal(t, w.system.Publish(t.Context(), "writer", id))
	}
	change := func(id uuid.UUID, op changes.Op, fields ...string) changes.Change {
		return changes.Change{Dataset: catalog.Accounts, ID: id, Op: op, Fields: fields}
	}
	history := func(limit int, want ...changes.Change) (published []time.Time) {
		t.Helper()
		entries, err := w.app.ChangesOf(t.Context(), catalog.Accounts, id, limit)
		fatal(t, err)
		var got []changes.Change
		for _, e := range entries {
			got, published = append(got, e.Change), append(published, e.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		return published
	}
	before := time.Now().Add(-time.Minute)
	publish(change(id, changes.Upsert))
	publish(change(other, changes.Upsert), change(id, changes.Upsert, "name"), changes.Change{
		Dataset: catalog.Projects, ID: id, Op: changes.Delete,
	})
	publish(change(id, changes.Delete))
	write(change(id, changes.Upsert)) // not published yet
	published := history(10, change(id, changes.Delete), change(id, changes.Upsert, "name"), change(id, changes.Upsert))
	for i, at := range published {
		if at.Before(before) || i > 0 && at.After(published[i-1]) {
			t.Errorf("published at %v", published)
		}
	}
	history(1, change(id, changes.Delete))
	fatal(t, w.system.ForgetChanges(t.Context(), -time.Hour))
	history(10)
}
