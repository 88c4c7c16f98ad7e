package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/projection"
	"atlas/workspace/views"
)

func TestMain(m *testing.M) { backends.Main(m) }

// heldRows is *postgres.Store with *postgres.System, or the models of both.
type heldRows interface {
	projection.Rows
	projection.System
	postgres.LeaseStore
	UpsertOverlays(ctx context.Context, in workspace.ID, d catalog.Dataset, changes []book.OverlayUpsert) ([]book.OverlayOutcome, error)
	DeleteOverlays(
		ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion,
	) (map[uuid.UUID]*book.Overlay, error)
	Overlays(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]book.Overlay, error)
	StaticViews(ctx context.Context, in workspace.ID, d catalog.Dataset) ([]views.ID, error)
	newView(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset) error
	addMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error
	removeMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error
	deleteView(ctx context.Context, in workspace.ID, view uuid.UUID) error
	// expireLeases expires all leases.
	expireLeases(ctx context.Context) error
	// age makes stubs, projections and scores older.
	age(ctx context.Context, by time.Duration) error
	// table reads held_records in the order of its key.
	table(ctx context.Context) ([]tableRow, error)
}

// tableRow is the comparable part of a row: its versions only by their order.
type tableRow struct {
	Key                                            key
	Versions                                       string
	Pending, Own, Present, Stub, Lost, ViewDeleted bool
	Digest, Refusal                                string
}

// compareVersions is the order of a row's versions.
func compareVersions(version, projected, attempted int64) string {
	of := func(a, b int64) string { return [...]string{"<", "=", ">"}[max(-1, min(1, a-b))+1] }
	return fmt.Sprintf("projected %s attempted %s version, projected %s version, never projected %v, never attempted %v",
		of(projected, attempted), of(attempted, version), of(projected, version), projected == 0, attempted == 0)
}

// The model of Postgres behaves like Postgres: the same calls, chosen by a seed, have
// the same results and leave the same rows.
func TestRowsConform(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := pgtest.New(t)
			pool, err := pgxpool.New(t.Context(), d.Admin)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			real := &realRows{
				Store: d.OpenApp(t, postgres.Options{MaxConns: 4}), pool: pool,
				realSystem: realSystem{d.OpenSystem(t, postgres.Options{MaxConns: 4})},
			}
			directory := people.NewDirectory(real.System, nil)
			var workspaces []workspace.ID
			for range 2 {
				created, err := directory.CreateWorkspace(t.Context(), "A workspace", workspace.Pro, 0)
				if err != nil {
					t.Fatal(err)
				}
				workspaces = append(workspaces, created.ID)
			}
			slices.SortFunc(workspaces, func(a, b workspace.ID) int { return slices.Compare(a[:], b[:]) })
			model := newModelRows()
			var ran []string
			for n := range 250 {
				// The same choices for both, independent of their answers.
				choices := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) } // #nosec G115 G404 -- to be repeated
				want := step(t, &player{heldRows: real, workspaces: workspaces, state: &real.state}, choices())
				got := step(t, &player{heldRows: model, workspaces: workspaces, state: &model.state}, choices())
				ran = append(ran, strings.SplitN(want, "\n", 2)[0])
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Fatalf("after\n%s\n(-Postgres +model):\n%s", strings.Join(ran, "\n"), diff)
				}
			}
		})
	}
}

// played is what the holders of a player have read and claimed.
type played struct {
	read    map[string][]held.Record
	claimed map[string]map[uuid.UUID]int64
	stubs   []held.Record
	since   int64
}

type player struct {
	heldRows
	workspaces []workspace.ID
	state      *played
}

// step makes one call and returns its result and the rows after it.
func step(t *testing.T, p *player, r *rand.Rand) string {
	t.Helper()
	if p.state.read == nil {
		*p.state = played{read: map[string][]held.Record{}, claimed: map[string]map[uuid.UUID]int64{}}
	}
	result := p.call(t.Context(), r)
	rows, err := p.table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(result)
	for _, row := range rows {
		fmt.Fprintf(&b, "\n%+v", row)
	}
	return b.String()
}

// outcome is a result as text, without the text of errors.
func outcome(what string, err error, values ...any) string {
	if err != nil {
		return what + ": an error"
	}
	return what + ": " + strings.TrimSpace(fmt.Sprintln(values...))
}
