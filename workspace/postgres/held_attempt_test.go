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

	"atlas/search/query"
	"atlas/workspace"
)

// heldRow is what the tests look at.
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

// claimed reads what is pending of the workspace as holder does, one record, and
// claims it. The lease of the one before is over.
func (b *books) claimed(t *testing.T, in workspace.ID, holder string) workspace.HeldRecord {
	t.Helper()
	_, err := b.system.Pool().Exec(t.Context(), `UPDATE projectors SET deadline = NULL`)
	fatal(t, err)
	records, _, ok, err := b.store.PendingHeld(t.Context(), in, holder, time.Minute, false, 10)
	fatal(t, err)
	if !ok || len(records) != 1 {
		t.Fatalf("%v, %v", ok, records)
	}
	versions, _, ok, err := b.store.ClaimHeld(t.Context(), in, holder, time.Minute, records)
	fatal(t, err)
	if !ok {
		t.Fatal("the lease is lost")
	}
	records[0].Version = versions[records[0].Record]
	return records[0]
}

func (b *books) finish(t *testing.T, in workspace.ID, r workspace.HeldRecord, digest string) {
	t.Helper()
	fatal(t, b.store.FinishHeld(t.Context(), in, []workspace.ProjectionResult{{
		Dataset: r.Dataset, Record: r.Record, Version: r.Version, Digest: []byte(digest), Present: true, Unheld: r.Overlay == nil, Written: true,
	}}, true))
}

// A document that was sent and not acknowledged may still arrive: what is sent
// next has a higher version. What the first sender says late changes nothing.
func TestUnconfirmedAttemptTakesANewVersion(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, query.Projects, record, "kept")
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
	// A document that was not sent must be the one that is there still.
	unsent := workspace.ProjectionResult{Dataset: query.Projects, Record: record, Version: second.Version, Digest: []byte("another"), Present: false}
	fatal(t, b.store.FinishHeld(t.Context(), in, []workspace.ProjectionResult{unsent}, false))
	if got := b.held(t, record); string(got.Digest) != "of the second" {
		t.Errorf("after one that was not sent: %+v", got)
	}
}

// A row that changes between reading and claiming is sent as it was read: a
// search may wait for that.
func TestClaimOfAChangedRowKeepsItsVersion(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, query.Projects, record, "first")
	records, _, _, err := b.store.PendingHeld(t.Context(), in, "holder", time.Minute, true, 10)
	fatal(t, err)
	b.upsert(t, in, query.Projects, record, "second")
	versions, _, ok, err := b.store.ClaimHeld(t.Context(), in, "holder", time.Minute, records)
	fatal(t, err)
	if !ok || versions[record] != records[0].Version || b.version(t, record) <= records[0].Version {
		t.Errorf("%v, claimed %v of %v, the row %d", ok, versions, records[0].Version, b.version(t, record))
	}
}

// What a slow projector says late of a record that was held then does not make
// its stub stay for ever.
func TestLateFinishLeavesTheStub(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in, record := b.one.ID, uuid.New()
	b.upsert(t, in, query.Projects, record, "held")
	slow := b.claimed(t, in, "slow")
	fatal(t, b.store.DeleteOverlays(t.Context(), in, query.Projects, []uuid.UUID{record}))
	stub := b.claimed(t, in, "another")
	b.finish(t, in, stub, "the stub")
	b.finish(t, in, slow, "late")
	if got := b.held(t, record); !got.Stub || string(got.Digest) != "the stub" {
		t.Errorf("%+v", got)
	}
}

// Versions are moved on without ever giving one twice, whoever takes some
// meanwhile.
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
		fatal(t, b.system.AdvanceVersions(ctx, last+2)) // a few, so that the others are ahead of it often
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

// Servers go on writing while a migration runs: an index on a table that an
// earlier migration made is made concurrently.
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

// Who cannot be projected is left out when asked for, so that others come.
func TestPendingWorkspacesButForSome(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.upsert(t, b.one.ID, query.Projects, uuid.New(), "x")
	b.upsert(t, b.two.ID, query.Projects, uuid.New(), "y")
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

// A clock that was set back while somebody had a lease, and crashed with it, does
// not keep others out for as long as it jumped.
func TestLeasesOfAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.upsert(t, b.one.ID, query.Projects, uuid.New(), "x")
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
	if _, _, ok, err = b.store.PendingHeld(t.Context(), b.one.ID, "another", time.Minute, false, 1); !ok || err != nil {
		t.Errorf("the projector's lease: %v, %v", ok, err)
	}
	if ok, err = b.system.AcquireLease(t.Context(), "loads", "another", time.Minute); !ok || err != nil {
		t.Errorf("the lease: %v, %v", ok, err)
	}
}
