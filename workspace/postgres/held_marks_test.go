package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
	"atlas/workspace"
)

func projectsGeneration(name string) workspace.HeldGeneration {
	return workspace.HeldGeneration{Dataset: query.Projects, Generation: name, IndexUUID: "of " + name}
}

// A version that is taken while claiming may be above the one from which on a
// rebuild takes rows to be in its generation: then the claim names that one.
func TestClaimNamesAGenerationRegisteredSinceReading(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	fatal(t, b.system.ReplaceGenerations(t.Context(), projectsGeneration("first")))
	b.upsert(t, in, query.Projects, record, "kept")
	b.claimed(t, in, "never acknowledged")
	_, err := b.system.Pool().Exec(t.Context(), `UPDATE projectors SET deadline = NULL`)
	fatal(t, err)
	records, _, _, err := b.store.PendingHeld(t.Context(), in, "second", time.Minute, false, 10)
	fatal(t, err)
	since, err := b.system.RegisterGeneration(t.Context(), projectsGeneration("of the rebuild"))
	fatal(t, err)
	versions, generations, _, err := b.store.ClaimHeld(t.Context(), in, "second", time.Minute, records)
	fatal(t, err)
	if versions[record] <= since {
		t.Fatalf("the version %d was taken before %d", versions[record], since)
	}
	if len(generations) != 2 {
		t.Errorf("to be written to: %+v", generations)
	}
}

// A claim that comes between the reading of a row and its being marked as lost
// does not unmark it: its document goes to the index that was lost.
func TestMarkLostIsAboveAClaimItWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	fatal(t, b.system.ReplaceGenerations(t.Context(), projectsGeneration("first")))
	b.upsert(t, in, query.Projects, record, "kept")
	b.finish(t, in, b.claimed(t, in, "first"), "x")
	fatal(t, b.system.BumpDataset(t.Context(), query.Projects, true))
	second := projectsGeneration("second")
	fatal(t, b.system.ReplaceGenerations(t.Context(), second))
	claiming, err := b.system.Pool().Begin(t.Context())
	fatal(t, err)
	_, err = claiming.Exec(t.Context(), `SELECT FROM held_records WHERE record_id = $1 FOR UPDATE`, record)
	fatal(t, err)
	marked := make(chan error, 1)
	go func() { marked <- b.system.MarkLost(t.Context(), second) }()
	for waiting := 0; waiting == 0; {
		fatal(t, b.system.Pool().QueryRow(t.Context(), `
			SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()`).Scan(&waiting))
	}
	claimed := workspace.HeldRecord{Dataset: query.Projects, Record: record, Overlay: &workspace.Overlay{}}
	fatal(t, claiming.QueryRow(t.Context(), `
		UPDATE held_records SET digest = NULL, version = n.v, attempted_version = n.v
		FROM (SELECT nextval('held_version') AS v) n WHERE record_id = $1 RETURNING version`, record).Scan(&claimed.Version))
	fatal(t, claiming.Commit(t.Context()))
	fatal(t, <-marked)
	b.finish(t, in, claimed, "in the lost index")
	f, err := b.store.HeldFreshness(t.Context(), in, query.Projects)
	fatal(t, err)
	if !f.Filling {
		t.Errorf("the workspace is taken for whole: %+v", f)
	}
	b.finish(t, in, b.claimed(t, in, "third"), "in the new index")
	if f, err = b.store.HeldFreshness(t.Context(), in, query.Projects); err != nil || f.Filling {
		t.Errorf("it is there: %+v, %v", f, err)
	}
}

// A server of the version before finishes rows without knowing of marks: they do
// not stay for good.
func TestMarksOfRowsThatAnOlderServerFinished(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	fatal(t, b.system.ReplaceGenerations(t.Context(), projectsGeneration("first")))
	b.upsert(t, in, query.Projects, record, "kept")
	b.finish(t, in, b.claimed(t, in, "first"), "x")
	second := projectsGeneration("second")
	fatal(t, b.system.ReplaceGenerations(t.Context(), second))
	fatal(t, b.system.MarkLost(t.Context(), second))
	if f, err := b.store.HeldFreshness(t.Context(), in, query.Projects); err != nil || !f.Filling {
		t.Errorf("before: %+v, %v", f, err)
	}
	_, err := b.system.Pool().Exec(t.Context(), `
		UPDATE held_records SET projected_version = version, view_deleted_version = version, own_change = false, digest = 'x', projected_at = clock_timestamp()`)
	fatal(t, err)
	f, err := b.store.HeldFreshness(t.Context(), in, query.Projects)
	fatal(t, err)
	filling, err := b.system.Filling(t.Context())
	fatal(t, err)
	status, err := b.system.HeldStatus(t.Context())
	fatal(t, err)
	if f.Filling || f.ViewDeleted || len(filling) > 0 || status.Lost > 0 {
		t.Errorf("%+v, filling %v, %d lost", f, filling, status.Lost)
	}
}
