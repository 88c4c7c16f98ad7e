package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/queue"
	"atlas/workspace/subscriptions"
)

// No method of the queue reads or changes data of another workspace, and none works
// without a workspace.
func TestForeignWorkspaceGetsNothingOfTheQueue(t *testing.T) {
	t.Parallel()
	w := newPeople(t)
	ctx, one, two := t.Context(), w.one.ID, w.two.ID
	signal := uuid.New()
	for _, in := range []workspace.ID{one, two} {
		_, err := w.subscriptions.Upsert(ctx, in, subscriptions.Change{SignalType: "permit_issued"})
		fatal(t, err)
	}
	refused, err := w.store.Dismiss(ctx, one, []queue.Dismissal{{Signal: signal, Type: "permit_issued"}}, time.Now())
	fatal(t, err)
	state, err := w.store.QueueState(ctx, one)
	fatal(t, err)
	if len(refused) > 0 || !slices.Equal(state.Dismissed, []uuid.UUID{signal}) || len(state.After) != 1 {
		t.Fatalf("%v refused: %+v", refused, state)
	}
	if state, err := w.store.QueueState(ctx, two); err != nil || len(state.Dismissed) > 0 {
		t.Errorf("another workspace sees %+v: %v", state, err)
	}
	fatal(t, w.store.Restore(ctx, two, []uuid.UUID{signal}))
	list, err := w.subscriptions.List(ctx, two, 10, 0)
	fatal(t, err)
	fatal(t, w.subscriptions.Delete(ctx, two, list[0].ID))
	if state, err := w.store.QueueState(ctx, one); err != nil || len(state.Dismissed) != 1 {
		t.Errorf("another workspace has restored: %+v %v", state, err)
	}
	if n, err := w.store.CountAll(ctx, two, "dismissed_signals"); err != nil || n != 0 {
		t.Errorf("the policies show another workspace %d rows: %v", n, err)
	}
	if n, err := w.store.CountAll(ctx, one, "dismissed_signals"); err != nil || n != 1 {
		t.Errorf("the policies show the workspace %d rows: %v", n, err)
	}
	var none workspace.ID
	_, err1 := w.store.QueueState(ctx, none)
	_, err2 := w.store.Dismiss(ctx, none, nil, time.Now())
	_, _, err3 := w.store.BookIDs(ctx, none, 1)
	for i, err := range []error{err1, err2, err3, w.store.Restore(ctx, none, nil)} {
		if err == nil {
			t.Errorf("call %d works without a workspace", i)
		}
	}
}

// The ids of a book are those of its own accounts and projects.
func TestBookIDs(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx := t.Context()
	account, project, contact := uuid.New(), uuid.New(), uuid.New()
	for d, id := range map[catalog.Dataset]uuid.UUID{catalog.Accounts: account, catalog.Projects: project, catalog.Contacts: contact} {
		b.upsert(t, b.one.ID, d, id, "kept")
	}
	accounts, projects, err := b.store.BookIDs(ctx, b.one.ID, 10)
	if err != nil || !slices.Equal(accounts, []uuid.UUID{account}) || !slices.Equal(projects, []uuid.UUID{project}) {
		t.Errorf("%v %v %v", accounts, projects, err)
	}
	if accounts, projects, err := b.store.BookIDs(ctx, b.two.ID, 10); err != nil || len(accounts)+len(projects) > 0 {
		t.Errorf("of another workspace: %v %v %v", accounts, projects, err)
	}
	if accounts, projects, err := b.store.BookIDs(ctx, b.one.ID, 1); err != nil || len(accounts)+len(projects) != 1 {
		t.Errorf("at most one: %v %v %v", accounts, projects, err)
	}
}

// A queue has a bounded number of dismissals, of subscribed types alone.
func TestDismissalsAreBounded(t *testing.T) {
	t.Parallel()
	w := newPeople(t)
	ctx, in := t.Context(), w.one.ID
	s, err := w.subscriptions.Upsert(ctx, in, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	all := make([]queue.Dismissal, queue.MaxDismissed+1)
	for i := range all {
		all[i] = queue.Dismissal{Signal: uuid.New(), Type: "permit_issued"}
	}
	for _, c := range []struct {
		all     []queue.Dismissal
		refused []uuid.UUID
	}{
		{all[2:], nil},
		{all[:3], []uuid.UUID{all[1].Signal}}, // there is room for one
		{all[1:3], []uuid.UUID{all[1].Signal}},
		{all[2:4], nil},
	} {
		if refused, err := w.store.Dismiss(ctx, in, c.all, time.Now()); err != nil || !slices.Equal(refused, c.refused) {
			t.Errorf("%v refused, want %v: %v", refused, c.refused, err)
		}
	}
	fatal(t, w.subscriptions.Delete(ctx, in, s.ID))
	_, err = w.store.Dismiss(ctx, in, all[:1], time.Now())
	fatal(t, err)
	if state, err := w.store.QueueState(ctx, in); err != nil || len(state.Dismissed)+len(state.After) > 0 {
		t.Errorf("without subscription: %d dismissed, %v", len(state.Dismissed), err)
	}
}

// Publishing many changes takes longer than a statement of a request may, including its
// effect on dismissals.
func TestPublishingMayTakeLong(t *testing.T) {
	t.Parallel()
	w := newPeople(t)
	ctx, signal, limit := t.Context(), uuid.New(), 200*time.Millisecond
	_, err := w.subscriptions.Upsert(ctx, w.one.ID, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	_, err = w.store.Dismiss(ctx, w.one.ID, []queue.Dismissal{{Signal: signal, Type: "permit_issued"}}, time.Now())
	fatal(t, err)
	fatal(t, w.system.BeginChanges(ctx, "a delta", nil, false))
	fatal(t, w.system.AppendChanges(ctx, "a delta", []changes.Change{{Dataset: catalog.Signals, ID: signal, Op: changes.Delete}}))
	id, err := w.system.PreparePublication(ctx, "a delta")
	fatal(t, err)
	busy, err := w.system.Pool().Begin(ctx)
	fatal(t, err)
	defer func() { _ = busy.Rollback(context.WithoutCancel(ctx)) }()
	_, err = busy.Exec(ctx, `SELECT FROM dismissed_signals WHERE signal_id = $1 FOR UPDATE`, signal)
	fatal(t, err)
	system := w.databases.OpenSystem(t, postgres.Options{MaxConns: 1, StatementTimeout: limit})
	published := make(chan error, 1)
	go func() { published <- system.Publish(ctx, "a delta", id) }()
	for waited := false; !waited && len(published) == 0; {
		fatal(t, w.system.Pool().QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
				AND query LIKE '%DELETE FROM dismissed_signals%' AND query_start < clock_timestamp() - 2 * $1::interval)`, limit).Scan(&waited))
	}
	fatal(t, busy.Rollback(ctx))
	if err := <-published; err != nil {
		t.Error(err)
	}
	if state, err := w.store.QueueState(ctx, w.one.ID); err != nil || len(state.Dismissed) > 0 {
		t.Errorf("dismissed is %v, %v", state.Dismissed, err)
	}
}
