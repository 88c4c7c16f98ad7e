package postgres_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/book"
)

// An overlay names the user who changed it last, even if their account was claimed since. It
// names none if the user was deleted, or a key or a merge changed it last.
func TestAuthorsOfOverlays(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, record, other := w.one.ID, uuid.New(), uuid.New()
	mia, olga := w.members[in][1].ID, w.members[in][0].ID
	write := func(by workspace.UserID, change book.OverlayChange) {
		t.Helper()
		fresh, _ := change.Apply(book.Overlay{
			Record: record, Trend: "steady", ScoredAt: w.now, CreatedAt: w.now, UpdatedAt: w.now, UpdatedBy: by,
		})
		_, err := w.store.UpsertOverlays(
			t.Context(), in, catalog.Accounts, []book.OverlayUpsert{{Fresh: fresh, Change: change}}, book.Additions{Most: 1000, At: w.now},
		)
		fatal(t, err)
	}
	check := func(what string, want workspace.UserID) {
		t.Helper()
		if got := w.overlays(t, in, catalog.Accounts, record)[record].UpdatedBy; got != want {
			t.Errorf("%s: by %v, want %v", what, got, want)
		}
	}
	write(mia, book.OverlayChange{"notes": "a"})
	check("new", mia)
	write(olga, book.OverlayChange{"notes": "a"})
	check("nothing changed", mia)
	write(olga, book.OverlayChange{"notes": "b"})
	check("changed by another", olga)
	write(workspace.UserID{}, book.OverlayChange{"tags": []string{"x"}})
	check("changed by a key", workspace.UserID{})
	write(mia, book.OverlayChange{"tags": []string{}})

	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	_, err := w.system.ReleaseUser(t.Context(), mia)
	fatal(t, err)
	account := workspace.NewUserID()
	claimed, err := w.system.ClaimUser(t.Context(), account, w.members[in][1].Email)
	if fatal(t, err); !claimed {
		t.Fatal("the user is not claimed")
	}
	check("another id of the user", account)
	got, _ := w.changesAfter(t, in, at, 1000)
	if slices.ContainsFunc(got, func(c audit.Change) bool { return c.Kind == audit.Overlay }) {
		t.Errorf("another id of its author is recorded as a change of the overlay: %+v", got)
	}
	_, err = w.system.Pool().Exec(t.Context(), `DELETE FROM users WHERE id = $1`, account.String())
	fatal(t, err)
	check("a deleted user", workspace.UserID{})

	write(olga, book.OverlayChange{"notes": "c"})
	fatal(t, w.store.MoveHeld(t.Context(), in, catalog.Accounts, record, other))
	if moved := w.overlays(t, in, catalog.Accounts, other)[other]; moved.Values["notes"] != "c" || !moved.UpdatedBy.IsZero() {
		t.Errorf("moved: %+v", moved)
	}
	write(olga, book.OverlayChange{"notes": "d"})
	fatal(t, w.store.MoveHeld(t.Context(), in, catalog.Accounts, other, record))
	if absorbed := w.overlays(t, in, catalog.Accounts, record)[record]; absorbed.Values["notes"] != "d\n\nc" || !absorbed.UpdatedBy.IsZero() {
		t.Errorf("absorbed: %+v", absorbed)
	}
}

// No change with an expectation is lost, however many are concurrent: each writer counts up by
// one, and removes what it added.
func TestExpectationsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, counter, seat := b.one.ID, uuid.New(), uuid.New()
	b.upsert(t, in, catalog.Accounts, counter, "0")
	const writers, each = 5, 8
	status := func(record uuid.UUID) string {
		overlays, err := b.store.Overlays(t.Context(), in, catalog.Accounts, []uuid.UUID{record})
		if err != nil {
			t.Error(err)
		}
		text, _ := overlays[record].Values["workspace_status"].(string)
		return text
	}
	var group sync.WaitGroup
	var seated, overlapping, lost atomic.Int64
	for writer := range writers {
		group.Go(func() {
			for done := 0; done < each; {
				was := status(counter)
				n, _ := strconv.Atoi(was)
				next := b.change(counter, strconv.Itoa(n+1))
				next.Expected = &book.Expectation{InBook: true, Values: book.OverlayChange{"workspace_status": was}}
				outcomes, err := b.store.UpsertOverlays(t.Context(), in, catalog.Accounts, []book.OverlayUpsert{next}, b.additions())
				if err != nil {
					t.Error(err)
					return
				}
				if !outcomes[0].Unexpected {
					done++
				} else if outcomes[0].Overlay.Values["workspace_status"] == was {
					t.Errorf("%q is what was expected", was)
				}
			}
			for range each {
				mine := b.change(seat, fmt.Sprint("writer ", writer))
				mine.Expected = &book.Expectation{}
				outcomes, err := b.store.UpsertOverlays(t.Context(), in, catalog.Accounts, []book.OverlayUpsert{mine}, b.additions())
				if err != nil {
					t.Error(err)
					return
				}
				if outcomes[0].Unexpected {
					continue
				}
				if seated.Add(1) > 1 {
					overlapping.Add(1)
				}
				runtime.Gosched()
				seated.Add(-1) // before the removal, so that nobody else can be in it yet
				others, err := b.store.DeleteOverlays(t.Context(), in, catalog.Accounts, []book.OverlayDeletion{{
					Record: seat, Expected: &book.Expectation{InBook: true, Values: mine.Change},
				}})
				if err != nil || len(others) > 0 {
					lost.Add(1)
				}
			}
		})
	}
	group.Wait()
	if got := status(counter); got != strconv.Itoa(writers*each) {
		t.Errorf("counted to %s, want %d", got, writers*each)
	}
	if overlapping.Load() > 0 || lost.Load() > 0 {
		t.Errorf("%d were in the book at once, %d were taken out by another", overlapping.Load(), lost.Load())
	}
}

// A change whose expectation fails changes nothing: neither values nor the number of added
// records. Items of a call see those before them.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, there, new1, new2 := b.one.ID, uuid.New(), uuid.New(), uuid.New()
	before := b.upsert(t, in, catalog.Accounts, there, "a")
	expecting := func(record uuid.UUID, status string, e *book.Expectation) book.OverlayUpsert {
		u := b.change(record, status)
		u.Fresh.UpdatedAt = b.now.Add(time.Hour)
		u.Expected = e
		return u
	}
	in1 := func(status any) *book.Expectation {
		return &book.Expectation{InBook: true, Values: book.OverlayChange{"workspace_status": status}}
	}
	outcomes, err := b.store.UpsertOverlays(t.Context(), in, catalog.Accounts, []book.OverlayUpsert{
		expecting(there, "b", in1("x")),
		expecting(there, "b", &book.Expectation{}),
		expecting(new1, "b", in1("a")),
		expecting(new1, "b", &book.Expectation{}), // the only one that is new
		expecting(new1, "c", in1("b")),
		expecting(new1, "d", &book.Expectation{}),
		expecting(new2, "e", in1(nil)),
	}, book.Additions{Most: 2, At: b.now})
	fatal(t, err)
	var got []string
	for _, o := range outcomes {
		got = append(got, fmt.Sprint(o.Unexpected, " ", o.Absent, " ", o.Refused, " ", o.Overlay.Values["workspace_status"]))
	}
	if diff := cmp.Diff([]string{
		"true false false a", "true false false a", "true true false <nil>", "false false false b", "false false false c",
		"true false false c", "true true false <nil>",
	}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	overlays, err := b.store.Overlays(t.Context(), in, catalog.Accounts, []uuid.UUID{there, new1, new2})
	fatal(t, err)
	if diff := cmp.Diff(before, overlays[there]); diff != "" || len(overlays) != 2 {
		t.Errorf("%d overlays; what was not as expected changed: %s", len(overlays), diff)
	}
	var added int
	fatal(t, b.system.Pool().QueryRow(
		t.Context(), `SELECT sum(added) FROM book_additions WHERE workspace_id = $1`, in.String(),
	).Scan(&added))
	if added != 2 {
		t.Errorf("%d records count as added, want 2", added)
	}

	others, err := b.store.DeleteOverlays(t.Context(), in, catalog.Accounts, []book.OverlayDeletion{
		{Record: there, Expected: in1("b")}, {Record: new1, Expected: in1("c")}, {Record: new2, Expected: in1("e")}, {Record: uuid.New()},
	})
	fatal(t, err)
	if o := others[there]; len(others) != 2 || o == nil || o.Values["workspace_status"] != "a" || others[new2] != nil {
		t.Errorf("deletions: %+v", others)
	}
	overlays, err = b.store.Overlays(t.Context(), in, catalog.Accounts, []uuid.UUID{there, new1, new2})
	if fatal(t, err); len(overlays) != 1 {
		t.Errorf("%d overlays are left", len(overlays))
	}
	// Another workspace's record is not there.
	others, err = b.store.DeleteOverlays(t.Context(), b.two.ID, catalog.Accounts, []book.OverlayDeletion{{Record: there, Expected: in1("a")}})
	if fatal(t, err); len(others) != 1 || others[there] != nil {
		t.Errorf("of another workspace: %+v", others)
	}
}
