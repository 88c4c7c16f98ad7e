package postgres_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"atlas/internal/devstack/backends"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) {
	backends.Prepare()
	goleak.VerifyTestMain(m)
}

// world is a database with two Pro workspaces, two members each and a key.
type world struct {
	app       *postgres.Store
	system    *postgres.System
	directory *people.Directory
	one, two  workspace.Workspace
	members   map[workspace.ID][]people.Member
	databases *pgtest.Databases
	keyOf     map[workspace.ID]workspace.Key
	tokenOf   map[workspace.ID]string
	now       time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d := pgtest.New(t)
	// With one connection, each statement sees what earlier ones left on it.
	app := d.OpenApp(t, postgres.Options{MaxConns: 1})
	system := d.OpenSystem(t, postgres.Options{MaxConns: 4})
	w := &world{
		app: app, system: system, databases: d,
		members: map[workspace.ID][]people.Member{},
		keyOf:   map[workspace.ID]workspace.Key{},
		tokenOf: map[workspace.ID]string{},
		now:     time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC),
	}
	w.directory = people.NewDirectory(system, func() time.Time { return w.now })
	w.one = w.pro(t, "One")
	w.two = w.pro(t, "Two")
	return w
}

func (w *world) pro(t *testing.T, name string) workspace.Workspace {
	t.Helper()
	ctx := t.Context()
	ws, err := w.directory.CreateWorkspace(ctx, name, workspace.Pro, 0)
	fatal(t, err)
	for _, m := range []people.Member{
		{Email: "Member@" + name + ".example", Name: "Mia", Role: people.MemberRole},
		{Email: "owner@" + name + ".example", Name: "Olga", Role: people.Owner},
	} {
		added, err := w.directory.AddMember(ctx, ws.ID, m)
		fatal(t, err)
		w.members[ws.ID] = append([]people.Member{added}, w.members[ws.ID]...)
	}
	key, token, err := w.directory.CreateKey(ctx, people.NewKey{Name: "key of " + name, Workspaces: []workspace.ID{ws.ID}})
	fatal(t, err)
	w.keyOf[ws.ID], w.tokenOf[ws.ID] = key, token
	return ws
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
