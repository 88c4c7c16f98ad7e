package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace/book"
)

// Tags that were stored before they were compared by their folded form are read in today's
// form. Rewriting them changes nothing.
func TestTagsOfBefore(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	before := b.upsert(t, in, catalog.Accounts, record, "ours")
	_, err := b.system.Pool().Exec(t.Context(), `UPDATE overlays SET tags = $2 WHERE record_id = $1`,
		record, []string{"e\u0301te\u0301", "été", "Øl", "OL", "ok"})
	fatal(t, err)
	want := []string{"été", "Øl", "ok"}
	read := func() book.Overlay {
		t.Helper()
		overlays, err := b.store.Overlays(t.Context(), in, catalog.Accounts, []uuid.UUID{record})
		fatal(t, err)
		if diff := cmp.Diff(any(want), overlays[record].Values["tags"]); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		return overlays[record]
	}
	read()
	change := func(c book.OverlayChange) {
		t.Helper()
		fresh := before
		fresh.UpdatedAt = before.UpdatedAt.Add(time.Hour)
		_, err := b.store.UpsertOverlays(t.Context(), in, catalog.Accounts, []book.OverlayUpsert{{Fresh: fresh, Change: c}}, b.additions())
		fatal(t, err)
	}
	change(book.OverlayChange{"tags": want})
	if got := read(); !got.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("the same tags: changed at %v, and was at %v", got.UpdatedAt, before.UpdatedAt)
	}
	change(book.OverlayChange{"workspace_status": "theirs"})
	if got := read(); got.UpdatedAt.Equal(before.UpdatedAt) {
		t.Error("another status changes nothing")
	}
	var stored []string
	fatal(t, b.system.Pool().QueryRow(t.Context(), `SELECT tags FROM overlays WHERE record_id = $1`, record).Scan(&stored))
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored with the next change (-want +got):\n%s", diff)
	}
}
