package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
	"atlas/workspace"
)

// viewing is a world with the services of Views over it.
type viewing struct {
	*people
	views     *workspace.Views
	favorites *workspace.Favorites
}

func newViewing(t *testing.T) *viewing {
	t.Helper()
	p := newPeople(t)
	return &viewing{p, workspace.NewViews(p.store, func() time.Time { return p.now }), workspace.NewFavorites(p.store)}
}

// upsert is an upsert's body by an author.
func (w *viewing) upsert(t *testing.T, in workspace.ID, author workspace.UserID, body string) (workspace.View, error) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	fatal(t, input.Issues(issues).Err())
	change, err := workspace.ParseViewChange(v)
	fatal(t, err)
	return w.views.Upsert(t.Context(), in, author, change)
}

func (w *viewing) create(t *testing.T, in workspace.ID, dataset, kind, name string) workspace.View {
	t.Helper()
	definition := ""
	if kind == "dynamic" {
		definition = `,"definition":{"version":1,"q":"x","fields":{}}`
	}
	v, err := w.upsert(t, in, workspace.UserID{}, fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%q%s}`, dataset, kind, name, definition))
	fatal(t, err)
	return v
}

func TestViewsAreKept(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, author, other := w.one.ID, w.members[w.one.ID][0].ID, w.members[w.one.ID][1].ID
	created, err := w.upsert(t, in, author, `{"dataset":"project","view_type":"dynamic","name":" Big Ones ",
		"definition":{"version":1,"q":" tower ","fields":{"city":["Calgary"],"cost":{"min":"0100"}}},
		"presentation":{"version":1,"sorting":[{"id":"cost","desc":true}],"column_visibility":{"b":true,"a":false}}}`)
	fatal(t, err)
	get := func() workspace.View {
		t.Helper()
		v, err := w.views.Get(t.Context(), in, created.ID, author)
		fatal(t, err)
		return v
	}
	if diff := cmp.Diff(created, get()); diff != "" {
		t.Errorf("stored is another than answered (-answered +stored):\n%s", diff)
	}
	if created.Revision != 1 || created.Name != "Big Ones" || created.CreatedBy != author || created.UpdatedBy != author {
		t.Errorf("created: %+v", created)
	}
	update := func(by workspace.UserID, format string, args ...any) (workspace.View, error) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		return w.upsert(t, in, by, fmt.Sprintf(`{"id":%q`+format+`}`, append([]any{created.ID}, args...)...))
	}
	same, err := update(other, `,"name":"Big Ones","dataset":"project","view_type":"dynamic","revision":1,
		"definition":{"fields":{"cost":{"min":"0100"},"city":["Calgary"]},"q":"tower","version":1}`)
	fatal(t, err)
	if diff := cmp.Diff(created, same); diff != "" {
		t.Errorf("nothing changed, and yet (-before +after):\n%s", diff)
	}
	renamed, err := update(other, `,"name":"big ones"`)
	fatal(t, err)
	want := created
	want.Name, want.Revision, want.UpdatedBy, want.UpdatedAt = "big ones", 2, other, w.now
	if diff := cmp.Diff(want, renamed); diff != "" {
		t.Errorf("renamed (-want +got):\n%s", diff)
	}
	byKey, err := update(workspace.UserID{}, `,"presentation":{"version":1,"sorting":[],"column_visibility":{}}`)
	fatal(t, err)
	if byKey.Revision != 3 || byKey.UpdatedBy != (workspace.UserID{}) || byKey.CreatedBy != author || len(byKey.Presentation.Sorting) != 0 {
		t.Errorf("changed by a key: %+v", byKey)
	}
	for body, code := range map[string]fault.Code{
		`,"dataset":"account"`:                    fault.ViewImmutableField,
		`,"view_type":"static"`:                   fault.ViewImmutableField,
		`,"view_type":"static","definition":null`: fault.ViewImmutableField,
		`,"definition":{"version":1}`:             fault.InvalidViewDefinition,
		`,"definition":null,"revision":1`:         fault.InvalidViewDefinition,
		`,"revision":2,"name":"other"`:            fault.RevisionConflict,
		`,"revision":4`:                           fault.RevisionConflict,
		`,"definition":{"version":1,"q":"","fields":{"account_type":["owner"]}}`: fault.InvalidViewDefinition,
	} {
		_, err := update(author, "%s", body)
		wantCode(t, body, err, code)
	}
	if diff := cmp.Diff(byKey, get()); diff != "" {
		t.Errorf("a refused change changed something (-before +after):\n%s", diff)
	}
	fatal(t, w.views.Delete(t.Context(), in, created.ID))
	wantCode(t, "deleted again", w.views.Delete(t.Context(), in, created.ID), fault.ViewNotFound)
	_, err = update(author, `,"name":"x"`)
	wantCode(t, "changed after its deletion", err, fault.ViewNotFound)
	_, err = w.views.Get(t.Context(), in, created.ID, author)
	wantCode(t, "read after its deletion", err, fault.ViewNotFound)
}

func TestNamesOfViews(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	first := w.create(t, in, "account", "dynamic", "Café")
	body := `{"dataset":"account","view_type":"static","name":"CAFE"}`
	_, err := w.upsert(t, in, workspace.UserID{}, body)
	wantCode(t, "a name but for case and accents", err, fault.ViewNameConflict)
	w.create(t, in, "contact", "static", "Café")
	_, err = w.upsert(t, w.two.ID, workspace.UserID{}, body)
	wantCode(t, "another workspace's name", err, "")
	second := w.create(t, in, "account", "static", "Bar")
	_, err = w.upsert(t, in, workspace.UserID{}, `{"id":"`+second.ID.String()+`","name":"cafe\u0301"}`)
	wantCode(t, "renamed to a name that is taken", err, fault.ViewNameConflict)
	fatal(t, w.views.Delete(t.Context(), in, first.ID))
	_, err = w.upsert(t, in, workspace.UserID{}, body)
	wantCode(t, "a deleted View's name", err, "")
}

func TestListingViews(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, user := w.one.ID, w.members[w.one.ID][0].ID
	b := w.create(t, in, "account", "dynamic", "beta")
	a := w.create(t, in, "account", "static", "Älpha")
	c := w.create(t, in, "contact", "static", "Ämil 100%")
	d := w.create(t, in, "project", "dynamic", "a_b")
	w.create(t, w.two.ID, "account", "static", "foreign")
	_, err := w.favorites.UpsertAll(t.Context(), in, user, []workspace.FavoriteChange{{View: c.ID}, {View: b.ID}})
	fatal(t, err)
	for name, f := range map[string]struct {
		filter workspace.ViewFilter
		want   []workspace.View
	}{
		"all by folded name":  {workspace.ViewFilter{}, []workspace.View{d, a, c, b}},
		"a page":              {workspace.ViewFilter{Limit: 2, Offset: 1}, []workspace.View{a, c}},
		"past the end":        {workspace.ViewFilter{Offset: 4}, nil},
		"a part of the name":  {workspace.ViewFilter{Name: "ÁL"}, []workspace.View{a}},
		"no wildcard":         {workspace.ViewFilter{Name: "%"}, []workspace.View{c}},
		"no wildcard either":  {workspace.ViewFilter{Name: "_"}, []workspace.View{d}},
		"by dataset":          {workspace.ViewFilter{Dataset: query.Accounts}, []workspace.View{a, b}},
		"by type":             {workspace.ViewFilter{Type: workspace.StaticView}, []workspace.View{a, c}},
		"by id":               {workspace.ViewFilter{ID: &d.ID}, []workspace.View{d}},
		"favorites by name":   {workspace.ViewFilter{Favorites: true, Viewer: user}, []workspace.View{c, b}},
		"nobody's favorites":  {workspace.ViewFilter{Favorites: true}, nil},
		"an unknown id":       {workspace.ViewFilter{ID: (*workspace.ViewID)(uuidOf(99))}, nil},
		"id of another type":  {workspace.ViewFilter{ID: &d.ID, Type: workspace.StaticView}, nil},
		"everything together": {workspace.ViewFilter{Favorites: true, Viewer: user, Dataset: query.Contacts, Name: "mil"}, []workspace.View{c}},
	} {
		if f.filter.Limit == 0 {
			f.filter.Limit = 100
		}
		got, err := w.views.List(t.Context(), in, f.filter)
		fatal(t, err)
		if diff := cmp.Diff(names(f.want), names(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	seen, err := w.views.List(t.Context(), in, workspace.ViewFilter{Viewer: user, Limit: 100})
	fatal(t, err)
	positions := map[string]int{}
	for _, v := range seen {
		if v.Position != nil {
			positions[v.Name] = *v.Position
		}
	}
	if diff := cmp.Diff(map[string]int{"Ämil 100%": 0, "beta": 1}, positions); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
}

func names(views []workspace.View) (all []string) {
	for _, v := range views {
		all = append(all, v.Name)
	}
	return all
}

func uuidOf(n int) *uuid.UUID {
	u := uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	return &u
}

// atOnce runs all, and returns how often each code came.
func atOnce(t *testing.T, all ...func() error) map[fault.Code]int {
	t.Helper()
	codes := map[fault.Code]int{}
	var lock sync.Mutex
	var group sync.WaitGroup
	start := make(chan struct{})
	for _, one := range all {
		group.Go(func() {
			<-start
			err := one()
			lock.Lock()
			defer lock.Unlock()
			codes[fault.CodeOf(err)]++
		})
	}
	close(start)
	group.Wait()
	return codes
}

func TestRacingViews(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	for round := range 20 {
		var creating, updating []func() error
		v := w.create(t, in, "contact", "static", fmt.Sprintf("race %d", round))
		for i := range 6 {
			creating = append(creating, func() error {
				_, err := w.upsert(t, in, workspace.UserID{}, fmt.Sprintf(`{"dataset":"account","view_type":"static","name":"race %d"}`, round))
				return err
			})
			updating = append(updating, func() error {
				_, err := w.upsert(t, in, workspace.UserID{}, fmt.Sprintf(`{"id":%q,"revision":1,"name":"race %d of %d"}`, v.ID, round, i))
				return err
			})
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 1, fault.ViewNameConflict: 5}, atOnce(t, creating...)); diff != "" {
			t.Fatalf("creates of one name (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 1, fault.RevisionConflict: 5}, atOnce(t, updating...)); diff != "" {
			t.Fatalf("updates with one revision (-want +got):\n%s", diff)
		}
	}
}

func TestFavoritesAreDense(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	user, other := w.members[in][0].ID, w.members[in][1].ID
	var all []workspace.View
	for i := range 10 {
		all = append(all, w.create(t, in, "account", "static", fmt.Sprintf("v%d", i)))
	}
	at := func(i, position int) workspace.FavoriteChange {
		return workspace.FavoriteChange{View: all[i].ID, Position: &position}
	}
	v, err := w.favorites.Upsert(t.Context(), in, user, at(3, 5))
	fatal(t, err)
	if v.ID != all[3].ID || v.Position == nil || *v.Position != 0 {
		t.Errorf("the first favorite: %+v", v)
	}
	_, err = w.favorites.Upsert(t.Context(), in, user, workspace.FavoriteChange{View: workspace.ViewID(*uuidOf(1))})
	wantCode(t, "an unknown View", err, fault.ViewNotFound)
	foreign := w.create(t, w.two.ID, "account", "static", "x")
	_, err = w.favorites.Upsert(t.Context(), in, user, workspace.FavoriteChange{View: foreign.ID})
	wantCode(t, "a foreign View", err, fault.ViewNotFound)
	_, err = w.favorites.Upsert(t.Context(), in, w.members[w.two.ID][0].ID, at(1, 0))
	wantCode(t, "a stranger", err, fault.Forbidden)

	// Fifty reorders of one user, while Views of them are deleted.
	var racing []func() error
	for n := range 50 {
		racing = append(racing, func() error {
			if n%2 == 0 {
				_, err := w.favorites.Upsert(context.Background(), in, user, at(n%8, n%5))
				return err
			}
			_, err := w.favorites.UpsertAll(context.Background(), in, user, []workspace.FavoriteChange{at(n%8, n%3), at((n+1)%8, 0), {View: all[n%10].ID}})
			return err
		})
	}
	racing = append(racing,
		func() error { return w.views.Delete(context.Background(), in, all[8].ID) },
		func() error { return w.views.Delete(context.Background(), in, all[9].ID) },
		func() error { return w.favorites.Delete(context.Background(), in, user, all[0].ID) },
		func() error { _, err := w.favorites.Upsert(context.Background(), in, other, at(9, 0)); return err },
	)
	for code, n := range atOnce(t, racing...) {
		if code != "" && code != fault.ViewNotFound {
			t.Errorf("%d changes ended with %s", n, code)
		}
	}
	list, err := w.favorites.List(t.Context(), in, user, 100, 0)
	fatal(t, err)
	seen := map[workspace.ViewID]bool{}
	for i, v := range list {
		if v.Position == nil || *v.Position != i || seen[v.ID] || v.ID == all[8].ID || v.ID == all[9].ID {
			t.Errorf("at %d: %s, position %v", i, v.Name, v.Position)
		}
		seen[v.ID] = true
	}
	if len(list) < 7 {
		t.Errorf("%d favorites are left", len(list))
	}
	page, err := w.favorites.List(t.Context(), in, user, 2, 3)
	fatal(t, err)
	if diff := cmp.Diff(names(list[3:5]), names(page)); diff != "" {
		t.Errorf("a page (-want +got):\n%s", diff)
	}
	fatal(t, w.favorites.Delete(t.Context(), in, user, list[0].ID, list[0].ID, workspace.ViewID(*uuidOf(1))))
	rest, err := w.favorites.List(t.Context(), in, user, 100, 0)
	fatal(t, err)
	if diff := cmp.Diff(names(list[1:]), names(rest)); diff != "" || *rest[0].Position != 0 {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
	if n, err := w.favorites.List(t.Context(), in, other, 100, 0); err != nil || len(n) > 1 {
		t.Errorf("another user has %d favorites, %v", len(n), err)
	}
}

// linked are candidates that are visible anyway.
func linked(ns ...int) []workspace.Candidate {
	var all []workspace.Candidate
	for _, n := range ns {
		all = append(all, workspace.Candidate{Record: *uuidOf(n), Linked: true})
	}
	return all
}

func unlinked(ns ...int) []workspace.Candidate {
	all := linked(ns...)
	for i := range all {
		all[i].Linked = false
	}
	return all
}

func (w *viewing) add(t *testing.T, v workspace.View, candidates []workspace.Candidate) (codes []fault.Code) {
	t.Helper()
	outcomes, err := w.store.AddMembers(t.Context(), v.Workspace, v, candidates)
	fatal(t, err)
	for _, o := range outcomes {
		codes = append(codes, fault.CodeOf(o))
	}
	return codes
}

func (w *viewing) remove(t *testing.T, v workspace.View, ns ...int) {
	t.Helper()
	var ids []uuid.UUID
	for _, n := range ns {
		ids = append(ids, *uuidOf(n))
	}
	fatal(t, w.store.RemoveMembers(t.Context(), v.Workspace, v, ids))
}

func (w *viewing) count(t *testing.T, v workspace.View) int {
	t.Helper()
	got, err := w.views.Get(t.Context(), v.Workspace, v.ID, workspace.UserID{})
	fatal(t, err)
	if got.Revision != v.Revision || !got.UpdatedAt.Equal(v.UpdatedAt) {
		t.Errorf("a membership touched the View: revision %d, %s", got.Revision, got.UpdatedAt)
	}
	return got.Records
}

// held tells of rows by record: version, whether pending, whether by an own
// change.
func (w *viewing) held(t *testing.T, n int) (version int64, pending, own bool) {
	t.Helper()
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT coalesce(max(version), 0), coalesce(bool_or(version > projected_version), false), coalesce(bool_or(own_change), false)
		FROM held_records WHERE record_id = $1`, *uuidOf(n)).Scan(&version, &pending, &own))
	return version, pending, own
}

// TestThreeSourcesOfVisibility: a project link, the book, another membership;
// each alone makes a contact visible, and none is made by asking.
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

	overlay := workspace.OverlayUpsert{Fresh: workspace.Overlay{Record: *uuidOf(1), Tags: []string{}, CreatedAt: w.now, UpdatedAt: w.now}}
	_, err := w.store.UpsertOverlays(t.Context(), in, query.Contacts, []workspace.OverlayUpsert{overlay})
	fatal(t, err)
	check("in the book", []fault.Code{ok}, w.add(t, a, unlinked(1)))
	fatal(t, w.store.DeleteOverlays(t.Context(), in, query.Contacts, []uuid.UUID{*uuidOf(1)}))
	check("out of the book: the membership is left", []fault.Code{ok, ok}, append(w.add(t, a, unlinked(1)), w.add(t, b, unlinked(1))...))
	_, err = w.store.UpsertOverlays(t.Context(), in, query.Contacts, []workspace.OverlayUpsert{overlay})
	fatal(t, err)
	w.remove(t, a, 1)
	w.remove(t, b, 1)
	check("the overlay alone is left", []fault.Code{ok}, w.add(t, b, unlinked(1)))

	// What another workspace has makes nothing visible here.
	foreign := w.create(t, w.two.ID, "contact", "static", "a")
	check("another workspace's candidate", []fault.Code{no}, w.add(t, foreign, unlinked(1)))
	// Nor does a record of another dataset with the same id.
	accounts := w.create(t, in, "account", "static", "a")
	check("an account", []fault.Code{ok}, w.add(t, accounts, linked(7)))
	check("the contact of its id", []fault.Code{no}, w.add(t, a, unlinked(7)))
	// The membership of a View that is deleted is gone.
	fatal(t, w.views.Delete(t.Context(), in, b.ID))
	fatal(t, w.store.DeleteOverlays(t.Context(), in, query.Contacts, []uuid.UUID{*uuidOf(1)}))
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
	if again, _, _ := w.held(t, 1); again != first {
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
	// As if it had the rows, which take long to make.
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE views SET members = $2 WHERE id = $1`, v.ID.String(), workspace.MaxMembers-1)
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

// TestAddsRacingRemoves ends in a count that is the rows, whoever wins.
func TestAddsRacingRemoves(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v, u := w.create(t, in, "contact", "static", "v"), w.create(t, in, "contact", "static", "u")
	for range 10 {
		var racing []func() error
		for n := range 16 {
			into := []workspace.View{v, u}[n%2]
			ids := []int{1 + n%5, 5 - n%5, 3}
			racing = append(racing, func() error {
				if n%4 < 2 {
					_, err := w.store.AddMembers(t.Context(), in, into, linked(ids...))
					return err
				}
				var gone []uuid.UUID
				for _, id := range ids {
					gone = append(gone, *uuidOf(id))
				}
				return w.store.RemoveMembers(t.Context(), in, into, gone)
			})
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 16}, atOnce(t, racing...)); diff != "" {
			t.Fatalf("outcomes (-want +got):\n%s", diff)
		}
		for _, view := range []workspace.View{v, u} {
			var rows, members int
			fatal(t, w.system.Pool().QueryRow(t.Context(), `
				SELECT (SELECT count(*) FROM view_records WHERE view_id = $1), members FROM views WHERE id = $1`, view.ID.String()).Scan(&rows, &members))
			if rows != members {
				t.Fatalf("%s counts %d of its %d records", view.Name, members, rows)
			}
		}
	}
}

// TestUpsertsRacingAdds has both make rows for the same records, each in an order
// of its own: whoever Postgres stops to untie them goes on all the same.
func TestUpsertsRacingAdds(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	v := w.create(t, in, "contact", "static", "v")
	for round := range 3 {
		ids := make([]int, 100)
		var overlays []workspace.OverlayUpsert
		var some []workspace.OverlayUpsert
		for i := range ids {
			ids[i] = 1 + round*len(ids) + i
			o := workspace.OverlayUpsert{Fresh: workspace.Overlay{Record: *uuidOf(ids[i]), Tags: []string{}, CreatedAt: w.now, UpdatedAt: w.now}}
			overlays = append(overlays, o)
			if i%2 == 1 {
				some = append(some, o)
			}
		}
		if _, err := w.store.UpsertOverlays(t.Context(), in, query.Contacts, some); err != nil {
			t.Fatal(err)
		}
		var racing []func() error
		for range 3 {
			racing = append(racing,
				func() error { _, err := w.store.UpsertOverlays(t.Context(), in, query.Contacts, overlays); return err },
				func() error { _, err := w.store.AddMembers(t.Context(), in, v, linked(ids...)); return err },
				func() error {
					gone := make([]uuid.UUID, len(ids))
					for i, id := range ids {
						gone[i] = *uuidOf(id)
					}
					return w.store.DeleteOverlays(t.Context(), in, query.Contacts, gone)
				})
		}
		if diff := cmp.Diff(map[fault.Code]int{"": 9}, atOnce(t, racing...)); diff != "" {
			t.Fatalf("outcomes (-want +got):\n%s", diff)
		}
	}
}

// TestViewsOfAnotherWorkspace calls every method with a foreign workspace, and
// with none.
func TestViewsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	one, user := w.one.ID, w.members[w.one.ID][0].ID
	v := w.create(t, one, "account", "static", "v")
	w.add(t, v, linked(1))
	_, err := w.favorites.Upsert(t.Context(), one, user, workspace.FavoriteChange{View: v.ID})
	fatal(t, err)
	before, err := w.views.Get(t.Context(), one, v.ID, user)
	fatal(t, err)
	type outcome struct {
		found int
		err   error
	}
	calls := map[string]struct {
		code fault.Code
		call func(in workspace.ID) outcome
	}{
		"Views": {"", func(in workspace.ID) outcome {
			list, err := w.store.Views(t.Context(), in, workspace.ViewFilter{Viewer: user, Limit: 100})
			return outcome{len(list), err}
		}},
		"ViewByID": {fault.ViewNotFound, func(in workspace.ID) outcome {
			_, err := w.store.ViewByID(t.Context(), in, v.ID, user)
			return outcome{0, err}
		}},
		"BareView": {fault.ViewNotFound, func(in workspace.ID) outcome {
			_, err := w.store.BareView(t.Context(), in, v.ID)
			return outcome{0, err}
		}},
		"ViewsByID": {"", func(in workspace.ID) outcome {
			found, err := w.store.ViewsByID(t.Context(), in, user, []workspace.ViewID{v.ID})
			return outcome{len(found), err}
		}},
		"UpdateView": {fault.ViewNotFound, func(in workspace.ID) outcome {
			_, err := w.store.UpdateView(t.Context(), in, v.ID, user, func(v workspace.View) (workspace.View, error) {
				v.Name, v.Revision = "taken", 9
				return v, nil
			})
			return outcome{0, err}
		}},
		"DeleteView": {fault.ViewNotFound, func(in workspace.ID) outcome { return outcome{0, w.store.DeleteView(t.Context(), in, v.ID)} }},
		"AddMembers": {fault.ViewNotFound, func(in workspace.ID) outcome {
			_, err := w.store.AddMembers(t.Context(), in, v, linked(2))
			return outcome{0, err}
		}},
		"RemoveMembers": {fault.ViewNotFound, func(in workspace.ID) outcome {
			return outcome{0, w.store.RemoveMembers(t.Context(), in, v, []uuid.UUID{*uuidOf(1)})}
		}},
		"Favorites": {"", func(in workspace.ID) outcome {
			list, err := w.store.Favorites(t.Context(), in, user, 100, 0)
			return outcome{len(list), err}
		}},
		"Rearrange": {fault.Forbidden, func(in workspace.ID) outcome {
			err := w.store.Rearrange(t.Context(), in, user, nil, func([]workspace.ViewID, map[workspace.ViewID]bool) []workspace.ViewID { return nil })
			return outcome{0, err}
		}},
	}
	for name, c := range calls {
		got := c.call(w.two.ID)
		wantCode(t, name+" in a foreign workspace", got.err, c.code)
		if got.found > 0 {
			t.Errorf("%s finds %d in a foreign workspace", name, got.found)
		}
		wantCode(t, name+" without a workspace", c.call(workspace.ID{}).err, fault.Internal)
	}
	wantCode(t, "InsertView in a foreign workspace", w.store.InsertView(t.Context(), w.two.ID, fresh(v)), "")
	wantCode(t, "InsertView without a workspace", w.store.InsertView(t.Context(), workspace.ID{}, fresh(v)), fault.Internal)
	after, err := w.views.Get(t.Context(), one, v.ID, user)
	fatal(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the View changed (-before +after):\n%s", diff)
	}
	for _, table := range []string{"views", "view_records", "favorites"} {
		n, err := w.store.CountAll(t.Context(), one, table)
		fatal(t, err)
		if n != 1 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
}

// fresh is a View as new, with another id.
func fresh(v workspace.View) workspace.View {
	v.ID = workspace.ViewID(*uuidOf(5))
	v.CreatedBy, v.UpdatedBy = workspace.UserID{}, workspace.UserID{}
	return v
}
