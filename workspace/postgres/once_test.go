package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
)

func newOnce() workspace.Once { return workspace.Once{Key: uuid.New(), Request: uuid.New()} }

// viewNamed is a View to insert.
func viewNamed(name string) views.View {
	now := workspace.StoredTime(time.Now())
	return views.View{
		ID: views.ID(uuid.New()), Dataset: catalog.Accounts, Type: views.Static, Name: name, Revision: 1, CreatedAt: now,
		UpdatedAt: now,
	}
}

func TestOnceStoresTheAnswerWithTheChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, ctx := w.one.ID, t.Context()
	admin, err := pgx.Connect(ctx, w.databases.Admin)
	fatal(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	count := func() int {
		list, err := w.app.Views(ctx, in, views.Filter{Limit: 100})
		fatal(t, err)
		return len(list)
	}
	create := func(name, answer string, failure error) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) {
			if err := w.app.InsertView(ctx, in, viewNamed(name), 100); err != nil {
				return nil, err
			}
			// It sees its own changes; others do not.
			if list, err := w.app.Views(ctx, in, views.Filter{Name: name, Limit: 100}); err != nil || len(list) != 1 {
				t.Errorf("%d Views of the name, %v", len(list), err)
			}
			// A change that fails undoes itself alone.
			if err := w.app.InsertView(ctx, in, viewNamed(name), 100); fault.CodeOf(err) != fault.ViewNameConflict {
				t.Errorf("the same name: %v", err)
			}
			return []byte(answer), failure
		}
	}
	never := func(context.Context) ([]byte, error) {
		t.Error("done again")
		return nil, nil
	}
	o := newOnce()
	if _, _, err := w.app.Once(ctx, in, o, 0, create("a", "x", errors.New("later"))); err == nil || count() != 0 {
		t.Errorf("a failure leaves %d Views, %v", count(), err)
	}
	if answer, replayed, err := w.app.Once(ctx, in, o, 0, create("a", "first", nil)); err != nil || replayed ||
		string(answer) != "first" || count() != 1 {
		t.Errorf("%q %v %v, %d Views", answer, replayed, err, count())
	}
	if answer, replayed, err := w.app.Once(ctx, in, o, 0, never); err != nil || !replayed || string(answer) != "first" {
		t.Errorf("again: %q %v %v", answer, replayed, err)
	}
	other := workspace.Once{Key: o.Key, Request: uuid.New()}
	if _, _, err := w.app.Once(ctx, in, other, 0, never); fault.CodeOf(err) != fault.IdempotencyConflict {
		t.Errorf("another request: %v", err)
	}
	nothing := func(context.Context) ([]byte, error) { return []byte("nothing"), nil }
	if answer, replayed, err := w.app.Once(ctx, w.two.ID, o, 0, nothing); err != nil || replayed || string(answer) != "nothing" {
		t.Errorf("another workspace: %q %v %v", answer, replayed, err)
	}
	// Items of a batch, until the whole answer is stored.
	batch := newOnce()
	for part := 1; part <= 2; part++ {
		_, _, err := w.app.Once(ctx, in, batch, part, func(ctx context.Context) ([]byte, error) {
			return []byte{byte(part)}, w.app.InsertView(ctx, in, viewNamed("item "+string(rune('0'+part))), 100)
		})
		fatal(t, err)
		if answer, replayed, err := w.app.Once(ctx, in, batch, part, never); err != nil || !replayed || answer[0] != byte(part) {
			t.Errorf("item %d: %v %v %v", part, answer, replayed, err)
		}
	}
	_, _, err = w.app.Once(ctx, in, batch, 0, nothing)
	fatal(t, err)
	var rows int
	fatal(t, admin.QueryRow(ctx, `SELECT count(*) FROM stored_answers WHERE workspace_id = $1`, uuid.UUID(in)).Scan(&rows))
	if rows != 2 {
		t.Errorf("%d rows of two requests", rows)
	}
	// Old ones are forgotten, and count no longer before.
	_, err = admin.Exec(ctx, `UPDATE stored_answers SET stored_at = stored_at - interval '24 hours' WHERE workspace_id = $1`, uuid.UUID(in))
	fatal(t, err)
	if answer, replayed, err := w.app.Once(ctx, in, o, 0, nothing); err != nil || replayed || string(answer) != "nothing" {
		t.Errorf("after a day: %q %v %v", answer, replayed, err)
	}
	fatal(t, w.system.ForgetAnswers(ctx))
	fatal(t, admin.QueryRow(ctx, `SELECT count(*) FROM stored_answers`).Scan(&rows))
	if rows != 2 { // the one after a day, and that of the other workspace
		t.Errorf("%d rows are left", rows)
	}
}

// Of many equal calls at once, one changes something.
func TestOnceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, o := w.one.ID, newOnce()
	app := w.databases.OpenApp(t, postgres.Options{MaxConns: 4})
	var first, replayed, refused atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, repeated, err := app.Once(t.Context(), in, o, 0, func(ctx context.Context) ([]byte, error) {
				return []byte("x"), app.InsertView(ctx, in, viewNamed(uuid.NewString()), 100)
			})
			switch {
			case fault.CodeOf(err) == fault.IdempotencyInProgress:
				refused.Add(1)
			case err != nil:
				t.Error(err)
			case repeated:
				replayed.Add(1)
			default:
				first.Add(1)
			}
		})
	}
	wg.Wait()
	list, err := app.Views(t.Context(), in, views.Filter{Limit: 100})
	fatal(t, err)
	if first.Load() != 1 || len(list) != 1 {
		t.Errorf("%d first, %d again, %d refused: %d Views", first.Load(), replayed.Load(), refused.Load(), len(list))
	}
}

// If another call with the key changed something meanwhile, its answer is returned, not the
// failure that it caused.
func TestOnceMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, ctx, o := w.one.ID, t.Context(), newOnce()
	create := func(ctx context.Context) ([]byte, error) {
		return []byte("first"), w.app.InsertView(ctx, in, viewNamed("a"), 100)
	}
	answer, replayed, err := w.app.Once(ctx, in, o, 0, func(context.Context) ([]byte, error) {
		_, _, err := w.app.Once(ctx, in, o, 0, create)
		fatal(t, err)
		return nil, fault.New(fault.ViewNameConflict, "there is one now")
	})
	if err != nil || !replayed || string(answer) != "first" {
		t.Errorf("%q %v %v", answer, replayed, err)
	}

	// A batch that another call completes, after which its items have no rows.
	batch := newOnce()
	whole := func(ctx context.Context) ([]byte, error) {
		for part := 1; part <= 3; part++ {
			_, _, err := w.app.Once(ctx, in, batch, part, func(ctx context.Context) ([]byte, error) {
				return []byte("item"), w.app.InsertView(ctx, in, viewNamed(uuid.NewString()), 100)
			})
			if err != nil {
				return nil, err
			}
		}
		return []byte("whole"), nil
	}
	answer, replayed, err = w.app.Once(ctx, in, batch, 0, func(late context.Context) ([]byte, error) {
		_, _, err := w.app.Once(ctx, in, batch, 0, whole)
		fatal(t, err)
		return whole(late)
	})
	list, listErr := w.app.Views(ctx, in, views.Filter{Limit: 100})
	fatal(t, listErr)
	if err != nil || !replayed || string(answer) != "whole" || len(list) != 1+3 {
		t.Errorf("%q %v %v: %d Views", answer, replayed, err, len(list))
	}
}

// Of a workspace whose answers have too many bytes, the oldest are forgotten.
func TestStoredBytesHaveALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	admin, err := pgx.Connect(ctx, w.databases.Admin)
	fatal(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	store := func(in workspace.ID) workspace.Once {
		o := newOnce()
		_, _, err := w.app.Once(ctx, in, o, 0, func(context.Context) ([]byte, error) { return []byte("answer"), nil })
		fatal(t, err)
		return o
	}
	all := []workspace.Once{store(w.one.ID), store(w.one.ID), store(w.one.ID), store(w.two.ID)}
	var bytes int
	fatal(t, admin.QueryRow(ctx, `SELECT min(bytes) FROM stored_answers`).Scan(&bytes))
	if bytes != len("answer") {
		t.Errorf("an answer of %d bytes", bytes)
	}
	_, err = admin.Exec(ctx, `UPDATE stored_answers SET bytes = 60 << 20`) // as if they were long
	fatal(t, err)
	fatal(t, w.system.ForgetAnswers(ctx))
	for i, o := range all {
		in := w.one.ID
		if i == 3 {
			in = w.two.ID
		}
		_, replayed, err := w.app.Once(ctx, in, o, 0, func(context.Context) ([]byte, error) { return nil, nil })
		if err != nil || replayed != (i > 0) {
			t.Errorf("answer %d is kept: %v %v", i, replayed, err)
		}
	}
}
