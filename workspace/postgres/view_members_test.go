package postgres_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

func recordIDs(ns ...int) []uuid.UUID {
	ids := make([]uuid.UUID, len(ns))
	for i, n := range ns {
		ids[i] = *uuidOf(n)
	}
	return ids
}

// linked returns candidates that every workspace sees.
func linked(ns ...int) []views.Candidate {
	var all []views.Candidate
	for _, n := range ns {
		all = append(all, views.Candidate{Record: *uuidOf(n), Linked: true})
	}
	return all
}

func unlinked(ns ...int) []views.Candidate {
	all := linked(ns...)
	for i := range all {
		all[i].Linked = false
	}
	return all
}

func (w *viewing) add(t *testing.T, v views.View, candidates []views.Candidate) (codes []fault.Code) {
	t.Helper()
	outcomes, err := w.store.AddMembers(t.Context(), v.Workspace, v, candidates)
	fatal(t, err)
	for _, o := range outcomes {
		codes = append(codes, fault.CodeOf(o))
	}
	return codes
}

func (w *viewing) remove(t *testing.T, v views.View, ns ...int) {
	t.Helper()
	fatal(t, w.store.RemoveMembers(t.Context(), v.Workspace, v, recordIDs(ns...)))
}

// addToBook adds contacts to the book of the first workspace.
func (w *viewing) addToBook(ctx context.Context, ns ...int) error {
	var overlays []book.OverlayUpsert
	for _, id := range recordIDs(ns...) {
		overlays = append(overlays, book.OverlayUpsert{Fresh: book.Overlay{Record: id, CreatedAt: w.now, UpdatedAt: w.now}})
	}
	_, err := w.store.UpsertOverlays(ctx, w.one.ID, catalog.Contacts, overlays, book.Additions{Most: 1_000_000, At: w.now})
	return err
}

func (w *viewing) count(t *testing.T, v views.View) int {
	t.Helper()
	got, err := w.views.Get(t.Context(), v.Workspace, v.ID, workspace.UserID{})
	fatal(t, err)
	if got.Revision != v.Revision || !got.UpdatedAt.Equal(v.UpdatedAt) {
		t.Errorf("a membership touched the View: revision %d, %s", got.Revision, got.UpdatedAt)
	}
	return got.Records
}

// held returns the row of a record: its version, whether it is pending, and whether by
// a write of the workspace.
func (w *viewing) held(t *testing.T, n int) (version int64, pending, own bool) {
	t.Helper()
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT coalesce(max(version), 0), coalesce(bool_or(version > projected_version), false), coalesce(bool_or(own_change), false)
		FROM held_records WHERE record_id = $1`, *uuidOf(n)).Scan(&version, &pending, &own))
	return version, pending, own
}

// TestThreeSourcesOfVisibility: a project link, the book, or another membership makes a
// contact visible. A refused candidate changes nothing.
func TestThreeSourcesOfVisibility(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	a, b := w.create(t, in, "contact", "static", "a"), w.create(t, in, "contact", "static", "b")
	const no, ok = fault.RecordNotVisible, fault.Code("")
	check := func(what string, want []fault.Code, got []fault.Code) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("unseen, twice in one batch", []fault.Code{no, no}, w.add(t, a, unlinked(1, 1)))
	if v, _, _ := w.held(t, 1); v != 0 {
		t.Error("a refused candidate became held")
	}
	check("linked", []fault.Code{ok, no, ok}, w.add(t, a, append(append(linked(1), unlinked(2)...), unlinked(1)...)))
	check("its last project has gone: a membership is left", []fault.Code{ok}, w.add(t, b, unlinked(1)))
	w.remove(t, a, 1)
	check("one membership is left", []fault.Code{ok}, w.add(t, a, unlinked(1)))
	w.remove(t, a, 1)
	w.remove(t, b, 1)
	check("none is left", []fault.Code{no}, w.add(t, a, unlinked(1)))

	fatal(t, w.addToBook(t.Context(), 1))
	check("in the book", []fault.Code{ok}, w.add(t, a, unlinked(1)))
	fatal(t, takeOut(t.Context(), w.store, in, catalog.Contacts, []uuid.UUID{*uuidOf(1)}))
	check("out of the book: the membership is left", []fault.Code{ok, ok}, append(w.add(t, a, unlinked(1)), w.add(t, b, unlinked(1))...))
	fatal(t, w.addToBook(t.Context(), 1))
	w.remove(t, a, 1)
	w.remove(t, b, 1)
	check("the overlay alone is left", []fault.Code{ok}, w.add(t, b, unlinked(1)))

	// Records of another workspace make nothing visible.
	foreign := w.create(t, w.two.ID, "contact", "static", "a")
	check("another workspace's candidate", []fault.Code{no}, w.add(t, foreign, unlinked(1)))
	// Neither does a record of another dataset with the same id.
	accounts := w.create(t, in, "account", "static", "a")
	check("an account", []fault.Code{ok}, w.add(t, accounts, linked(7)))
	check("the contact of its id", []fault.Code{no}, w.add(t, a, unlinked(7)))
	// Deleting a View ends its memberships.
	fatal(t, w.views.Delete(t.Context(), in, b.ID))
	fatal(t, takeOut(t.Context(), w.store, in, catalog.Contacts, []uuid.UUID{*uuidOf(1)}))
	check("its View is deleted", []fault.Code{no}, w.add(t, a, unlinked(1)))
}

func TestMembershipsAndTheirRows(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v := w.create(t, in, "account", "static", "v")
	w.add(t, v, linked(3, 1, 2, 1))
	if n := w.count(t, v); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
	first, pending, own := w.held(t, 1)
	if !pending || !own {
		t.Error("an added record is not pending by an own change")
	}
	w.add(t, v, linked(1))
	if repeated, _, _ := w.held(t, 1); repeated != first {
		t.Error("adding a member again made it pending again")
	}
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE held_records SET projected_version = version, own_change = false`)
	fatal(t, err)
	w.remove(t, v, 1, 1, 9)
	w.remove(t, v, 1)
	if n := w.count(t, v); n != 2 {
		t.Errorf("%d records after a removal, want 2", n)
	}
	if after, pending, own := w.held(t, 1); after <= first || !pending || !own {
		t.Error("a removed record is not pending by an own change")
	}
	if _, pending, _ := w.held(t, 2); pending {
		t.Error("a record that stayed is pending")
	}
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE held_records SET present = false WHERE record_id = $1`, *uuidOf(2))
	fatal(t, err)
	if n := w.count(t, v); n != 1 {
		t.Errorf("%d records when one has left the global dataset, want 1", n)
	}
	w.add(t, v, linked(2)) // it is a member, and so no change
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE held_records SET present = true`)
	fatal(t, err)
	if n := w.count(t, v); n != 2 {
		t.Errorf("%d records when it is back, want 2", n)
	}
	fatal(t, w.views.Delete(t.Context(), in, v.ID))
	if _, pending, own := w.held(t, 3); !pending || own {
		t.Errorf("after its View was deleted a record is pending %v, by an own change %v", pending, own)
	}
	var left int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM view_records`).Scan(&left))
	if left != 0 {
		t.Errorf("%d memberships of a deleted View", left)
	}
	if _, err := w.store.AddMembers(t.Context(), in, v, linked(1)); fault.CodeOf(err) != fault.ViewNotFound {
		t.Errorf("adding to a deleted View: %v", err)
	}
	wantCode(t, "removing from a deleted View", w.store.RemoveMembers(t.Context(), in, v, []uuid.UUID{*uuidOf(1)}), fault.ViewNotFound)
}

func TestAFullView(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v := w.create(t, in, "account", "static", "v")
	// Only the count, because the rows take long to create.
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE views SET members = $2 WHERE id = $1`, v.ID.String(), views.MaxMembers-1)
	fatal(t, err)
	full := fault.ViewFull
	if diff := cmp.Diff([]fault.Code{"", "", full, full}, w.add(t, v, linked(1, 1, 2, 3))); diff != "" {
		t.Errorf("around the limit (-want +got):\n%s", diff)
	}
	w.remove(t, v, 1)
	var adding []func() error
	for n := range 8 {
		adding = append(adding, func() error {
			outcomes, err := w.store.AddMembers(t.Context(), in, v, linked(100+n))
			if err != nil {
				return err
			}
			return outcomes[0]
		})
	}
	if diff := cmp.Diff(map[fault.Code]int{"": 1, full: 7}, atOnce(t, adding...)); diff != "" {
		t.Errorf("eight adds for one place (-want +got):\n%s", diff)
	}
}

// TestAddsRacingRemoves checks that the count of members equals the rows after races.
func TestAddsRacingRemoves(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v, u := w.create(t, in, "contact", "static", "v"), w.create(t, in, "contact", "static", "u")
	for range 10 {
		var racing []func() error
		for n := range 16 {
			into := []views.View{v, u}[n%2]
			ids := []int{1 + n%5, 5 - n%5, 3}
			racing = append(racing, func() error {
				if n%4 < 2 {
					_, err := w.store.AddMembers(t.Context(), in, into, linked(ids...))
					return err
				}
				return w.store.RemoveMembers(t.Context(), in, into, recordIDs(ids...))
			})
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 16}, atOnce(t, racing...)); diff != "" {
			t.Fatalf("outcomes (-want +got):\n%s", diff)
		}
		for _, view := range []views.View{v, u} {
			var rows, members int
			fatal(t, w.system.Pool().QueryRow(t.Context(), `
				SELECT (SELECT count(*) FROM view_records WHERE view_id = $1), members FROM views WHERE id = $1`, view.ID.String()).Scan(&rows, &members))
			if rows != members {
				t.Fatalf("%s counts %d of its %d records", view.Name, members, rows)
			}
		}
	}
}

// TestUpsertsRacingAdds makes upserts and adds create rows of the same records in
// different orders: a transaction that Postgres aborts as a deadlock is retried.
func TestUpsertsRacingAdds(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v := w.create(t, in, "contact", "static", "v")
	for round := range 3 {
		ids := make([]int, 100)
		var some []int
		for i := range ids {
			ids[i] = 1 + round*len(ids) + i
			if i%2 == 1 {
				some = append(some, ids[i])
			}
		}
		fatal(t, w.addToBook(t.Context(), some...))
		var racing []func() error
		for range 3 {
			racing = append(racing,
				func() error { return w.addToBook(t.Context(), ids...) },
				func() error { _, err := w.store.AddMembers(t.Context(), in, v, linked(ids...)); return err },
				func() error { return takeOut(t.Context(), w.store, in, catalog.Contacts, recordIDs(ids...)) })
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 9}, atOnce(t, racing...)); diff != "" {
			t.Fatalf("outcomes (-want +got):\n%s", diff)
		}
	}
}
