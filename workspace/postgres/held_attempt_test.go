package postgres_test

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/held"
)

// heldRow is the part of a row that the tests check.
type heldRow struct {
	Version, Projected int64
	Digest             []byte
	Stub               bool
}

func (b *books) held(t *testing.T, record uuid.UUID) (r heldRow) {
	t.Helper()
	fatal(t, b.system.Pool().QueryRow(t.Context(), `SELECT version, projected_version, digest, stub_since IS NOT NULL FROM held_records WHERE record_id = $1`,
		record).Scan(&r.Version, &r.Projected, &r.Digest, &r.Stub))
	return r
}

// pending ends the lease of the previous holder and reads the one pending record of
// the workspace.
func (b *books) pending(t *testing.T, in workspace.ID, holder string) held.Pending {
	t.Helper()
	_, err := b.system.Pool().Exec(t.Context(), `UPDATE projectors SET deadline = NULL`)
	fatal(t, err)
	pending, err := b.store.PendingHeld(t.Context(), in, holder, time.Minute, false, 10)
	fatal(t, err)
	if !pending.Leased || len(pending.Records) != 1 {
		t.Fatalf("%+v", pending)
	}
	return pending
}

// claimed reads the one pending record of the workspace and claims it.
func (b *books) claimed(t *testing.T, in workspace.ID, holder string) held.Record {
	t.Helper()
	pending := b.pending(t, in, holder)
	claim, err := b.store.ClaimHeld(t.Context(), in, holder, time.Minute, pending.Records)
	fatal(t, err)
	if !claim.Leased {
		t.Fatal("the lease is lost")
	}
	record := pending.Records[0]
	record.Version = claim.Versions[record.Record]
	return record
}

func (b *books) finish(t *testing.T, in workspace.ID, r held.Record, digest string) {
	t.Helper()
	err := b.store.FinishHeld(t.Context(), in, held.Finish{Written: true, Results: []held.ProjectionResult{{
		Dataset: r.Dataset, Record: r.Record, Version: r.Version, Digest: []byte(digest), Present: true, Unheld: r.Overlay == nil, Written: true,
	}}})
	fatal(t, err)
}

// A document that was sent and not acknowledged may still arrive, so the next one
// has a higher version. A late result of the first sender changes nothing.
func TestUnconfirmedAttemptTakesANewVersion(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "kept")
	first := b.claimed(t, in, "first")
	if first.Version != b.version(t, record) {
		t.Errorf("the first attempt has the version %d of %d", first.Version, b.version(t, record))
	}
	second := b.claimed(t, in, "second")
	if second.Version <= first.Version || second.Version != b.version(t, record) {
		t.Errorf("the second attempt has the version %d after %d, the row %d", second.Version, first.Version, b.version(t, record))
	}
	b.finish(t, in, first, "of the first")
	if got := b.held(t, record); got.Projected != first.Version || got.Digest != nil {
		t.Errorf("after the first: %+v", got)
	}
	b.finish(t, in, second, "of the second")
	b.finish(t, in, first, "late")
	if got := b.held(t, record); got.Projected != second.Version || string(got.Digest) != "of the second" {
		t.Errorf("after both: %+v", got)
	}
	// A document that was not sent must have the digest of the row.
	unsent := held.ProjectionResult{
		Dataset: catalog.Projects, Record: record, Version: second.Version, Digest: []byte("another"), Present: false,
	}
	err := b.store.FinishHeld(t.Context(), in, held.Finish{Results: []held.ProjectionResult{unsent}})
	fatal(t, err)
	if got := b.held(t, record); string(got.Digest) != "of the second" {
		t.Errorf("after one that was not sent: %+v", got)
	}
}

// A row that changes between reading and claiming is sent with the version that was
// read: a search may wait for it.
func TestClaimOfAChangedRowKeepsItsVersion(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "first")
	pending, err := b.store.PendingHeld(t.Context(), in, "holder", time.Minute, true, 10)
	fatal(t, err)
	b.upsert(t, in, catalog.Projects, record, "second")
	claim, err := b.store.ClaimHeld(t.Context(), in, "holder", time.Minute, pending.Records)
	fatal(t, err)
	read := pending.Records[0].Version
	if !claim.Leased || claim.Versions[record] != read || b.version(t, record) <= read {
		t.Errorf("%+v of %d, the row %d", claim, read, b.version(t, record))
	}
}

// A rewritten stub is not purged before its time: an earlier attempt to write it can still
// arrive.
func TestRewrittenStubRemains(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "held")
	b.finish(t, in, b.claimed(t, in, "holder"), "held")
	fatal(t, takeOut(t.Context(), b.store, in, catalog.Projects, []uuid.UUID{record}))
	b.finish(t, in, b.claimed(t, in, "holder"), "the stub")
	_, err := b.system.Pool().Exec(t.Context(), `UPDATE held_records SET stub_since = clock_timestamp() - interval '2 hours' WHERE record_id = $1`, record)
	fatal(t, err)
	wantStubs := func(when string, want int) {
		t.Helper()
		stubs, err := b.store.ClaimStubs(t.Context(), in, time.Hour, 10)
		fatal(t, err)
		if len(stubs) != want {
			t.Errorf("%s: %d stubs are purged, want %d", when, len(stubs), want)
		}
	}
	wantStubs("two hours later", 1)
	fatal(t, b.store.BumpHeld(t.Context(), in, catalog.Projects, []uuid.UUID{record}))
	b.finish(t, in, b.claimed(t, in, "holder"), "the stub")
	wantStubs("written again", 0)
}

// A late result of a slow projector, from when the record was held, does not keep
// its stub forever.
func TestLateFinishLeavesTheStub(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "held")
	slow := b.claimed(t, in, "slow")
	fatal(t, takeOut(t.Context(), b.store, in, catalog.Projects, []uuid.UUID{record}))
	stub := b.claimed(t, in, "another")
	b.finish(t, in, stub, "the stub")
	b.finish(t, in, slow, "late")
	if got := b.held(t, record); !got.Stub || string(got.Digest) != "the stub" {
		t.Errorf("%+v", got)
	}
}

// Advancing the sequence never yields a version twice, even while other sessions
// take versions.
func TestAdvanceVersions(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx := t.Context()
	var taking sync.WaitGroup
	var lock sync.Mutex
	taken := map[int64]bool{}
	done := make(chan struct{})
	for range 3 {
		taking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var v int64
				if err := b.system.Pool().QueryRow(ctx, `SELECT nextval('held_version')`).Scan(&v); err != nil {
					t.Error(err)
					return
				}
				lock.Lock()
				if taken[v] {
					t.Errorf("the version %d was taken twice", v)
				}
				taken[v] = true
				lock.Unlock()
			}
		})
	}
	var last int64
	for range 50 {
		fatal(t, b.system.Pool().QueryRow(ctx, `SELECT last_value FROM held_version`).Scan(&last))
		fatal(t, b.system.AdvanceVersions(ctx, last+2)) // few, so that the other sessions often overtake it
	}
	close(done)
	taking.Wait()
	const far = 1_500_000
	fatal(t, b.system.AdvanceVersions(ctx, last+far))
	var next int64
	fatal(t, b.system.Pool().QueryRow(ctx, `SELECT nextval('held_version')`).Scan(&next))
	if next <= last+far {
		t.Errorf("after %d comes %d", last+far, next)
	}
}

// Migrations do not block writes: an index on an existing table is created
// concurrently.
func TestMigrationsDoNotBlockWrites(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("migrations"), "*.sql")
	fatal(t, err)
	table := regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	index := regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?[^;]*?\sON (\w+)`)
	for _, name := range files {
		raw, err := os.ReadFile("migrations/" + name)
		fatal(t, err)
		sql := string(raw)
		made := map[string]bool{}
		for _, m := range table.FindAllStringSubmatch(sql, -1) {
			made[m[1]] = true
		}
		for _, m := range index.FindAllStringSubmatch(sql, -1) {
			if concurrently := m[1] != ""; !made[m[2]] && !concurrently {
				t.Errorf("%s makes an index on %s that blocks writes to it", name, m[2])
			} else if concurrently && !strings.Contains(sql, "+goose NO TRANSACTION") {
				t.Errorf("%s makes an index concurrently, and is a transaction", name)
			}
		}
	}
}

// PendingWorkspaces leaves out the excepted workspaces.
func TestPendingWorkspacesButForSome(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.upsert(t, b.one.ID, catalog.Projects, uuid.New(), "x")
	b.upsert(t, b.two.ID, catalog.Projects, uuid.New(), "y")
	for _, c := range []struct {
		except []workspace.ID
		want   []workspace.ID
	}{
		{nil, []workspace.ID{b.one.ID}},
		{[]workspace.ID{b.one.ID}, []workspace.ID{b.two.ID}},
		{[]workspace.ID{b.one.ID, b.two.ID}, nil},
	} {
		got, err := b.system.PendingWorkspaces(context.WithoutCancel(t.Context()), c.except, 1)
		fatal(t, err)
		if len(got) != len(c.want) || len(got) == 1 && got[0] != c.want[0] {
			t.Errorf("without %v: %v, want %v", c.except, got, c.want)
		}
	}
}

// The lease of a crashed holder does not block others for hours when the clock was
// set back.
func TestLeasesOfAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.upsert(t, b.one.ID, catalog.Projects, uuid.New(), "x")
	b.claimed(t, b.one.ID, "crashed")
	ok, err := b.system.AcquireLease(t.Context(), "loads", "crashed", time.Minute)
	fatal(t, err)
	if !ok {
		t.Fatal("the lease is not free")
	}
	_, err = b.system.Pool().Exec(t.Context(), `UPDATE projectors SET deadline = deadline + interval '1 hour'`)
	fatal(t, err)
	_, err = b.system.Pool().Exec(t.Context(), `UPDATE leases SET deadline = deadline + interval '1 hour'`)
	fatal(t, err)
	if pending, err := b.store.PendingHeld(t.Context(), b.one.ID, "another", time.Minute, false, 1); !pending.Leased || err != nil {
		t.Errorf("the projector's lease: %+v, %v", pending, err)
	}
	if ok, err = b.system.AcquireLease(t.Context(), "loads", "another", time.Minute); !ok || err != nil {
		t.Errorf("the lease: %v, %v", ok, err)
	}
}
