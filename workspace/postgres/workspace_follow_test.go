package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace/audit"
	"atlas/workspace/postgres"
)

// stateOf reads the present state of each subject of a workspace ($1), of one id ($2) or,
// for null, of all.
const stateOf = `
	SELECT kind, id, dataset, view_id, state FROM (
		SELECT 'overlay' AS kind, record_id AS id, dataset, NULL::uuid AS view_id, concat_ws('|', icp_tier, workspace_status, notes, tags::text) AS state FROM overlays WHERE workspace_id = $1
		UNION ALL SELECT 'membership', record_id, dataset, view_id, '' FROM view_records WHERE workspace_id = $1
		UNION ALL SELECT 'view', id, dataset, NULL, name FROM views WHERE workspace_id = $1
		UNION ALL SELECT 'subscription', id, '', NULL, concat_ws('|', signal_type, channels::text, frequency) FROM signal_subscriptions WHERE workspace_id = $1
		UNION ALL SELECT 'invitation', id, '', NULL, concat_ws('|', email, role) FROM invitations WHERE workspace_id = $1 AND accepted_at IS NULL AND revoked_at IS NULL
		UNION ALL SELECT 'webhook', id, '', NULL, concat_ws('|', url, events::text, enabled, old_until) FROM webhooks WHERE workspace_id = $1
		UNION ALL SELECT 'skill', id, '', NULL, concat_ws('|', slug, status, name, description, content) FROM skills WHERE workspace_id = $1 AND owner_id IS NULL
		UNION ALL SELECT 'member', user_id, '', NULL, role FROM members WHERE workspace_id = $1
		UNION ALL SELECT 'setting', id, '', NULL, name FROM workspaces WHERE id = $1
	) all_of_it WHERE $2::uuid IS NULL OR id = $2`

func (w *viewing) state(t *testing.T, in uuid.UUID, id *uuid.UUID) map[audit.Subject]string {
	t.Helper()
	rows, err := w.system.Pool().Query(t.Context(), stateOf, in, id)
	fatal(t, err)
	state := map[audit.Subject]string{}
	var s audit.Subject
	var view *uuid.UUID
	var text string
	_, err = pgx.ForEachRow(rows, []any{&s.Kind, &s.ID, (*string)(&s.Dataset), &view, &text}, func() error {
		if s.View = uuid.Nil; view != nil {
			s.View = *view
		}
		state[s] = text
		return nil
	})
	fatal(t, err)
	return state
}

// randomWrite changes something of few subjects, so that writers meet.
func randomWrite(ctx context.Context, tx pgx.Tx, in uuid.UUID, r *rand.Rand) error {
	id := func(what string, n int) uuid.UUID {
		return uuid.NewSHA1(in, fmt.Appendf(nil, "%s %d", what, r.IntN(n)))
	}
	text := fmt.Sprint(r.IntN(4))
	d := string(catalog.Held[r.IntN(2)+1])
	var err error
	switch r.IntN(17) {
	case 0, 1, 2:
		_, err = tx.Exec(ctx, `
			INSERT INTO overlays (workspace_id, dataset, record_id, notes, tags, created_at, updated_at)
			SELECT $1, $2, id, $4, '{}', now(), now() FROM unnest($3::uuid[]) id
			ON CONFLICT ON CONSTRAINT overlays_pkey DO UPDATE SET notes = excluded.notes, updated_at = now()`, in, d, []uuid.UUID{id("one", 5), id("two", 5)}, text)
	case 3:
		_, err = tx.Exec(ctx, `DELETE FROM overlays WHERE workspace_id = $1 AND record_id = $2`, in, id("one", 5))
	case 4:
		_, err = tx.Exec(ctx, `UPDATE overlays SET tags = ARRAY[$2], scored_at = scored_at WHERE workspace_id = $1`, in, text)
	case 5:
		_, err = tx.Exec(ctx, `
			INSERT INTO views (workspace_id, id, dataset, view_type, name, name_folded, definition, presentation, revision, created_at, updated_at)
			VALUES ($1, $2, 'contacts', 'static', $3, $2::text, '{}', '{}', 1, now(), now())
			ON CONFLICT ON CONSTRAINT views_pkey DO UPDATE SET name = excluded.name`, in, id("view", 3), text)
	case 6:
		_, err = tx.Exec(ctx, `DELETE FROM views WHERE workspace_id = $1 AND id = $2`, in, id("view", 3))
	case 7, 8:
		_, err = tx.Exec(ctx, `
			INSERT INTO view_records (workspace_id, view_id, dataset, record_id, added_at)
			SELECT $1, id, 'contacts', $3, now() FROM views WHERE workspace_id = $1 AND id = $2 ON CONFLICT DO NOTHING`, in, id("view", 3), id("one", 5))
	case 9:
		_, err = tx.Exec(ctx, `DELETE FROM view_records WHERE workspace_id = $1 AND record_id = $2`, in, id("one", 5))
	case 10:
		_, err = tx.Exec(ctx, `
			INSERT INTO signal_subscriptions (workspace_id, id, signal_type, channels, frequency, queue_started_at, created_at, updated_at)
			VALUES ($1, $2, $2::text, '{in_app}', 'instant', now(), now(), now())
			ON CONFLICT ON CONSTRAINT signal_subscriptions_pkey DO UPDATE SET channels = '{email}'`, in, id("subscription", 3))
	case 11:
		_, err = tx.Exec(ctx, `DELETE FROM signal_subscriptions WHERE workspace_id = $1 AND id = $2`, in, id("subscription", 3))
	case 12:
		_, err = tx.Exec(ctx, `
			INSERT INTO webhooks (workspace_id, id, url, events, enabled, secret, created_at)
			VALUES ($1, $2, $3, '{load.switched}', true, '', now())
			ON CONFLICT ON CONSTRAINT webhooks_pkey DO UPDATE SET url = excluded.url, signals_after = now()`, in, id("webhook", 3), text)
	case 13:
		_, err = tx.Exec(ctx, `UPDATE webhooks SET enabled = NOT enabled, old_secret = secret, old_until = now() WHERE workspace_id = $1 AND id = $2`, in, id("webhook", 3))
	case 14:
		_, err = tx.Exec(ctx, `DELETE FROM webhooks WHERE workspace_id = $1 AND id = $2`, in, id("webhook", 3))
	case 15:
		_, err = tx.Exec(ctx, `
			INSERT INTO skills (workspace_id, id, scope, slug, status, name, description, content, name_folded, description_folded, revision, created_at, updated_at)
			VALUES ($1, $2, 'workspace', $2::text, 'draft', $3, 'd', 'c', $3, 'd', 1, now(), now())
			ON CONFLICT ON CONSTRAINT skills_pkey DO UPDATE SET name = excluded.name`, in, id("skill", 3), text)
	case 16:
		_, err = tx.Exec(ctx, `DELETE FROM skills WHERE workspace_id = $1 AND id = $2`, in, id("skill", 3))
	}
	return err
}

// Whatever concurrent writers do, a follower of the changes ends with the present state: no
// change is missed, and none is returned before it can be read.
func TestFollowingAWorkspace(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	w.store = w.databases.OpenApp(t, postgres.Options{MaxConns: 6})
	const writers, transactions = 4, 30
	for seed := range uint64(3) {
		in := w.pro(t, fmt.Sprintf("Seed%d", seed)).ID
		name := uuid.UUID(in)
		at, err := w.store.LastChange(t.Context(), in)
		fatal(t, err)
		replica := w.state(t, name, nil)
		var writing sync.WaitGroup
		written := make(chan struct{})
		rolledBack := errors.New("rolled back")
		for i := range uint64(writers) {
			r := rand.New(rand.NewPCG(seed, i))
			writing.Go(func() {
				for range transactions {
					// A deadlock with another writer undoes the transaction, as some of them do
					// themselves.
					_ = w.store.InWorkspace(t.Context(), in, func(tx pgx.Tx) error {
						for range 1 + r.IntN(3) {
							if err := randomWrite(t.Context(), tx, name, r); err != nil {
								return err
							}
							if r.IntN(4) == 0 {
								if _, err := tx.Exec(t.Context(), `SELECT pg_sleep($1)`, r.Float64()/50); err != nil {
									return err
								}
							}
						}
						if r.IntN(5) == 0 {
							return rolledBack
						}
						return nil
					})
				}
			})
		}
		go func() { writing.Wait(); close(written) }()
		r := rand.New(rand.NewPCG(seed, writers))
		recorded := 0
		apply := func(changes []audit.Change) {
			recorded += len(changes)
			for _, c := range changes {
				if delete(replica, c.Subject); c.Op == audit.Upsert {
					if state, there := w.state(t, name, &c.ID)[c.Subject]; there {
						replica[c.Subject] = state
					}
				}
				if c.Kind == audit.View && c.Op == audit.Delete {
					for s := range replica {
						if s.View == c.ID {
							delete(replica, s)
						}
					}
				}
			}
		}
		for done := false; !done; {
			select {
			case <-written:
				done = true
			default:
			}
			page, known, err := w.store.WorkspaceChanges(t.Context(), in, at, 1+r.IntN(20))
			if fatal(t, err); !known {
				t.Fatal("the position is unknown")
			}
			apply(page.Changes)
			at = page.Next
		}
		rest, _ := w.changesAfter(t, in, at, 10)
		apply(rest)
		if recorded < 50 {
			t.Errorf("seed %d: only %d changes were recorded", seed, recorded)
		}
		if diff := cmp.Diff(w.state(t, name, nil), replica); diff != "" {
			t.Errorf("seed %d: the copy differs (-there +kept):\n%s", seed, diff)
		}
	}
}
