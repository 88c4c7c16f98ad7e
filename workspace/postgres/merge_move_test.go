package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
)

// put gives an account of the first workspace's book values.
func (w *viewing) put(t *testing.T, record uuid.UUID, values book.OverlayChange) {
	t.Helper()
	fresh, _ := values.Apply(book.Overlay{Record: record, Score: 7, Trend: "steady", ScoredAt: w.now, CreatedAt: w.now, UpdatedAt: w.now})
	_, err := w.store.UpsertOverlays(
		t.Context(), w.one.ID, catalog.Accounts, []book.OverlayUpsert{{Fresh: fresh, Change: values}},
		book.Additions{Most: 1_000_000, At: w.now},
	)
	fatal(t, err)
}

func (w *viewing) overlays(t *testing.T, in workspace.ID, d catalog.Dataset, ids ...uuid.UUID) map[uuid.UUID]book.Overlay {
	t.Helper()
	all, err := w.store.Overlays(t.Context(), in, d, ids)
	fatal(t, err)
	return all
}

// settleHeld makes every held row of the workspace projected.
func (w *viewing) settleHeld(t *testing.T) {
	t.Helper()
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE held_records SET projected_version = version, own_change = false`)
	fatal(t, err)
}

// pending are the held rows that are to be projected.
func (w *viewing) pending(t *testing.T) (ids []uuid.UUID) {
	t.Helper()
	rows, err := w.system.Pool().Query(t.Context(), `SELECT record_id FROM held_records WHERE version > projected_version AND own_change ORDER BY record_id`)
	fatal(t, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	fatal(t, err)
	return ids
}

func numbered(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i))
	}
	return all
}

// The overlay of a merged record moves to its target.
func TestOverlaysMove(t *testing.T) {
	t.Parallel()
	long, full := strings.Repeat("ü", 6_000), strings.Repeat("o", 10_000)
	for name, c := range map[string]struct {
		gone, stays, want book.OverlayChange
		unchanged         bool // as it was
	}{
		"alone": {gone: book.OverlayChange{"notes": "N", "icp_tier": "tier_1"}, want: book.OverlayChange{"notes": "N", "icp_tier": "tier_1"}},
		"both": {
			gone:      book.OverlayChange{"notes": "Old", "icp_tier": "tier_1", "workspace_status": "won", "tags": []string{"a", "B"}},
			stays:     book.OverlayChange{"notes": "New", "icp_tier": "tier_2", "tags": []string{"b", "c"}},
			want:      book.OverlayChange{"notes": "New\n\nOld", "icp_tier": "tier_2", "workspace_status": "won", "tags": []string{"b", "c", "a"}},
			unchanged: true,
		},
		"the same notes": {
			gone: book.OverlayChange{"notes": "New"}, stays: book.OverlayChange{"notes": "New"},
			want: book.OverlayChange{"notes": "New"}, unchanged: true,
		},
		"too much": {
			gone:  book.OverlayChange{"notes": long, "tags": numbered("old", 30)},
			stays: book.OverlayChange{"notes": long + "!", "tags": numbered("new", 30)},
			want:  book.OverlayChange{"notes": long + "!", "tags": append(numbered("new", 30), numbered("old", 20)...)}, unchanged: true,
		},
		"much": {gone: book.OverlayChange{"notes": full}, stays: book.OverlayChange{}, want: book.OverlayChange{"notes": full}, unchanged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newViewing(t)
			from, to := *uuidOf(2), *uuidOf(1)
			w.put(t, from, c.gone)
			if c.stays != nil {
				w.put(t, to, c.stays)
			}
			w.settleHeld(t)
			before := w.overlays(t, w.one.ID, catalog.Accounts, from)[from]
			for range 2 { // a second call changes nothing
				fatal(t, w.store.MoveHeld(t.Context(), w.one.ID, catalog.Accounts, from, to))
				all := w.overlays(t, w.one.ID, catalog.Accounts, from, to)
				if diff := cmp.Diff(book.Values(c.want), all[to].Values); len(all) != 1 || diff != "" {
					t.Errorf("%d overlays (-want +got):\n%.500s", len(all), diff)
				}
				if !all[to].UpdatedAt.After(w.now) || all[to].Score != 7 {
					t.Errorf("changed at %v, score %d", all[to].UpdatedAt, all[to].Score)
				}
				merged, err := w.store.MergedOverlays(t.Context(), w.one.ID, 10)
				fatal(t, err)
				if !c.unchanged {
					if len(merged) > 0 {
						t.Errorf("kept: %v", merged)
					}
					continue
				}
				if len(merged) != 1 || merged[0].Record != from || merged[0].Into != to {
					t.Fatalf("kept: %v", merged)
				}
				for field, value := range before.Values {
					if fmt.Sprint(merged[0].Overlay[field]) != fmt.Sprint(value) {
						t.Errorf("%s is kept as %.100v, and was %.100v", field, merged[0].Overlay[field], value)
					}
				}
			}
			if diff := cmp.Diff([]uuid.UUID{to, from}, w.pending(t)); diff != "" {
				t.Errorf("to be projected:\n%s", diff)
			}
		})
	}
}

// The target replaces the merged record in Static Views. Their counts remain correct.
func TestMembershipsMove(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	only, both, none := w.create(
		t, w.one.ID, "project", "static", "Only",
	), w.create(t, w.one.ID, "project", "static", "Both"), w.create(t, w.one.ID, "project", "static", "None")
	foreign := w.create(t, w.two.ID, "project", "static", "Foreign")
	w.add(t, only, linked(1, 3))
	w.add(t, both, linked(1, 2, 3))
	w.add(t, none, linked(3))
	w.add(t, foreign, linked(1))
	w.settleHeld(t)
	added := func(v views.View, n int) (at time.Time) {
		t.Helper()
		err := w.system.Pool().QueryRow(
			t.Context(), `SELECT added_at FROM view_records WHERE view_id = $1 AND record_id = $2`, uuid.UUID(v.ID),
			*uuidOf(n),
		).Scan(&at)
		if err != nil {
			t.Errorf("%d is not in %s: %v", n, v.Name, err)
		}
		return at
	}
	at := added(only, 1)
	fatal(t, w.store.MoveHeld(t.Context(), w.one.ID, catalog.Projects, *uuidOf(1), *uuidOf(2)))
	if got := added(only, 2); !got.Equal(at) {
		t.Errorf("added at %v, and was at %v", got, at)
	}
	added(both, 2)
	added(foreign, 1)
	for v, want := range map[*views.View]int{&only: 2, &both: 2, &none: 1, &foreign: 1} {
		if got := w.count(t, *v); got != want {
			t.Errorf("%s has %d records, want %d", v.Name, got, want)
		}
		var rows int
		fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM view_records WHERE view_id = $1`, uuid.UUID(v.ID)).Scan(&rows))
		if rows != want {
			t.Errorf("%s has %d rows, want %d", v.Name, rows, want)
		}
	}
	if diff := cmp.Diff(recordIDs(1, 2), w.pending(t)); diff != "" {
		t.Errorf("to be projected:\n%s", diff)
	}
}

// Moving knows no other workspace than the one that it is asked for.
func TestMoveOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	from, to := *uuidOf(1), *uuidOf(2)
	w.put(t, from, book.OverlayChange{"notes": "Ours"})
	w.put(t, to, book.OverlayChange{"notes": "Ours too"})
	if err := w.store.MoveHeld(t.Context(), workspace.ID{}, catalog.Accounts, from, to); fault.CodeOf(err) != fault.Internal {
		t.Errorf("without a workspace: %v", err)
	}
	fatal(t, w.store.MoveHeld(t.Context(), w.two.ID, catalog.Accounts, from, to))
	if n := len(w.overlays(t, w.one.ID, catalog.Accounts, from, to)); n != 2 {
		t.Errorf("%d overlays of another workspace are left", n)
	}
	fatal(t, w.store.MoveHeld(t.Context(), w.one.ID, catalog.Accounts, from, to))
	if _, err := w.store.MergedOverlays(t.Context(), workspace.ID{}, 10); fault.CodeOf(err) != fault.Internal {
		t.Errorf("without a workspace: %v", err)
	}
	if all, err := w.store.MergedOverlays(t.Context(), w.two.ID, 10); err != nil || len(all) != 0 {
		t.Errorf("another workspace reads %v, %v", all, err)
	}
	for in, want := range map[workspace.ID]int{w.one.ID: 1, w.two.ID: 0} {
		if n, err := w.store.CountAll(t.Context(), in, "merged_overlays"); err != nil || n != want {
			t.Errorf("without a condition %d, %v, want %d", n, err, want)
		}
	}
	holders, err := w.system.Holders(t.Context(), catalog.Accounts, to)
	fatal(t, err)
	if diff := cmp.Diff([]workspace.ID{w.one.ID}, holders); diff != "" {
		t.Error(diff)
	}
	if holders, err := w.system.Holders(t.Context(), catalog.Accounts, from); err != nil || len(holders) != 0 {
		t.Errorf("%v, %v", holders, err)
	}
}

// While two servers move a record, and the workspace writes, nothing is lost, and no
// count is wrong.
func TestMovesAtOnce(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	store := w.databases.OpenApp(t, postgres.Options{MaxConns: 8})
	w.store = store
	ctx := t.Context()
	for round := range 5 {
		from, to := *uuidOf(10*round + 1 + round%2), *uuidOf(10*round + 2 - round%2)
		var all []views.View
		for i := range 4 {
			all = append(all, w.create(t, w.one.ID, "contact", "static", fmt.Sprintf("View %d %d", round, i)))
		}
		ours := []views.Candidate{{Record: from, Linked: true}, {Record: to, Linked: true}}
		var writing errgroup.Group
		for i, v := range all {
			writing.Go(func() error {
				_, err := store.AddMembers(ctx, w.one.ID, v, ours[:1+i%2])
				return err
			})
			writing.Go(func() error { return store.RemoveMembers(ctx, w.one.ID, v, []uuid.UUID{to}) })
			writing.Go(func() error { return store.MoveHeld(ctx, w.one.ID, catalog.Contacts, from, to) })
		}
		for i, record := range []uuid.UUID{from, to, from, to} {
			writing.Go(func() error {
				change := book.OverlayChange{"tags": []string{fmt.Sprint("tag", i)}}
				fresh, _ := change.Apply(book.Overlay{Record: record, CreatedAt: w.now, UpdatedAt: w.now})
				_, err := store.UpsertOverlays(
					ctx, w.one.ID, catalog.Contacts, []book.OverlayUpsert{{Fresh: fresh, Change: change}},
					book.Additions{Most: 1_000_000, At: w.now},
				)
				return err
			})
		}
		fatal(t, writing.Wait())
		// Whatever came after the last move.
		var moving errgroup.Group
		for range 2 {
			moving.Go(func() error { return store.MoveHeld(ctx, w.one.ID, catalog.Contacts, from, to) })
		}
		fatal(t, moving.Wait())
		if holders, err := w.system.Holders(ctx, catalog.Contacts, from); err != nil || len(holders) > 0 {
			t.Errorf("held still: %v, %v", holders, err)
		}
		if o := w.overlays(t, w.one.ID, catalog.Contacts, from, to); len(o) != 1 || o[to].Values["tags"] == nil {
			t.Errorf("overlays: %v", o)
		}
		for _, v := range all {
			var rows, members int
			fatal(
				t,
				w.system.Pool().QueryRow(
					context.WithoutCancel(ctx),
					`SELECT members, (SELECT count(*) FROM view_records r WHERE r.view_id = v.id) FROM views v WHERE id = $1`,
					uuid.UUID(v.ID),
				).Scan(&members, &rows),
			)
			if rows != members || rows > 1 {
				t.Errorf("%s has %d records and counts %d", v.Name, rows, members)
			}
		}
	}
}

// A merge stays listed for some time after its holdings have moved, and is postponed if
// they cannot.
func TestMergesThatAreDue(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	ctx, record := t.Context(), *uuidOf(1)
	publish := func() {
		t.Helper()
		fatal(t, w.system.BeginChanges(ctx, "a delta", nil, false))
		fatal(
			t,
			w.system.AppendChanges(ctx, "a delta", []changes.Change{{Dataset: catalog.Accounts, ID: record, Op: changes.Merge, Into: *uuidOf(2)}}),
		)
		due, err := w.system.MergeMoves(ctx, 10)
		fatal(t, err)
		if len(due) > 0 {
			t.Errorf("due before it is published: %v", due)
		}
		id, err := w.system.PreparePublication(ctx, "a delta")
		fatal(t, err)
		fatal(t, w.system.Publish(ctx, "a delta", id))
	}
	due := func(want int) (first postgres.MergeMove) {
		t.Helper()
		all, err := w.system.MergeMoves(ctx, 10)
		fatal(t, err)
		if len(all) != want {
			t.Fatalf("%d are due, want %d", len(all), want)
		}
		if want > 0 {
			first = all[0]
		}
		return first
	}
	publish()
	first := due(1)
	fatal(t, w.system.PutMergeMoveOff(ctx, first, time.Hour))
	due(0)
	publish() // again
	second := due(1)
	fatal(t, w.system.EndMergeMove(ctx, first)) // of one that was published before
	due(1)
	fatal(t, w.system.EndMergeMove(ctx, second))
	due(0)
	_, err := w.system.Pool().Exec(ctx, `UPDATE data_merge_moves SET published_at = published_at - interval '10 minutes', due_at = due_at - interval '10 minutes'`)
	fatal(t, err)
	fatal(t, w.system.EndMergeMove(ctx, due(1)))
	due(0)
	var left int
	fatal(t, w.system.Pool().QueryRow(ctx, `SELECT count(*) FROM data_merge_moves`).Scan(&left))
	if left > 0 {
		t.Errorf("%d are still listed", left)
	}
	// Requests can read merges, but not change them.
	if _, err := w.app.Pool().Exec(ctx, `DELETE FROM data_merges`); err == nil {
		t.Error("the application can delete merges")
	}
	if into, err := w.app.MergedInto(ctx, catalog.Accounts, []uuid.UUID{record}); err != nil || into[record] != *uuidOf(2) {
		t.Errorf("%v, %v", into, err)
	}
}

// Merges of several generations can form a circle, after switches between them. Their
// records have no target.
func TestCirclesOfMerges(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	ctx := t.Context()
	for from, to := range map[int]int{1: 2, 2: 1, 3: 1, 4: 5, 5: 6} {
		_, err := w.system.Pool().Exec(ctx, `INSERT INTO data_merges (dataset, record_id, into_id, merged_at) VALUES ('accounts', $1, $2, now())`, *uuidOf(from), *uuidOf(to))
		fatal(t, err)
	}
	into, err := w.app.MergedInto(ctx, catalog.Accounts, recordIDs(1, 2, 3, 4, 5, 6))
	fatal(t, err)
	if diff := cmp.Diff(map[uuid.UUID]uuid.UUID{*uuidOf(4): *uuidOf(6), *uuidOf(5): *uuidOf(6)}, into); diff != "" {
		t.Errorf("merges (-want +got):\n%s", diff)
	}
	w.put(t, *uuidOf(1), book.OverlayChange{"notes": "N"})
	if err := w.store.MoveHeld(ctx, w.one.ID, catalog.Accounts, *uuidOf(1), *uuidOf(1)); err == nil {
		t.Error("a record became itself")
	}
	if all := w.overlays(t, w.one.ID, catalog.Accounts, *uuidOf(1)); len(all) != 1 {
		t.Errorf("overlays: %v", all)
	}
}
