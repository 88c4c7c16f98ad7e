package postgres_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

// sealAll chains all events. Transactions of other tests delay it.
func (w *world) sealAll(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		w.seal(t)
		var left int
		if fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM audit_events WHERE number IS NULL`).Scan(&left)); left == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d events are not chained", left)
		}
	}
}

// seal chains the events that can be chained now.
func (w *world) seal(t *testing.T) {
	t.Helper()
	for n := 7; n == 7; {
		var err error
		n, err = w.system.SealEvents(t.Context(), 7, w.now)
		fatal(t, err)
	}
}

func (w *world) chain(t *testing.T, in workspace.ID) []auditlog.Event {
	t.Helper()
	all, err := w.system.ChainedEvents(t.Context(), in, 0, 10_000)
	fatal(t, err)
	return all
}

func (w *world) verify(t *testing.T, in workspace.ID, since *auditlog.Digest) auditlog.Report {
	t.Helper()
	r, err := auditlog.Verify(t.Context(), w.system, in, since, nil)
	fatal(t, err)
	return r
}

func actions(events []auditlog.Event) (all []string) {
	for _, e := range events {
		all = append(all, e.Action)
	}
	return all
}

func TestEventsAreWrittenWithTheirChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sealAll(t)
	want := []string{"workspace.created", "member.added", "member.added", "api_key.created"}
	if got := actions(w.chain(t, w.one.ID)); !slices.Equal(got, want) {
		t.Errorf("the log of a workspace has %v, want %v", got, want)
	}
	if got := actions(w.chain(t, workspace.ID{})); !slices.Equal(got, []string{"workspace.created", "workspace.created"}) {
		t.Errorf("the installation's log has %v", got)
	}
	const request = "0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b12"
	// A change that is rolled back leaves no event.
	owner := w.members[w.one.ID][0]
	ctx := workspace.WithAuthor(t.Context(), workspace.Author{User: owner.ID})
	ctx = workspace.WithOrigin(ctx, workspace.OriginOf(netip.MustParseAddr("203.0.113.77"), request))
	err := w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE members SET role = 'admin' WHERE role = 'member'`); err != nil {
			return err
		}
		return fmt.Errorf("no")
	})
	if err == nil {
		t.Fatal("the change was made")
	}
	_, err = people.NewMembers(w.app, nil).SetRole(ctx, w.one.ID, people.Actor{User: owner.ID}, w.members[w.one.ID][1].ID, people.Admin)
	fatal(t, err)
	w.sealAll(t)
	all := w.chain(t, w.one.ID)
	last := all[len(all)-1]
	if len(all) != 5 || last.Action != "member.role_changed" || last.By != (auditlog.Principal{Kind: auditlog.User, ID: [16]byte(owner.ID)}) ||
		last.Network.String() != "203.0.113.0/24" ||
		last.Request != request ||
		!slices.Equal(last.Fields, []string{"role"}) {
		t.Errorf("the change of a role is %+v", last)
	}
	// Addresses of persons are in the side table alone, and can be erased there.
	text, err := json.Marshal(all)
	fatal(t, err)
	if strings.Contains(string(text), "@") {
		t.Errorf("the chain has an address: %s", text)
	}
	page, err := w.app.AuditEvents(ctx, w.one.ID, auditlog.Query{Actions: []string{"member.added"}, Limit: 10})
	fatal(t, err)
	found := 0
	for _, e := range page {
		for _, v := range e.Values {
			if v == "owner@One.example" {
				found++
			}
		}
	}
	if len(page) != 2 || found != 1 {
		t.Errorf("members that were added: %+v", page)
	}
	n, err := w.system.EraseAuditValue(ctx, "OWNER@one.example", false)
	if fatal(t, err); n != 1 {
		t.Errorf("%d values were erased", n)
	}
	if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 || r.Events != 5 {
		t.Errorf("after erasing a value: %+v", r)
	}
}

// The digest is over a form that others can compute.
func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	e := auditlog.Event{
		ID: 7, Chain: workspace.ID{1}, Transaction: 18446744073709551615, At: time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC),
		Action: "api_key.created", By: auditlog.Principal{Kind: auditlog.Operator}, ObjectKind: "api_key",
		Details: []byte(`{"b": 1.0, "a": "ü"}`),
	}
	fatal(t, e.Follow(0, auditlog.Digest{}))
	got, err := e.Canonical()
	fatal(t, err)
	want := `{"action":"api_key.created","at":"2026-03-01T12:00:00.000001Z","chain":"01000000-0000-0000-0000-000000000000",` +
		`"details":{"a":"ü","b":1},"fields":[],"id":7,"network":"","number":1,"object_id":"","object_kind":"api_key",` +
		`"previous":"0000000000000000000000000000000000000000000000000000000000000000","principal_id":"","principal_kind":"operator",` +
		`"request_id":"","transaction":"18446744073709551615","v":1}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestChainShowsChangedRows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"edited":          `UPDATE audit_events SET action = 'api_key.revoked' WHERE workspace_id = $1 AND number = 2`,
		"edited details":  `UPDATE audit_events SET details = '{"role": "owner"}' WHERE workspace_id = $1 AND number = 2`,
		"edited time":     `UPDATE audit_events SET at = at - interval '1 day' WHERE workspace_id = $1 AND number = 3`,
		"moved elsewhere": `UPDATE audit_events SET workspace_id = NULL, number = 99 WHERE workspace_id = $1 AND number = 2`,
		"deleted":         `DELETE FROM audit_events WHERE workspace_id = $1 AND number = 2`,
		"deleted first":   `DELETE FROM audit_events WHERE workspace_id = $1 AND number = 1`,
		"deleted last":    `DELETE FROM audit_events WHERE workspace_id = $1 AND number = 4`,
		"reordered": `WITH a AS (UPDATE audit_events SET number = 1000002 WHERE workspace_id = $1 AND number = 2 RETURNING id)
			SELECT FROM a`,
		"inserted": `WITH moved AS (SELECT) INSERT INTO audit_events (workspace_id, action, principal_kind, object_kind, number, previous, digest)
			SELECT $1, 'member.removed', 'service', 'member', 5, digest, sha256('x') FROM audit_events WHERE workspace_id = $1 AND number = 4`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.sealAll(t)
			if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 || r.Events != 4 {
				t.Fatalf("before: %+v", r)
			}
			tag, err := w.system.Pool().Exec(t.Context(), change, [16]byte(w.one.ID))
			if fatal(t, err); tag.RowsAffected() != 1 {
				t.Fatalf("%d rows were changed", tag.RowsAffected())
			}
			if name == "reordered" { // 2 and 3 change places
				for _, step := range []string{
					`UPDATE audit_events SET number = 2 WHERE workspace_id = $1 AND number = 3`,
					`UPDATE audit_events SET number = 3 WHERE workspace_id = $1 AND number = 1000002`,
				} {
					_, err := w.system.Pool().Exec(t.Context(), step, [16]byte(w.one.ID))
					fatal(t, err)
				}
			}
			if r := w.verify(t, w.one.ID, nil); len(r.Problems) == 0 {
				t.Errorf("nothing is found: %+v", r)
			}
			if r := w.verify(t, w.two.ID, nil); len(r.Problems) > 0 {
				t.Errorf("the other chain: %+v", r)
			}
		})
	}
}

// Whoever owns the tables can rewrite a chain. A digest that was stored elsewhere reveals
// it.
func TestRewrittenChainHasNotTheOldDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sealAll(t)
	old := w.chain(t, w.one.ID)[2].Digest
	if r := w.verify(t, w.one.ID, &old); len(r.Problems) > 0 || r.Since != 3 {
		t.Fatalf("before: %+v", r)
	}
	for _, change := range []string{
		`UPDATE audit_events SET action = 'member.removed' WHERE workspace_id = $1 AND number = 2`,
		`UPDATE audit_events SET number = NULL, previous = NULL, digest = NULL WHERE workspace_id = $1`,
		`DELETE FROM audit_chains WHERE chain = $1`,
	} {
		_, err := w.system.Pool().Exec(t.Context(), change, [16]byte(w.one.ID))
		fatal(t, err)
	}
	w.sealAll(t)
	if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 {
		t.Errorf("a chain that was written anew is one: %+v", r)
	}
	if r := w.verify(t, w.one.ID, &old); len(r.Problems) == 0 {
		t.Errorf("nothing is found: %+v", r)
	}
}

// addEvent writes an event in a transaction that is not over.
func addEvent(t *testing.T, tx pgx.Tx, in workspace.ID, request string) {
	t.Helper()
	ctx := context.Background()
	if _, err := tx.Exec(ctx, `SELECT set_config('atlas.origin', $1, true)`, "- "+request); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT audit_add($1, 'test.done', 'test', NULL, '{}', '{}')`, [16]byte(in)); err != nil {
		t.Fatal(err)
	}
}

// A transaction that began first and commits last comes first: the events of later ones
// wait.
func TestTransactionsThatCommitOutOfOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sealAll(t)
	ctx := t.Context()
	first, err := w.system.Pool().Begin(ctx)
	fatal(t, err)
	defer func() { _ = first.Rollback(context.Background()) }()
	one, two := workspace.NewUUID().String(), workspace.NewUUID().String()
	addEvent(t, first, w.one.ID, one)
	second, err := w.system.Pool().Begin(ctx)
	fatal(t, err)
	defer func() { _ = second.Rollback(context.Background()) }()
	addEvent(t, second, w.one.ID, two)
	fatal(t, second.Commit(ctx))
	w.seal(t)
	if n := len(w.chain(t, w.one.ID)); n != 4 {
		t.Fatalf("the later transaction is chained before the earlier one: %d events", n)
	}
	if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 || r.Unchained != 1 {
		t.Errorf("while one waits: %+v", r)
	}
	fatal(t, first.Commit(ctx))
	w.sealAll(t)
	var requests []string
	for _, e := range w.chain(t, w.one.ID)[4:] {
		requests = append(requests, e.Request)
	}
	if !slices.Equal(requests, []string{one, two}) {
		t.Errorf("chained in the order %v", requests)
	}
	if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 || r.Unchained != 0 {
		t.Errorf("at the end: %+v", r)
	}
}

// Writers and several sealers at once, some of which are killed half-way.
func TestSealersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.databases.OpenSystem(t, postgres.Options{MaxConns: 4})
	const writers, each = 4, 25
	var writing, sealing sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		sealing.Go(func() {
			s := []*postgres.System{w.system, other}[i%2]
			for round := 0; ; round++ {
				ctx, cancel := context.WithCancel(context.Background())
				if i == 2 { // killed at some time
					ctx, cancel = context.WithTimeout(context.Background(), time.Duration(round%5)*time.Millisecond)
				}
				_, err := s.SealEvents(ctx, 5, time.Now())
				cancel()
				if err != nil && i != 2 {
					t.Errorf("sealing: %v", err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range writers {
		writing.Go(func() {
			for n := range each {
				in := []workspace.ID{w.one.ID, w.two.ID}[n%2]
				tx, err := other.Pool().Begin(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				addEvent(t, tx, in, fmt.Sprint(i, " ", n))
				if n%5 == 0 {
					err = tx.Rollback(context.Background())
				} else {
					err = tx.Commit(context.Background())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	sealing.Wait()
	w.sealAll(t)
	total := 0
	for _, in := range []workspace.ID{w.one.ID, w.two.ID, {}} {
		r := w.verify(t, in, nil)
		if len(r.Problems) > 0 || r.Unchained != 0 {
			t.Errorf("%s: %+v", in, r)
		}
		var at uint64
		for _, e := range w.chain(t, in) {
			if e.Transaction < at {
				t.Errorf("event %d of transaction %d follows one of %d", e.Number, e.Transaction, at)
			}
			at = e.Transaction
		}
		total += int(r.Events)
	}
	if want := 10 + writers*each*4/5; total != want {
		t.Errorf("%d events are chained, want %d", total, want)
	}
}

// age makes the first events of a workspace, which are not chained yet, ten days older.
func (w *world) age(t *testing.T, in workspace.ID, events int) {
	t.Helper()
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE audit_events SET at = at - interval '10 days'
		WHERE id IN (SELECT id FROM audit_events WHERE workspace_id = $1 ORDER BY xid, id LIMIT $2)`, in.String(), events)
	fatal(t, err)
}

func TestRetentionLeavesACheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	public, private, err := ed25519.GenerateKey(nil)
	fatal(t, err)
	ctx := t.Context()
	w.age(t, w.one.ID, 2)
	w.sealAll(t)
	all := w.chain(t, w.one.ID)
	var log strings.Builder
	now := w.now // the clock of the server does not decide what is old
	s := &auditlog.Sealer{
		Store: w.system, Busy: func(error) bool { return false }, Retention: 24 * time.Hour, Key: private,
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	fatal(t, s.Work(ctx))
	if !strings.Contains(log.String(), all[3].Digest.String()) {
		t.Errorf("the digest of the last event is not logged: %s", log.String())
	}
	r, err := auditlog.Verify(ctx, w.system, w.one.ID, &all[1].Digest, public)
	fatal(t, err)
	if len(r.Problems) > 0 || r.Events != 2 || r.First != 3 || r.Since != 2 || r.Signed == nil || !*r.Signed || r.Digest != all[3].Digest {
		t.Errorf("after retention: %+v", r)
	}
	// What retention deleted is not there to be found.
	if r, err := auditlog.Verify(ctx, w.system, w.one.ID, &all[0].Digest, public); err != nil || len(r.Problems) != 1 {
		t.Errorf("a digest of what was deleted: %+v, %v", r, err)
	}
	// A checkpoint that somebody else wrote has no valid signature, and one more event is
	// missing.
	_, err = w.system.Pool().
		Exec(ctx, `UPDATE audit_chains SET checkpoint_number = 3, checkpoint_digest = $2 WHERE chain = $1`, [16]byte(w.one.ID), all[2].Digest[:])
	fatal(t, err)
	if r, err := auditlog.Verify(ctx, w.system, w.one.ID, nil, public); err != nil || len(r.Problems) == 0 {
		t.Errorf("a forged checkpoint: %+v, %v", r, err)
	}
	// Everything is deleted, and the chain continues where it was.
	now, s.Retention = now.Add(24*time.Hour), time.Nanosecond
	_, err = w.system.Pool().
		Exec(ctx, `UPDATE audit_chains SET checkpoint_number = 2, checkpoint_digest = $2 WHERE chain = $1`, [16]byte(w.one.ID), all[1].Digest[:])
	fatal(t, err)
	fatal(t, s.Work(ctx))
	if strings.Contains(log.String(), "somebody wrote it") {
		t.Errorf("a checkpoint that is signed: %s", log.String())
	}
	_, err = w.directory.RestrictKey(ctx, w.keyOf[w.one.ID].ID, true)
	fatal(t, err)
	w.sealAll(t)
	if r, err := auditlog.Verify(ctx, w.system, w.one.ID, nil, public); err != nil || len(r.Problems) > 0 || r.First != 5 || r.Last != 5 {
		t.Errorf("after everything was forgotten: %+v, %v", r, err)
	}
}

// Retention neither deletes nor signs modified events, and reports them.
func TestRetentionOfABrokenChain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"edited":       `UPDATE audit_events SET action = 'api_key.revoked' WHERE workspace_id = $1 AND number = 2`,
		"deleted":      `DELETE FROM audit_events WHERE workspace_id = $1 AND number = 1`,
		"checkpoint":   `UPDATE audit_chains SET checkpoint_digest = sha256('x') WHERE chain = $1`,
		"last chained": `UPDATE audit_chains SET digest = sha256('x') WHERE chain = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx := t.Context()
			w.age(t, w.one.ID, 10)
			w.age(t, w.two.ID, 10)
			w.sealAll(t)
			w.run(t, w.one.ID, change)
			before := w.chain(t, w.one.ID)
			var log strings.Builder
			now := time.Now()
			s := &auditlog.Sealer{
				Store: w.system, Busy: func(error) bool { return false }, Retention: 24 * time.Hour,
				Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			fatal(t, s.Work(ctx))
			fatal(t, s.Work(ctx)) // once an hour
			if got := w.chain(t, w.one.ID); len(got) != len(before) || strings.Count(log.String(), "is broken") != 1 {
				t.Errorf("%d events of %d, log: %s", len(got), len(before), log.String())
			}
			if got := w.chain(t, w.two.ID); len(got) != 0 {
				t.Errorf("%d events of a whole chain are left", len(got))
			}
		})
	}
}

func TestAuditLogOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.sealAll(t)
	for name, q := range map[string]auditlog.Query{"newest": {Limit: 100}, "oldest": {Oldest: true, Limit: 100}} {
		for in, want := range map[workspace.ID]int{w.one.ID: 4, workspace.NewID(): 0} {
			events, err := w.app.AuditEvents(ctx, in, q)
			if fatal(t, err); len(events) != want {
				t.Errorf("%s: %d events, want %d", name, len(events), want)
			}
			for _, e := range events {
				if e.Chain != in {
					t.Errorf("%s: an event of %s", name, e.Chain)
				}
			}
		}
		if _, err := w.app.AuditEvents(ctx, workspace.ID{}, q); err == nil {
			t.Errorf("%s: no workspace is accepted", name)
		}
	}
	for _, table := range []string{"audit_events", "audit_values"} {
		var n, own int
		fatal(
			t,
			w.system.Pool().
				QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE workspace_id = $1) FROM `+table, [16]byte(w.one.ID)).
				Scan(&n, &own),
		)
		if got, err := w.app.CountAll(ctx, w.one.ID, table); err != nil || got != own || own == n {
			t.Errorf("%s: the application sees %d of its %d, %v", table, got, own, err)
		}
	}
	// The application neither changes, deletes nor makes up events, whoever takes it over.
	for _, sql := range []string{
		`UPDATE audit_events SET action = 'a.b'`, `DELETE FROM audit_events`, `DELETE FROM audit_values`, `SELECT * FROM audit_chains`,
		`INSERT INTO audit_events (workspace_id, action, principal_kind, object_kind) VALUES ('` + w.one.ID.String() + `', 'a.b', 'service', 'x')`,
		`SELECT audit_add('` + w.two.ID.String() + `', 'a.b', 'x', NULL, '{}', '{}')`,
	} {
		err := w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err == nil {
			t.Errorf("the application may: %s", sql)
		}
	}
}

// A webhook that chose them gets the events of its workspace, each once, with their digests.
func TestWebhookOfAuditEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.sealAll(t)
	for in, e := range map[workspace.ID]webhooks.Event{w.one.ID: webhooks.AuditEvent, w.two.ID: webhooks.LoadSwitched} {
		hook := webhooks.Webhook{
			ID:        webhooks.ID(workspace.NewUUID()),
			URL:       "https://hooks.example/secret-path",
			Events:    []webhooks.Event{e},
			Enabled:   true,
			CreatedAt: w.now,
		}
		_, err := w.app.InsertWebhook(ctx, in, hook, []byte("sealed"), 10)
		fatal(t, err)
	}
	w.sealAll(t)
	w.sealAll(t)
	rows, err := w.system.Pool().Query(ctx, `SELECT payload FROM jobs WHERE kind = 'webhook'`)
	fatal(t, err)
	sent, err := pgx.CollectRows(rows, pgx.RowTo[string])
	fatal(t, err)
	last := w.chain(t, w.one.ID)[4]
	if len(sent) != 1 || !strings.Contains(sent[0], last.Digest.String()) || !strings.Contains(sent[0], "webhook.created") ||
		strings.Contains(sent[0], "secret-path") {
		t.Errorf("delivered: %v", sent)
	}
}

func TestDeliveredRecordsAreCountedAndReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.sealAll(t)
	now := time.Date(2026, 3, 1, 12, 59, 0, 0, time.UTC)
	counters := make([]*auditlog.Counter, 2) // of two servers
	for i := range counters {
		counters[i] = &auditlog.Counter{Store: w.system, Threshold: 100, Now: func() time.Time { return now }, Max: 3}
	}
	key := workspace.Author{Key: w.keyOf[w.one.ID].ID}
	user := workspace.Author{User: w.members[w.two.ID][0].ID}
	for _, c := range counters {
		c.Delivered(w.one.ID, key, "search_accounts", 60)
		c.Delivered(w.one.ID, key, "get_account", 1)
		c.Delivered(w.two.ID, user, "search_accounts", 100)
		c.Delivered(w.two.ID, user, "search_contacts", 0)
		c.Delivered(workspace.NewID(), key, "search_accounts", 1000) // a deleted one, beyond Max
	}
	fatal(t, counters[0].Flush(ctx))
	w.sealAll(t)
	if n := len(w.chain(t, w.one.ID)); n != 4 {
		t.Errorf("61 records are reported: %d events", n)
	}
	fatal(t, counters[1].Flush(ctx))
	counters[0].Delivered(w.one.ID, key, "search_accounts", 500)
	fatal(t, counters[0].Flush(ctx))
	w.sealAll(t)
	reported := w.chain(t, w.one.ID)[4:]
	if len(reported) != 1 || reported[0].Action != "reads.above_threshold" || reported[0].By != auditlog.PrincipalOf(key) ||
		!strings.Contains(string(reported[0].Details), `"records": 122`) {
		t.Errorf("reported: %+v", reported)
	}
	now = now.Add(time.Hour)
	counters[0].Delivered(w.one.ID, key, "search_accounts", 101)
	fatal(t, counters[0].Flush(ctx))
	w.sealAll(t)
	if n := len(w.chain(t, w.one.ID)); n != 6 {
		t.Errorf("another hour is not reported: %d events", n)
	}
	got, err := w.app.Delivered(ctx, w.one.ID, auditlog.DeliveredQuery{Limit: 10})
	fatal(t, err)
	hour := now.Truncate(time.Hour)
	row := func(at time.Time, operation string, records, requests int64) auditlog.Delivered {
		return auditlog.Delivered{
			Workspace: w.one.ID,
			Hour:      at,
			By:        auditlog.PrincipalOf(key),
			Operation: operation,
			Records:   records,
			Requests:  requests,
		}
	}
	before := hour.Add(-time.Hour)
	want := []auditlog.Delivered{
		row(hour, "search_accounts", 101, 1), row(before, "get_account", 2, 2), row(before, "search_accounts", 620, 3),
	}
	if !slices.Equal(got, want) {
		t.Errorf("delivered %+v, want %+v", got, want)
	}
	if got, err := w.app.Delivered(ctx, workspace.NewID(), auditlog.DeliveredQuery{Limit: 10}); err != nil || len(got) > 0 {
		t.Errorf("another workspace: %+v, %v", got, err)
	}
	fatal(t, w.system.ForgetCounts(ctx, hour))
	if got, err := w.app.Delivered(ctx, w.one.ID, auditlog.DeliveredQuery{Limit: 10}); err != nil || len(got) != 1 {
		t.Errorf("after retention: %+v, %v", got, err)
	}
}

// What cannot be stored is counted on, in bounded memory.
func TestCountsWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := &auditlog.Counter{Store: w.system, Now: func() time.Time { return now }, Max: 10}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 500 {
		c.Refused("unauthorized", netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 0}), 24))
		c.Delivered(w.one.ID, workspace.Author{Key: workspace.NewKeyID()}, "search_accounts", 2)
		if i%100 == 0 && c.Flush(gone) == nil {
			t.Fatal("it was stored without a store")
		}
	}
	fatal(t, c.Flush(t.Context()))
	refused, err := w.system.FailedSignIns(t.Context(), time.Time{}, 100)
	fatal(t, err)
	var times, records int64
	for _, r := range refused {
		times += r.Times
	}
	delivered, err := w.app.Delivered(t.Context(), w.one.ID, auditlog.DeliveredQuery{Limit: 100})
	fatal(t, err)
	for _, d := range delivered {
		records += d.Records
	}
	if times != 500 || len(refused) > 11 || records != 1000 || len(delivered) > 11 {
		t.Errorf("%d refused in %d rows, %d records in %d rows", times, len(refused), records, len(delivered))
	}
}

// Whoever has many networks fills no table with them, by several servers either.
func TestRefusedOfManyNetworks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	counters := []*auditlog.Counter{
		{Store: w.system, Now: func() time.Time { return now }}, {Store: w.system, Now: func() time.Time { return now }},
	}
	const networks = 3000
	for i := range networks {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0})
		counters[i%2].Refused("unauthorized", netip.PrefixFrom(address, 24))
		counters[i%2].Refused("link", netip.PrefixFrom(address, 24))
	}
	often := netip.MustParsePrefix("203.0.113.0/24")
	for range 5 {
		counters[0].Refused("unauthorized", often)
	}
	for _, c := range counters {
		fatal(t, c.Flush(t.Context()))
	}
	now = now.Add(time.Minute)
	counters[0].Refused("unauthorized", often)
	fatal(t, counters[0].Flush(t.Context()))
	all, err := w.system.FailedSignIns(t.Context(), time.Time{}, 10_000)
	fatal(t, err)
	times, seen := int64(0), int64(0)
	for _, r := range all {
		if times += r.Times; r.Network == often {
			seen += r.Times
		}
	}
	if len(all) != 2*1000-1+2+1 || times != 2*networks+6 || seen != 6 {
		t.Errorf("%d rows of %d times, %d of the network that was most often", len(all), times, seen)
	}
}

func BenchmarkDelivered(b *testing.B) {
	c := &auditlog.Counter{Now: time.Now}
	in, by := workspace.NewID(), workspace.Author{Key: workspace.NewKeyID()}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Delivered(in, by, "search_accounts", 25)
		}
	})
}
