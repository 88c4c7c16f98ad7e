package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/people"
	"atlas/workspace/undo"
)

var _ undo.Store = (*Store)(nil)

// KeyEnded implements undo.Store. Changes of a key are listed even when its row is deleted.
func (s *Store) KeyEnded(ctx context.Context, in workspace.ID, key workspace.KeyID) (known, revoked bool, err error) {
	err = s.queryRow(ctx, in, `
		SELECT known OR changed, CASE WHEN known THEN revoked ELSE true END FROM (
			SELECT count(*) > 0, coalesce(bool_or(coalesce(k.revoked_at, here.revoked_at) IS NOT NULL), false)
			FROM api_keys k JOIN api_key_workspaces here ON here.key_id = k.id AND here.workspace_id = $1 WHERE k.id = $2
		) k (known, revoked), (SELECT EXISTS (SELECT FROM workspace_changes WHERE workspace_id = $1 AND by_key = $2)) c (changed)`,
		[]any{arg(in), arg(key)}, &known, &revoked)
	return known, revoked, err
}

// sameObject is the condition that the change other is of the same object of a workspace ($1)
// as the change c.
const sameObject = `other.workspace_id = $1 AND other.id = c.id AND other.kind = c.kind
	AND other.dataset IS NOT DISTINCT FROM c.dataset AND other.view_id IS NOT DISTINCT FROM c.view_id`

// byOthers is the condition that anybody but a key ($2) made a change. Atlas computing a value,
// or disabling a webhook that does not answer, does not count.
const byOthers = `other.by_key IS DISTINCT FROM $2 AND NOT (other.by_user IS NULL AND other.by_key IS NULL AND other.op = 'upsert'
	AND other.changed <@ ARRAY['atlas_score', 'atlas_trend', 'enabled'])`

// keyChanges are the changes c by a key ($2) in a workspace ($1), with what happened to their
// objects since. Each writer locks the row of the object, so seq orders the changes of one
// object.
const keyChanges = `
	SELECT c.seq, c.at, c.kind, c.op, c.id, coalesce(c.dataset, ''), c.view_id, c.changed, c.request_id, coalesce(before.op, ''),
		there.since,
		EXISTS (SELECT FROM workspace_changes other WHERE ` + sameObject + ` AND other.seq > c.seq AND ` + byOthers + `)
			OR c.kind = 'view' AND there.since IS NOT NULL AND EXISTS (SELECT FROM workspace_changes other
				WHERE other.workspace_id = $1 AND other.kind = 'membership' AND other.op = 'upsert' AND other.view_id = c.id
					AND other.seq > c.seq AND ` + byOthers + `),
		latest.by_user IS NULL AND latest.by_key IS NULL,
		c.kind = 'membership' AND EXISTS (SELECT FROM views v WHERE v.workspace_id = $1 AND v.id = c.view_id),
		coalesce((SELECT m.role FROM members m WHERE c.kind = 'member' AND m.workspace_id = $1 AND m.user_id = c.id), ''),
		coalesce((SELECT e.details->>'role_before' FROM audit_events e WHERE c.kind = 'member' AND e.workspace_id = $1
			AND e.principal_id = $2 AND e.object_id = c.id AND e.xid = c.xid AND e.action = 'member.role_changed' ORDER BY e.id LIMIT 1), '')
	FROM workspace_changes c
	LEFT JOIN LATERAL (SELECT other.op FROM workspace_changes other WHERE ` + sameObject + ` AND other.seq < c.seq
		ORDER BY other.seq DESC LIMIT 1) before ON true
	CROSS JOIN LATERAL (SELECT other.by_user, other.by_key FROM workspace_changes other WHERE ` + sameObject + `
		ORDER BY other.seq DESC LIMIT 1) latest
	LEFT JOIN LATERAL (
		SELECT created_at FROM overlays o WHERE c.kind = 'overlay' AND o.workspace_id = $1 AND o.dataset = c.dataset AND o.record_id = c.id
		UNION ALL SELECT added_at FROM view_records r
			WHERE c.kind = 'membership' AND r.workspace_id = $1 AND r.view_id = c.view_id AND r.record_id = c.id
		UNION ALL SELECT created_at FROM views v WHERE c.kind = 'view' AND v.workspace_id = $1 AND v.id = c.id
		UNION ALL SELECT created_at FROM boards b WHERE c.kind = 'board' AND b.workspace_id = $1 AND b.id = c.id
		UNION ALL SELECT created_at FROM webhooks w WHERE c.kind = 'webhook' AND w.workspace_id = $1 AND w.id = c.id
		UNION ALL SELECT created_at FROM signal_subscriptions s WHERE c.kind = 'subscription' AND s.workspace_id = $1 AND s.id = c.id
		UNION ALL SELECT created_at FROM skills k WHERE c.kind = 'skill' AND k.workspace_id = $1 AND k.id = c.id AND k.scope = 'workspace'
		UNION ALL SELECT created_at FROM invitations i WHERE c.kind = 'invitation' AND i.workspace_id = $1 AND i.id = c.id AND ` + invitationOpen + `
		UNION ALL SELECT joined_at FROM members m WHERE c.kind = 'member' AND m.workspace_id = $1 AND m.user_id = c.id
	) there (since) ON true
	WHERE c.workspace_id = $1 AND c.by_key = $2`

func collectKeyChange(row pgx.CollectableRow) (c undo.Change, err error) {
	var dataset string
	var view, request *uuid.UUID
	var since *time.Time
	err = row.Scan(
		&c.Seq, &c.At, &c.Kind, &c.Op, &c.ID, &dataset, &view, &c.Fields, &request, &c.Before, &since, &c.Others, &c.LastBySystem,
		&c.HasView, &c.Role, &c.RoleBefore,
	)
	c.At, c.Dataset = c.At.UTC(), catalog.Dataset(dataset)
	if view != nil {
		c.View = *view
	}
	if request != nil {
		c.Request = *request
	}
	if since != nil {
		c.Since = since.UTC()
	}
	return c, err
}

// selected is the condition of a selection, with the arguments $3 and $4.
const selected = ` AND ($3::bigint[] IS NULL OR c.seq = ANY ($3)) AND ($4::timestamptz IS NULL OR c.at >= $4)`

func selectionArgs(in workspace.ID, key workspace.KeyID, s undo.Selection) []any {
	var since *time.Time
	if !s.Since.IsZero() {
		since = &s.Since
	}
	return []any{arg(in), arg(key), s.Seqs, since}
}

// KeyChanges implements undo.Store.
func (s *Store) KeyChanges(ctx context.Context, in workspace.ID, key workspace.KeyID, of undo.Selection) ([]undo.Change, error) {
	return queryAll(ctx, s, in, collectKeyChange,
		keyChanges+selected+` AND ($5 = 0 OR c.seq < $5) ORDER BY c.seq DESC LIMIT $6`,
		append(selectionArgs(in, key, of), of.Before, of.Limit)...)
}

// FirstKeyChanges implements undo.Store.
func (s *Store) FirstKeyChanges(
	ctx context.Context, in workspace.ID, key workspace.KeyID, of undo.Selection, objects []uuid.UUID,
) ([]undo.Change, error) {
	return queryAll(ctx, s, in, collectKeyChange,
		keyChanges+` AND c.seq = ANY (ARRAY(SELECT min(c.seq) FROM workspace_changes c
			WHERE c.workspace_id = $1 AND c.by_key = $2 AND c.id = ANY ($5)`+selected+`
			GROUP BY c.kind, c.id, c.dataset, c.view_id))`,
		append(selectionArgs(in, key, of), objects)...)
}

// lockObject locks the object of a change, and the rows that its own writers lock before it.
var lockObject = map[audit.Kind]string{
	audit.Overlay:      `SELECT FROM held_records WHERE workspace_id = @in AND dataset = @dataset AND record_id = @id FOR UPDATE`,
	audit.Membership:   `SELECT FROM views WHERE workspace_id = @in AND id = @view FOR NO KEY UPDATE`,
	audit.View:         lockByID("views"),
	audit.Board:        lockByID("boards"),
	audit.Webhook:      lockByID("webhooks"),
	audit.Subscription: lockByID("signal_subscriptions"),
	audit.Invitation:   lockByID("invitations"),
	audit.Member: `SELECT FROM members WHERE workspace_id = @in AND (role = 'owner' OR user_id IN (@id, @by))
		ORDER BY user_id FOR UPDATE`,
}

func lockByID(table string) string {
	return `SELECT FROM ` + table + ` WHERE workspace_id = @in AND id = @id FOR UPDATE`
}

// WithKeyChange implements undo.Store.
func (s *Store) WithKeyChange(
	ctx context.Context, in workspace.ID, key workspace.KeyID, by people.Actor, c undo.Change, do func(context.Context, undo.Change) error,
) error {
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		if c.Kind != audit.Member { // whose rows are locked in the order of their ids
			locked, err := lockActor(ctx, tx, in, by)
			if err == nil && !locked.Actor.Administers() {
				err = fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
			}
			if err != nil {
				return err
			}
		}
		if lock, is := lockObject[c.Kind]; is {
			object := pgx.NamedArgs{"in": arg(in), "id": c.ID, "dataset": string(c.Dataset), "view": c.View, "by": arg(by.User)}
			if _, err := tx.Exec(ctx, lock, object); err != nil {
				return err
			}
		}
		// A separate statement sees what was committed while the first waited for the lock.
		rows, err := tx.Query(ctx, keyChanges+` AND c.seq = $3`, arg(in), arg(key), c.Seq)
		if err != nil {
			return err
		}
		now, err := pgx.CollectExactlyOneRow(rows, collectKeyChange)
		if err != nil {
			return err
		}
		return do(context.WithValue(ctx, effectKey{}, &effect{store: s, in: in, tx: tx}), now)
	})
}

// NoteUndone implements undo.Store.
func (s *Store) NoteUndone(ctx context.Context, in workspace.ID, key workspace.KeyID, undone, left int) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		return auditOwn(ctx, tx, "api_key.undone", "api_key", arg(key), map[string]any{"undone": undone, "left": left})
	})
}
