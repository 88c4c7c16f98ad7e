package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

func suppressionOf(n byte) erasure.Suppression {
	return erasure.Suppression{
		ID: uuid.New(), Dataset: catalog.Contacts, Kind: erasure.Email, Normalization: 1, Key: 1, Digest: erasure.Digest{n}, Reason: "asked",
		By: "test", Added: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// The list has each entry once, in the order of additions, and another version after each
// change.
func TestSuppressions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	versions := map[erasure.Version]bool{}
	changed := func(what string) {
		t.Helper()
		v, err := w.system.SuppressionsVersion(ctx)
		fatal(t, err)
		if versions[v] {
			t.Errorf("%s: the version %v was there before", what, v)
		}
		versions[v] = true
	}
	changed("nothing")
	one, two, record := suppressionOf(1), suppressionOf(2), uuid.New()
	for i, want := range []int{2, 0} { // a second addition adds nothing
		n, err := w.system.AddSuppressions(ctx, []erasure.Suppression{one, two}, []erasure.Record{
			{Dataset: catalog.Contacts, ID: record, Suppressions: []uuid.UUID{one.ID, two.ID}},
		})
		if err != nil || n != want {
			t.Errorf("call %d adds %d, %v", i, n, err)
		}
	}
	changed("add")
	list, err := w.system.Suppressions(ctx)
	fatal(t, err)
	if len(list) != 2 || list[0].Seq >= list[1].Seq || list[0].Digest != one.Digest || list[0].Reason != "asked" ||
		!list[0].Added.Equal(one.Added) {
		t.Errorf("%+v", list)
	}
	work, err := w.system.SuppressedRecords(ctx)
	fatal(t, err)
	if len(work) != 1 || work[0].ID != record || len(work[0].Suppressions) != 2 {
		t.Errorf("to be erased: %+v", work)
	}
	work[0].Related = map[catalog.Dataset][]uuid.UUID{catalog.Accounts: {uuid.New()}}
	fatal(t, w.system.NoteSuppressedRecord(ctx, work[0]))
	if repeated, err := w.system.SuppressedRecords(ctx); err != nil || cmp.Diff(work, repeated) != "" {
		t.Errorf("%+v, %v", repeated, err)
	}
	fatal(t, w.system.EndSuppressions(ctx, list[0].Seq, work))
	if list, err = w.system.Suppressions(ctx); err != nil || list[0].Applied == nil || list[1].Applied != nil {
		t.Errorf("%+v, %v", list, err)
	}

	fatal(t, w.system.RemoveSuppression(ctx, one.ID, "test"))
	changed("remove")
	if err := w.system.RemoveSuppression(ctx, one.ID, "test"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("removed again: %v", err)
	}
	// The value can be suppressed again; a list from before the removal does not undo it.
	repeated := suppressionOf(1)
	for want, s := range map[int]erasure.Suppression{1: repeated, 0: one} {
		if n, err := w.system.AddSuppressions(ctx, []erasure.Suppression{s}, nil); err != nil || n != want {
			t.Errorf("%v adds %d, want %d, %v", s.ID, n, want, err)
		}
	}
	changed("add again")
	now := time.Now()
	two.Removed = &now
	_, err = w.system.AddSuppressions(ctx, []erasure.Suppression{two}, nil)
	fatal(t, err)
	changed("an import that removes")

	for through := range int64(3) {
		fatal(t, w.system.NoteSuppressedIn(ctx, "g", 2-through))
	}
	if n, err := w.system.SuppressedIn(ctx, "g"); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	fatal(t, w.system.NoteUnclean(ctx, "h"))
	for generation, want := range map[string]bool{"g": false, "h": true, "i": false} {
		if got, err := w.system.Unclean(ctx, generation); err != nil || got != want {
			t.Errorf("%s: %t, %v", generation, got, err)
		}
	}
	for _, table := range []string{"suppressions", "suppressed_records", "suppressed_generations", "suppression_keys"} {
		if _, err := w.app.CountAll(ctx, w.one.ID, table); err == nil {
			t.Errorf("the role of requests reads %s", table)
		}
	}
}

// A record that may be loaded again is not erased by unfinished work.
func TestRemovedBeforeItWasErased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	one, two, alone, both := suppressionOf(1), suppressionOf(2), uuid.New(), uuid.New()
	records := []erasure.Record{
		{Dataset: catalog.Contacts, ID: alone, Suppressions: []uuid.UUID{one.ID}},
		{Dataset: catalog.Contacts, ID: both, Suppressions: []uuid.UUID{one.ID, two.ID}},
	}
	_, err := w.system.AddSuppressions(ctx, []erasure.Suppression{one, two}, records)
	fatal(t, err)
	fatal(t, w.system.RemoveSuppression(ctx, one.ID, "test"))
	fatal(t, w.system.NoteSuppressedRecord(ctx, records[0])) // by who is at work
	work, err := w.system.SuppressedRecords(ctx)
	if err != nil || len(work) != 1 || work[0].ID != both || len(work[0].Suppressions) != 1 || work[0].Suppressions[0] != two.ID {
		t.Errorf("%+v, %v", work, err)
	}
	// The same value with another id: the entry of the list is meant.
	repeated := suppressionOf(2)
	records[0].Suppressions = []uuid.UUID{repeated.ID}
	_, err = w.system.AddSuppressions(ctx, []erasure.Suppression{repeated}, records[:1])
	fatal(t, err)
	now := time.Now()
	two.Removed = &now
	_, err = w.system.AddSuppressions(ctx, []erasure.Suppression{two}, nil) // an import
	fatal(t, err)
	if work, err := w.system.SuppressedRecords(ctx); err != nil || len(work) > 0 {
		t.Errorf("%+v, %v", work, err)
	}
}

// A number has one key.
func TestKeyOfANumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := suppressionOf(1), suppressionOf(2)
	one.KeyCheck, other.KeyCheck = erasure.Digest{1}, erasure.Digest{2}
	_, err := w.system.AddSuppressions(t.Context(), []erasure.Suppression{one}, nil)
	fatal(t, err)
	if _, err := w.system.AddSuppressions(t.Context(), []erasure.Suppression{other}, nil); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("another key: %v", err)
	}
	other.Key = 2
	_, err = w.system.AddSuppressions(t.Context(), []erasure.Suppression{other}, nil)
	fatal(t, err)
	if list, err := w.system.Suppressions(t.Context()); err != nil || len(list) != 2 || list[0].KeyCheck != one.KeyCheck {
		t.Errorf("%+v, %v", list, err)
	}
}

// All workspace data on the record is deleted, and nothing else.
func TestEraseRecord(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	ctx := t.Context()
	gone, stays := *uuidOf(1), *uuidOf(2)
	for _, in := range []workspace.ID{w.one.ID, w.two.ID} {
		for _, record := range []uuid.UUID{gone, stays} {
			change := book.OverlayChange{"notes": "Text"}
			fresh, _ := change.Apply(book.Overlay{Record: record, CreatedAt: w.now, UpdatedAt: w.now})
			_, err := w.store.UpsertOverlays(
				ctx, in, catalog.Contacts, []book.OverlayUpsert{{Fresh: fresh, Change: change}}, book.Additions{Most: 1_000, At: w.now},
			)
			fatal(t, err)
		}
	}
	both, other := w.create(t, w.one.ID, "contact", "static", "Both"), w.create(t, w.one.ID, "contact", "static", "Other")
	for v, records := range map[*views.View][]uuid.UUID{&both: {gone, stays}, &other: {stays}} {
		var all []views.Candidate
		for _, r := range records {
			all = append(all, views.Candidate{Record: r, Linked: true})
		}
		_, err := w.store.AddMembers(ctx, w.one.ID, *v, all)
		fatal(t, err)
	}
	_, err := w.system.Pool().Exec(ctx, `INSERT INTO stored_answers (workspace_id, key, part, request, answer, bytes)
		SELECT $1, decode(repeat(n, 16), 'hex'), 0, decode(repeat('00', 16), 'hex'), convert_to(text, 'UTF8'), 1
		FROM (VALUES ('01', $2::text), ('02', 'another')) v (n, text)`, uuid.UUID(w.two.ID), `{"id":"`+gone.String()+`"}`)
	fatal(t, err)
	_, err = w.system.Pool().Exec(ctx, `
		INSERT INTO data_merges (dataset, record_id, into_id, merged_at) VALUES ('contacts', $1, $2, now()), ('contacts', $3, $1, now())`,
		gone, stays, uuid.New())
	fatal(t, err)
	w.settleHeld(t)
	for i, want := range []erasure.Erased{{Overlays: 2, Memberships: 1}, {}} {
		if n, err := w.system.EraseRecord(ctx, catalog.Contacts, gone); err != nil || n != want {
			t.Errorf("call %d: %+v, %v", i, n, err)
		}
	}
	for i, want := range []int64{1, 0} {
		if n, err := w.system.EraseAnswers(ctx, []uuid.UUID{uuid.New(), gone}); err != nil || n != want {
			t.Errorf("call %d: %d answers, %v", i, n, err)
		}
	}
	if got := w.pending(t); len(got) != 2 || got[0] != gone || got[1] != gone {
		t.Errorf("to be projected: %v", got)
	}
	for _, in := range []workspace.ID{w.one.ID, w.two.ID} {
		if all := w.overlays(t, in, catalog.Contacts, gone, stays); len(all) != 1 || all[stays].Record != stays {
			t.Errorf("%s: %v", in, all)
		}
	}
	for v, want := range map[*views.View]int{&both: 1, &other: 1} {
		if n := w.count(t, *v); n != want {
			t.Errorf("%s has %d records", v.Name, n)
		}
	}
	for table, want := range map[string]int{"stored_answers": 1, "data_merges": 0, "view_records": 2} {
		var n int
		fatal(t, w.system.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != want {
			t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
	// Each workspace sees its losses in its changes, without an author.
	for in, want := range map[workspace.ID]int{w.one.ID: 2, w.two.ID: 1} {
		var n int
		fatal(t, w.system.Pool().QueryRow(ctx, `
			SELECT count(*) FROM workspace_changes WHERE workspace_id = $1 AND id = $2 AND op = 'delete' AND by_user IS NULL AND by_key IS NULL`,
			uuid.UUID(in), gone).Scan(&n))
		if n != want {
			t.Errorf("%s gets %d deliveries, want %d", in, n, want)
		}
	}
}

// Each change of the list is in the installation's log, once, and says nothing of the person.
func TestSuppressionsAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	one, record := suppressionOf(1), uuid.New()
	for range 2 { // the second adds nothing
		_, err := w.system.AddSuppressions(ctx, []erasure.Suppression{one}, []erasure.Record{
			{Dataset: catalog.Contacts, ID: record, Suppressions: []uuid.UUID{one.ID}},
		})
		fatal(t, err)
	}
	fatal(t, w.system.RemoveSuppression(ctx, one.ID, "test"))
	if err := w.system.RemoveSuppression(ctx, one.ID, "test"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("removed again: %v", err)
	}
	fatal(t, w.system.PersonExported(ctx, catalog.Contacts, erasure.Email, 2))
	fatal(t, w.system.SuppressionsExported(ctx, 1))
	events, err := w.system.EventsOf(ctx, workspace.ID{}, auditlog.Query{Actions: []string{"suppression", "person"}, Limit: 10})
	fatal(t, err)
	var got []string
	for _, e := range events {
		got = append(got, e.Action+" "+string(e.Details))
		if strings.Contains(string(e.Details), record.String()) || e.ObjectID != uuid.Nil && e.ObjectID != one.ID {
			t.Errorf("%+v", e)
		}
	}
	want := []string{
		`suppression.exported {"entries": 1}`, `person.exported {"kind": "email", "dataset": "contacts", "records": 2}`,
		`suppression.removed {}`, `suppression.added {"kind": "email", "dataset": "contacts"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Suppressions that belong to another one are removed with it. They can have the digest of one
// that belongs to none. In an import they belong to the stored entry with the digest.
func TestSuppressionsOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	parent, alone, of, record := suppressionOf(1), suppressionOf(2), suppressionOf(2), uuid.New()
	of.Of, of.Kind, alone.Kind = parent.ID, erasure.ID, erasure.ID
	add := func(want int, list ...erasure.Suppression) {
		t.Helper()
		n, err := w.system.AddSuppressions(ctx, list, []erasure.Record{
			{Dataset: catalog.Contacts, ID: record, Suppressions: []uuid.UUID{list[len(list)-1].ID}},
		})
		if err != nil || n != want {
			t.Errorf("added %d, want %d, %v", n, want, err)
		}
	}
	active := func() (ids []uuid.UUID) {
		t.Helper()
		list, err := w.system.Suppressions(ctx)
		fatal(t, err)
		for _, e := range list {
			if e.Removed == nil {
				ids = append(ids, e.ID)
			}
		}
		return ids
	}
	add(3, parent, alone, of)
	add(0, parent, alone, of)
	fatal(t, w.system.RemoveSuppression(ctx, parent.ID, "test"))
	if got := active(); len(got) != 1 || got[0] != alone.ID {
		t.Errorf("after remove: %v", got)
	}
	if work, err := w.system.SuppressedRecords(ctx); err != nil || len(work) != 0 {
		t.Errorf("to be erased: %+v, %v", work, err)
	}
	late := suppressionOf(3)
	late.Of = parent.ID
	add(0, late) // by a load that read the list before
	if work, err := w.system.SuppressedRecords(ctx); err != nil || len(work) != 0 {
		t.Errorf("to be erased without a reason: %+v, %v", work, err)
	}

	// The value is suppressed anew here; a list of elsewhere has it under another id.
	here, there, child := suppressionOf(4), suppressionOf(4), suppressionOf(5)
	child.Of = there.ID
	add(1, here)
	add(1, there, child)
	list, err := w.system.Suppressions(ctx)
	fatal(t, err)
	if last := list[len(list)-1]; last.ID != child.ID || last.Of != here.ID {
		t.Errorf("the child belongs to %v, want %v", last.Of, here.ID)
	}
	// An import that removes the parent removes what was added to it since.
	now := time.Now()
	here.Removed = &now
	_, err = w.system.AddSuppressions(ctx, []erasure.Suppression{here}, nil)
	fatal(t, err)
	if got := active(); len(got) != 1 || got[0] != alone.ID {
		t.Errorf("after an import: %v", got)
	}
}
