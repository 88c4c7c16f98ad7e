package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
)

func projectsGeneration(name string) held.Generation {
	return held.Generation{Dataset: catalog.Projects, Generation: name, IndexUUID: "of " + name}
}

// newGeneration returns a generation of held projects with one pending record.
func newGeneration(t *testing.T) (b *books, in workspace.ID, record uuid.UUID) {
	t.Helper()
	b, record = newBooks(t), uuid.New()
	fatal(t, b.system.ReplaceGenerations(t.Context(), projectsGeneration("first")))
	b.upsert(t, b.one.ID, catalog.Projects, record, "kept")
	return b, b.one.ID, record
}

// lostGeneration is newGeneration after its record was projected and its index was
// lost and replaced. The rows are not marked yet.
func lostGeneration(t *testing.T) (b *books, in workspace.ID, record uuid.UUID, second held.Generation) {
	t.Helper()
	b, in, record = newGeneration(t)
	b.finish(t, in, b.claimed(t, in, "first"), "x")
	second = projectsGeneration("second")
	fatal(t, b.system.ReplaceGenerations(t.Context(), second))
	return b, in, record, second
}

// A version taken by a claim may be above the one that RegisterGeneration returned
// before. Then the claim returns the registered generation.
func TestClaimNamesAGenerationRegisteredSinceReading(t *testing.T) {
	t.Parallel()
	b, in, record := newGeneration(t)
	b.claimed(t, in, "never acknowledged")
	pending := b.pending(t, in, "second")
	since, err := b.system.RegisterGeneration(t.Context(), projectsGeneration("of the rebuild"))
	fatal(t, err)
	claim, err := b.store.ClaimHeld(t.Context(), in, "second", time.Minute, pending.Records)
	fatal(t, err)
	if claim.Versions[record] <= since {
		t.Fatalf("the version %d was taken before %d", claim.Versions[record], since)
	}
	if len(claim.Generations) != 2 {
		t.Errorf("to be written to: %+v", claim.Generations)
	}
}

// A claim between the read and the update of MarkLost does not clear the mark: its
// document goes to the lost index.
func TestMarkLostIsAboveAClaimItWaitedFor(t *testing.T) {
	t.Parallel()
	b, in, record, second := lostGeneration(t)
	fatal(t, b.system.BumpDataset(t.Context(), catalog.Projects, true))
	claiming, err := b.system.Pool().Begin(t.Context())
	fatal(t, err)
	_, err = claiming.Exec(t.Context(), `SELECT FROM held_records WHERE record_id = $1 FOR UPDATE`, record)
	fatal(t, err)
	marked := make(chan error, 1)
	go func() { marked <- b.system.MarkLost(t.Context(), second) }()
	fatal(t, b.waitForBlocked(t.Context()))
	claimed := held.Record{Dataset: catalog.Projects, Record: record, Overlay: &book.Overlay{}}
	fatal(t, claiming.QueryRow(t.Context(), `
		UPDATE held_records SET digest = NULL, version = n.v, attempted_version = n.v
		FROM (SELECT nextval('held_version') AS v) n WHERE record_id = $1 RETURNING version`, record).Scan(&claimed.Version))
	fatal(t, claiming.Commit(t.Context()))
	fatal(t, <-marked)
	b.finish(t, in, claimed, "in the lost index")
	f, err := b.store.HeldFreshness(t.Context(), in, catalog.Projects)
	fatal(t, err)
	if !f.Filling {
		t.Errorf("the workspace is taken for whole: %+v", f)
	}
	b.finish(t, in, b.claimed(t, in, "third"), "in the new index")
	if f, err = b.store.HeldFreshness(t.Context(), in, catalog.Projects); err != nil || f.Filling {
		t.Errorf("it is there: %+v, %v", f, err)
	}
}

// A server of the previous release finishes rows without clearing marks. Such marks
// do not count.
func TestMarksOfRowsThatAnOlderServerFinished(t *testing.T) {
	t.Parallel()
	b, in, _, second := lostGeneration(t)
	fatal(t, b.system.MarkLost(t.Context(), second))
	if f, err := b.store.HeldFreshness(t.Context(), in, catalog.Projects); err != nil || !f.Filling {
		t.Errorf("before: %+v, %v", f, err)
	}
	_, err := b.system.Pool().Exec(t.Context(), `
		UPDATE held_records SET projected_version = version, view_deleted_version = version, own_change = false, digest = 'x', projected_at = clock_timestamp()`)
	fatal(t, err)
	f, err := b.store.HeldFreshness(t.Context(), in, catalog.Projects)
	fatal(t, err)
	filling, err := b.system.Filling(t.Context())
	fatal(t, err)
	status, err := b.system.HeldStatus(t.Context())
	fatal(t, err)
	if f.Filling || f.ViewDeleted || len(filling) > 0 || status.Lost > 0 {
		t.Errorf("%+v, filling %v, %d lost", f, filling, status.Lost)
	}
}
