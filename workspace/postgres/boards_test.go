package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/boards"
)

type boarding struct {
	*viewing
	boards *boards.Boards
}

func newBoarding(t *testing.T) *boarding {
	t.Helper()
	w := newViewing(t)
	return &boarding{w, boards.New(w.store, func() time.Time { return w.now })}
}

func (w *boarding) board(t *testing.T, in workspace.ID, author workspace.UserID, body string) (boards.Board, error) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	fatal(t, input.Issues(issues).Err())
	change, err := boards.ChangeRule.Parse(v)
	fatal(t, err)
	return w.boards.Upsert(t.Context(), in, author, change)
}

func TestBoardsAreStored(t *testing.T) {
	t.Parallel()
	w := newBoarding(t)
	in, other, author := w.one.ID, w.two.ID, w.members[w.one.ID][0].ID
	view := w.create(t, in, "account", "static", "Mine")
	tile := func(view string) string {
		return fmt.Sprintf(`{"kind":"view","title":"Mine","dataset":"accounts","of":"view","view_id":%q,"request":{"query":"x"}}`, view)
	}
	made, err := w.board(t, in, author, `{"name":" Ours ","tiles":[`+tile(view.ID.String())+`]}`)
	fatal(t, err)
	get := func() boards.Board {
		t.Helper()
		b, err := w.boards.Get(t.Context(), in, made.ID)
		fatal(t, err)
		return b
	}
	if got := get(); !cmp.Equal(got.Name, "Ours") || got.Revision != 1 || got.CreatedBy != author || len(got.Tiles) != 1 ||
		!got.Tiles[0].Equal(made.Tiles[0]) {
		t.Errorf("%+v", got)
	}
	// As read, also without its View, it is the same board.
	fatal(t, w.views.Delete(t.Context(), in, view.ID))
	text, err := get().MarshalJSON()
	fatal(t, err)
	same, err := w.board(t, in, author, string(text))
	if err != nil || same.Revision != 1 {
		t.Errorf("written as read: %+v, %v", same, err)
	}
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	renamed, err := w.board(t, in, author, fmt.Sprintf(`{"id":%q,"name":"Theirs","revision":1}`, made.ID))
	if err != nil || renamed.Revision != 2 || len(renamed.Tiles) != 1 {
		t.Errorf("%+v, %v", renamed, err)
	}
	if got, _ := w.changesAfter(t, in, at, 10); len(got) != 1 || got[0].Kind != audit.Board || !cmp.Equal(got[0].Fields, []string{"name"}) {
		t.Errorf("got %+v", got)
	}
	for body, want := range map[string]fault.Code{
		fmt.Sprintf(`{"id":%q,"name":"X","revision":1}`, made.ID):  fault.RevisionConflict,
		fmt.Sprintf(`{"id":%q,"name":"X"}`, uuid.New()):            fault.NotFound,
		`{"name":"X","tiles":[` + tile(view.ID.String()) + `]}`:    fault.InvalidInput, // it is deleted
		`{"name":"X","tiles":[` + tile(uuid.New().String()) + `]}`: fault.InvalidInput,
	} {
		if _, err := w.board(t, in, author, body); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	// A repeated request is the same, however its numbers are written: jsonb rewrites them.
	numbers := `"name":"Numbers","tiles":[{"kind":"chart","title":"T","dataset":"projects","of":"data","request":{
		"facets":[{"field":"stage"}],"filters":{"cost":{"value":[1e6,2.50e6]},"sqft":{"value":[1e-20,5.10]}}}}]`
	first, err := w.board(t, in, author, `{`+numbers+`}`)
	fatal(t, err)
	repeated, err := w.board(t, in, author, fmt.Sprintf(`{"id":%q,`, first.ID)+numbers+`}`)
	if err != nil || repeated.Revision != 1 {
		t.Errorf("sent again: %+v, %v", repeated, err)
	}
	// Another workspace gets nothing, and takes no View of this one.
	theirs := w.create(t, in, "account", "static", "Another")
	if _, err := w.board(t, other, workspace.UserID{}, `{"name":"X","tiles":[`+tile(theirs.ID.String())+`]}`); fault.CodeOf(
		err,
	) != fault.InvalidInput {
		t.Errorf("a View of another workspace: %v", err)
	}
	if _, err := w.boards.Get(t.Context(), other, made.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another workspace reads it: %v", err)
	}
	if _, err := w.board(t, other, workspace.UserID{}, fmt.Sprintf(`{"id":%q,"name":"X"}`, made.ID)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another workspace changes it: %v", err)
	}
	if err := w.boards.Delete(t.Context(), other, made.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another workspace deletes it: %v", err)
	}
	if list, err := w.boards.List(t.Context(), other, 100, 0); err != nil || len(list) != 0 {
		t.Errorf("another workspace lists %+v, %v", list, err)
	}
	fatal(t, w.boards.Delete(t.Context(), in, made.ID))
	if err := w.boards.Delete(t.Context(), in, made.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// Of many that are made at once, and of many changes of one revision, as many succeed as may.
func TestBoardsAtOnce(t *testing.T) {
	t.Parallel()
	w := newBoarding(t)
	in := w.one.ID
	for i := range boards.MaxBoards - 1 {
		_, err := w.board(t, in, workspace.UserID{}, fmt.Sprintf(`{"name":"B%02d"}`, i))
		fatal(t, err)
	}
	count := func(body func(i int) string, refused fault.Code) (made int) {
		var lock sync.Mutex
		var all sync.WaitGroup
		for i := range 4 {
			change, err := boards.ChangeRule.Parse(func() input.Value { v, _ := input.Decode([]byte(body(i))); return v }())
			fatal(t, err)
			all.Go(func() {
				_, err := w.boards.Upsert(t.Context(), in, workspace.UserID{}, change)
				lock.Lock()
				defer lock.Unlock()
				var e *fault.Error
				switch {
				case err == nil:
					made++
				case !errors.As(err, &e) || e.Code != refused:
					t.Error(err)
				}
			})
		}
		all.Wait()
		return made
	}
	if made := count(func(i int) string { return fmt.Sprintf(`{"name":"Last %d"}`, i) }, fault.LimitReached); made != 1 {
		t.Errorf("%d boards beyond the limit", made-1)
	}
	list, err := w.boards.List(t.Context(), in, 2, 1)
	if err != nil || len(list) != 2 || list[0].Name != "B01" {
		t.Fatalf("%+v, %v", list, err)
	}
	if made := count(func(i int) string {
		return fmt.Sprintf(`{"id":%q,"name":"Changed %d","revision":1}`, list[0].ID, i)
	}, fault.RevisionConflict); made != 1 {
		t.Errorf("%d changes of one revision", made)
	}
}
