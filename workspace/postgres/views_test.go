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
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/views"
)

// viewing is a world with Views and Favorites.
type viewing struct {
	*peopleFixture
	views     *views.Views
	favorites *views.Favorites
}

func newViewing(t *testing.T) *viewing {
	t.Helper()
	p := newPeople(t)
	return &viewing{p, views.NewViews(p.store, func() time.Time { return p.now }), views.NewFavorites(p.store)}
}

// upsert parses and applies the body of an upsert.
func (w *viewing) upsert(t *testing.T, in workspace.ID, author workspace.UserID, body string) (views.View, error) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	fatal(t, input.Issues(issues).Err())
	change, err := views.ParseChange(v)
	fatal(t, err)
	return w.views.Upsert(t.Context(), in, author, change)
}

func (w *viewing) create(t *testing.T, in workspace.ID, dataset, kind, name string) views.View {
	t.Helper()
	definition := ""
	if kind == "dynamic" {
		definition = `,"definition":{"version":1,"q":"x","fields":{}}`
	}
	v, err := w.upsert(t, in, workspace.UserID{}, fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%q%s}`, dataset, kind, name, definition))
	fatal(t, err)
	return v
}

func TestViewsAreStored(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, author, other := w.one.ID, w.members[w.one.ID][0].ID, w.members[w.one.ID][1].ID
	created, err := w.upsert(t, in, author, `{"dataset":"project","view_type":"dynamic","name":" Big Ones ",
		"definition":{"version":1,"q":" tower ","fields":{"city":["Calgary"],"cost":{"min":"0100"}}},
		"presentation":{"version":1,"sorting":[{"id":"cost","desc":true}],"column_visibility":{"b":true,"a":false}}}`)
	fatal(t, err)
	get := func() views.View {
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
	update := func(by workspace.UserID, format string, args ...any) (views.View, error) {
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
	_, err := w.favorites.UpsertAll(t.Context(), in, user, []views.FavoriteChange{{View: c.ID}, {View: b.ID}})
	fatal(t, err)
	foreign := w.create(t, w.two.ID, "account", "static", "foreign")
	for _, v := range []views.View{a, foreign} {
		w.add(t, v, []views.Candidate{{Record: *uuidOf(1), Linked: true}})
	}
	w.add(t, c, []views.Candidate{{Record: *uuidOf(1), Linked: true}, {Record: *uuidOf(2), Linked: true}})
	for name, f := range map[string]struct {
		filter views.Filter
		want   []views.View
	}{
		"with a record":       {views.Filter{Record: uuidOf(1)}, []views.View{a, c}},
		"and of a dataset":    {views.Filter{Record: uuidOf(1), Dataset: catalog.Accounts}, []views.View{a}},
		"with another record": {views.Filter{Record: uuidOf(2)}, []views.View{c}},
		"with no such record": {views.Filter{Record: uuidOf(3)}, nil},
		"all by folded name":  {views.Filter{}, []views.View{d, a, c, b}},
		"a page":              {views.Filter{Limit: 2, Offset: 1}, []views.View{a, c}},
		"past the end":        {views.Filter{Offset: 4}, nil},
		"a part of the name":  {views.Filter{Name: "ÁL"}, []views.View{a}},
		"no wildcard":         {views.Filter{Name: "%"}, []views.View{c}},
		"no wildcard either":  {views.Filter{Name: "_"}, []views.View{d}},
		"by dataset":          {views.Filter{Dataset: catalog.Accounts}, []views.View{a, b}},
		"by type":             {views.Filter{Type: views.Static}, []views.View{a, c}},
		"by id":               {views.Filter{ID: &d.ID}, []views.View{d}},
		"favorites by name":   {views.Filter{Favorites: true, Viewer: user}, []views.View{c, b}},
		"nobody's favorites":  {views.Filter{Favorites: true}, nil},
		"an unknown id":       {views.Filter{ID: (*views.ID)(uuidOf(99))}, nil},
		"id of another type":  {views.Filter{ID: &d.ID, Type: views.Static}, nil},
		"everything together": {views.Filter{Favorites: true, Viewer: user, Dataset: catalog.Contacts, Name: "mil"}, []views.View{c}},
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
	seen, err := w.views.List(t.Context(), in, views.Filter{Viewer: user, Limit: 100})
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

func names(views []views.View) (all []string) {
	for _, v := range views {
		all = append(all, v.Name)
	}
	return all
}

func uuidOf(n int) *uuid.UUID {
	u := uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	return &u
}

// atOnce runs all concurrently and counts their codes.
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
	var all []views.View
	for i := range 10 {
		all = append(all, w.create(t, in, "account", "static", fmt.Sprintf("v%d", i)))
	}
	at := func(i, position int) views.FavoriteChange {
		return views.FavoriteChange{View: all[i].ID, Position: &position}
	}
	v, err := w.favorites.Upsert(t.Context(), in, user, at(3, 5))
	fatal(t, err)
	if v.ID != all[3].ID || v.Position == nil || *v.Position != 0 {
		t.Errorf("the first favorite: %+v", v)
	}
	_, err = w.favorites.Upsert(t.Context(), in, user, views.FavoriteChange{View: views.ID(*uuidOf(1))})
	wantCode(t, "an unknown View", err, fault.ViewNotFound)
	foreign := w.create(t, w.two.ID, "account", "static", "x")
	_, err = w.favorites.Upsert(t.Context(), in, user, views.FavoriteChange{View: foreign.ID})
	wantCode(t, "a foreign View", err, fault.ViewNotFound)
	_, err = w.favorites.Upsert(t.Context(), in, w.members[w.two.ID][0].ID, at(1, 0))
	wantCode(t, "a stranger", err, fault.Forbidden)

	// Fifty reorders by one user while their Views are deleted.
	var racing []func() error
	for n := range 50 {
		racing = append(racing, func() error {
			if n%2 == 0 {
				_, err := w.favorites.Upsert(context.Background(), in, user, at(n%8, n%5))
				return err
			}
			_, err := w.favorites.UpsertAll(context.Background(), in, user, []views.FavoriteChange{
				at(n%8, n%3), at((n+1)%8, 0), {View: all[n%10].ID},
			})
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
	seen := map[views.ID]bool{}
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
	fatal(t, w.favorites.Delete(t.Context(), in, user, list[0].ID, list[0].ID, views.ID(*uuidOf(1))))
	rest, err := w.favorites.List(t.Context(), in, user, 100, 0)
	fatal(t, err)
	if diff := cmp.Diff(names(list[1:]), names(rest)); diff != "" || *rest[0].Position != 0 {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
	if n, err := w.favorites.List(t.Context(), in, other, 100, 0); err != nil || len(n) > 1 {
		t.Errorf("another user has %d favorites, %v", len(n), err)
	}
}

// TestViewsOfAnotherWorkspace calls every method with another workspace, and with none.
func TestViewsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	one, user := w.one.ID, w.members[w.one.ID][0].ID
	v := w.create(t, one, "account", "static", "v")
	w.add(t, v, linked(1))
	_, err := w.favorites.Upsert(t.Context(), one, user, views.FavoriteChange{View: v.ID})
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
			list, err := w.store.Views(t.Context(), in, views.Filter{Viewer: user, Limit: 100})
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
		"UpdateView": {fault.ViewNotFound, func(in workspace.ID) outcome {
			_, err := w.store.UpdateView(t.Context(), in, v.ID, user, func(v views.View) (views.View, error) {
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
			found, err := w.store.UpdateFavorites(
				t.Context(), in, user, []views.ID{v.ID}, func([]views.ID, map[views.ID]bool) []views.ID { return nil },
			)
			return outcome{len(found), err}
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
	wantCode(t, "InsertView in a foreign workspace", w.store.InsertView(t.Context(), w.two.ID, fresh(v), 10), "")
	wantCode(t, "InsertView without a workspace", w.store.InsertView(t.Context(), workspace.ID{}, fresh(v), 10), fault.Internal)
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

// fresh is a copy of a View with another id.
func fresh(v views.View) views.View {
	v.ID = views.ID(*uuidOf(5))
	v.CreatedBy, v.UpdatedBy = workspace.UserID{}, workspace.UserID{}
	return v
}
