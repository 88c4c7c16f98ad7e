package postgres_test

import (
	"slices"
	"testing"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
)

// asBefore folds the name of a View as the version before did.
func (w *viewing) asBefore(t *testing.T, in workspace.ID, v views.View, name string) {
	t.Helper()
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE views SET name = $3, name_folded = $4 WHERE workspace_id = $1 AND id = $2`,
		in.String(), v.ID.String(), name, catalog.FoldCase(name))
	fatal(t, err)
}

// Names that become equal both remain and are reported; only new ones are refused.
func TestNamesThatBecomeEqual(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	plain := w.create(t, in, "account", "static", "O'Dell")
	curly := w.create(t, in, "account", "static", "Other")
	alone := w.create(t, in, "contact", "static", "Alone")
	w.asBefore(t, in, curly, "O’Dell")
	w.asBefore(t, in, alone, "O’Dell")

	// A new equal name is refused even before the names are refolded.
	taken := `{"dataset":"account","view_type":"static","name":"O‘Dell"}`
	_, err := w.upsert(t, in, workspace.UserID{}, taken)
	wantCode(t, "a name that is equal by the new folding", err, fault.ViewNameConflict)
	_, err = w.upsert(t, in, workspace.UserID{}, `{"dataset":"contact","view_type":"static","name":"O'Dell"}`)
	wantCode(t, "a name that is equal to one that is not folded yet", err, fault.ViewNameConflict)

	for range 2 { // a job is done at least once
		equal, err := w.system.RefoldNames(t.Context(), in)
		fatal(t, err)
		want := []postgres.EqualNames{{Dataset: catalog.Accounts, Views: []views.ID{plain.ID, curly.ID}}}
		if len(equal) != 1 || equal[0].Dataset != want[0].Dataset || !slices.Equal(equal[0].Views, want[0].Views) {
			t.Errorf("%+v, want %+v", equal, want)
		}
	}
	found, err := w.views.List(t.Context(), in, views.Filter{Name: "o’dell", Limit: 10})
	fatal(t, err)
	if len(found) != 3 {
		t.Errorf("%d Views are found, want 3: %+v", len(found), found)
	}
	for _, v := range found {
		if v.Name != "O'Dell" && v.Name != "O’Dell" {
			t.Errorf("the name became %q", v.Name)
		}
	}
	_, err = w.upsert(t, in, workspace.UserID{}, taken)
	wantCode(t, "the name of both", err, fault.ViewNameConflict)
	// Either may change, and keep its name or its spelling.
	for _, v := range []views.View{plain, curly} {
		_, err = w.upsert(t, in, workspace.UserID{}, `{"id":"`+v.ID.String()+`","presentation":{"version":1,"sorting":[],"column_visibility":{"b":true}}}`)
		fatal(t, err)
		_, err = w.upsert(t, in, workspace.UserID{}, `{"id":"`+v.ID.String()+`","name":"O′DELL"}`)
		fatal(t, err)
	}
	other := w.create(t, in, "account", "static", "Third")
	_, err = w.upsert(t, in, workspace.UserID{}, `{"id":"`+other.ID.String()+`","name":"o'dell"}`)
	wantCode(t, "renamed to the name of both", err, fault.ViewNameConflict)
	// After the first is deleted the second still has the name.
	fatal(t, w.views.Delete(t.Context(), in, plain.ID))
	_, err = w.upsert(t, in, workspace.UserID{}, taken)
	wantCode(t, "the name of the one that is left", err, fault.ViewNameConflict)
	fatal(t, w.views.Delete(t.Context(), in, curly.ID))
	_, err = w.upsert(t, in, workspace.UserID{}, taken)
	wantCode(t, "the name of nobody", err, "")

	// Another workspace is left alone.
	foreign := w.create(t, w.two.ID, "account", "static", "X")
	w.asBefore(t, w.two.ID, foreign, "X–Y")
	_, err = w.system.RefoldNames(t.Context(), in)
	fatal(t, err)
	if found, err := w.views.List(t.Context(), w.two.ID, views.Filter{Name: "x-y", Limit: 10}); err != nil || len(found) != 0 {
		t.Errorf("%v %+v", err, found)
	}
	if _, err := w.system.RefoldNames(t.Context(), workspace.ID{}); err == nil {
		t.Error("no workspace is taken")
	}
}
