package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/internal/timer"
	"atlas/workspace"
	"atlas/workspace/auditlog"
)

// The deletion of a workspace with everything in it (docs/privacy.md, "A workspace").

// Deletion is the progress of the deletion of a workspace.
type Deletion struct {
	// Begun is zero if it has not begun, Ended if it has not ended.
	Begun, Ended time.Time
	// Users are the users to delete: they were members here, or known by its provider, and are
	// members nowhere else. None once the deletion has ended.
	Users []workspace.UserID
}

// DeletionOf returns the progress of the deletion of a workspace.
func (s *System) DeletionOf(ctx context.Context, in workspace.ID) (d Deletion, err error) {
	var users []uuid.UUID
	var ended *time.Time
	err = s.pool.QueryRow(ctx, `SELECT begun_at, ended_at, users FROM deleted_workspaces WHERE id = $1`, arg(in)).Scan(&d.Begun, &ended, &users)
	if noRows(err) {
		return Deletion{}, nil
	}
	for _, id := range users {
		d.Users = append(d.Users, workspace.UserID(id))
	}
	if ended != nil {
		d.Ended = *ended
	}
	return d, toFault(err)
}

// Rows is the number of rows of a table that belong to a workspace.
type Rows struct {
	Table string
	Rows  int64
}

// peopleOf are the users that a workspace ($1) knows: its members, and others that its provider
// names.
const peopleOf = `SELECT user_id FROM members WHERE workspace_id = $1 UNION SELECT user_id FROM identities WHERE workspace_id = $1
	UNION SELECT user_id FROM scim_users WHERE workspace_id = $1 AND user_id IS NOT NULL`

// hereOnly are those of them who are members of no other workspace.
const hereOnly = `SELECT p.user_id FROM (` + peopleOf + `) p
	WHERE NOT EXISTS (SELECT FROM members o WHERE o.user_id = p.user_id AND o.workspace_id <> $1)`

// ofWorkspace returns the tables with rows of a workspace, and for each the condition on a row
// t: rows of the workspace, or other rows that refer to it.
func (s *System) ofWorkspace(ctx context.Context) (tables []string, condition map[string]string, err error) {
	tables, err = collect(ctx, s, pgx.RowTo[string], `
		SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attname = 'workspace_id' AND NOT a.attisdropped
		ORDER BY 1`)
	condition = map[string]string{
		"workspaces":   `t.id = $1`,
		"users":        `t.id IN (` + peopleOf + `)`,
		"api_keys":     `t.id IN (SELECT g.key_id FROM api_key_workspaces g WHERE g.workspace_id = $1)`,
		"audit_chains": `t.chain = $1`,
	}
	for _, table := range tables {
		if condition[table] == "" {
			condition[table] = `t.workspace_id = $1`
		}
	}
	tables = append(tables, "workspaces", "users", "audit_chains")
	slices.Sort(tables)
	return tables, condition, err
}

// WorkspaceRows counts the rows of a workspace, table by table, and those of its members and
// keys.
func (s *System) WorkspaceRows(ctx context.Context, in workspace.ID) (all []Rows, err error) {
	tables, condition, err := s.ofWorkspace(ctx)
	for _, table := range tables {
		r := Rows{Table: table}
		sql := `SELECT count(*) FROM ` + pgx.Identifier{table}.Sanitize() + ` t WHERE ` + condition[table]
		if err := s.pool.QueryRow(ctx, sql, arg(in)).Scan(&r.Rows); err != nil {
			return nil, toFault(err)
		}
		if r.Rows > 0 {
			all = append(all, r)
		}
	}
	return all, err
}

// exportedBytes are the columns of bytes that are exported. The others have secrets, digests of
// secrets, or internal data.
var exportedBytes = []string{
	"audit_chains.digest", "audit_chains.checkpoint_digest", "audit_chains.signature", "audit_events.digest", "audit_events.previous",
	"audit_values.digest", "audit_values.salt",
}

// withheldBytes are the columns of bytes of a table that are not exported.
func withheldBytes(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = $1 AND NOT a.attisdropped AND a.attnum > 0
			AND t.typname IN ('bytea', '_bytea') AND c.relname || '.' || a.attname <> ALL ($2)`, table, exportedBytes)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]string{}, rows, pgx.RowTo[string])
}

// ExportWorkspace calls write for each row of a workspace, as a JSON object without
// secrets, from one snapshot.
func (s *System) ExportWorkspace(ctx context.Context, in workspace.ID, write func(table string, row []byte) error) error {
	tables, condition, err := s.ofWorkspace(ctx)
	if err != nil {
		return err
	}
	return toFault(pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for _, table := range tables {
			withheld, err := withheldBytes(ctx, tx, table)
			if err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `SELECT (to_jsonb(t) - $2::text[])::text FROM `+pgx.Identifier{table}.Sanitize()+` t WHERE `+condition[table],
				arg(in), withheld)
			if err != nil {
				return err
			}
			var row string
			if _, err := pgx.ForEachRow(rows, []any{&row}, func() error { return write(table, []byte(row)) }); err != nil {
				return err
			}
		}
		return nil
	}))
}

// DeleteWorkspace deletes the rows of a workspace, its own row last, and its members without
// other references. An interrupted call is repeated. The audit log remains for ForgetChain.
// Until it returns, documents of held records may still be written. Error: fault.BadRequest
// unless the plan is free.
func (s *System) DeleteWorkspace(ctx context.Context, in workspace.ID) error {
	if err := in.Check(); err != nil {
		return err
	}
	if err := s.beginDeletion(ctx, in); err != nil {
		return err
	}
	// A key of an operator that also acts elsewhere only loses this grant.
	if _, err := s.pool.Exec(ctx, `
		DELETE FROM api_keys k USING api_key_workspaces g WHERE g.key_id = k.id AND g.workspace_id = $1
			AND NOT EXISTS (SELECT FROM api_key_workspaces o WHERE o.key_id = k.id AND o.workspace_id <> $1)`, arg(in)); err != nil {
		return toFault(err)
	}
	tables, _, err := s.ofWorkspace(ctx)
	if err != nil {
		return err
	}
	// First the tables that cause messages, so that nobody is notified of the deletion.
	for _, table := range append([]string{"webhooks", "signal_subscriptions", "view_alerts"}, tables...) {
		switch table {
		case "workspaces", "users", "audit_chains", "audit_events", "audit_values", "workspace_changes", "projectors",
			"members", "identities", "scim_users":
			continue // written by the deletion of others, or deleted last
		}
		if err := s.deleteRows(ctx, table, in); err != nil {
			return err
		}
	}
	if err := s.deleteRows(ctx, "workspace_changes", in); err != nil {
		return err
	}
	if err := s.waitForProjector(ctx, in); err != nil {
		return err
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`SELECT FROM workspaces WHERE id = $1 FOR UPDATE`, // nobody can join any more
			noteDeletion,
			`DELETE FROM workspaces WHERE id = $1`,
			`DELETE FROM workspace_changes WHERE workspace_id = $1`, // triggers have recorded the deletion of the row
		} {
			if _, err := tx.Exec(ctx, sql, arg(in)); err != nil {
				return err
			}
		}
		return deleteUsers(ctx, tx, in)
	}))
}

// noteDeletion records that a deletion has begun, and the users to delete with the
// workspace.
const noteDeletion = `
	INSERT INTO deleted_workspaces AS d (id, begun_at, users) SELECT $1, clock_timestamp(), ARRAY(` + hereOnly + `)
	ON CONFLICT (id) DO UPDATE SET ended_at = NULL, users = ARRAY(SELECT unnest(d.users) UNION SELECT unnest(excluded.users))`

// beginDeletion records that the deletion has begun. From then on the workspace cannot get
// the plan pro.
func (s *System) beginDeletion(ctx context.Context, in workspace.ID) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		plan := workspace.Free
		err := tx.QueryRow(ctx, `SELECT plan FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, arg(in)).Scan(&plan)
		if err != nil && !noRows(err) {
			return err
		}
		if plan != workspace.Free {
			return fault.New(fault.BadRequest, "somebody gave the workspace the plan %s again: nothing was deleted", plan)
		}
		_, err = tx.Exec(ctx, noteDeletion, arg(in))
		return err
	}))
}

// notBeingDeleted locks the row of a workspace and refuses if its deletion has begun.
func notBeingDeleted(ctx context.Context, tx pgx.Tx, in workspace.ID) error {
	if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, arg(in)); err != nil {
		return err
	}
	var begun bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM deleted_workspaces WHERE id = $1 AND ended_at IS NULL)`, arg(in)).Scan(&begun)
	if err == nil && begun {
		err = fault.New(fault.BadRequest, "the workspace is being deleted: atlas workspace delete %s --confirm NAME finishes that", in)
	}
	return err
}

// rowsAtOnce is how many rows one transaction deletes, so that others do not wait long.
const rowsAtOnce = 5000

func (s *System) deleteRows(ctx context.Context, table string, in workspace.ID) error {
	name := pgx.Identifier{table}.Sanitize()
	for {
		tag, err := s.pool.Exec(ctx, `DELETE FROM `+name+` WHERE ctid = ANY (ARRAY(SELECT ctid FROM `+name+` WHERE workspace_id = $1 LIMIT $2))`,
			arg(in), rowsAtOnce)
		if err != nil || tag.RowsAffected() == 0 {
			return toFault(err)
		}
	}
}

// waitForProjector waits until no server writes documents of the workspace. It has no held
// records any more, so a projection ends with those that it has read.
func (s *System) waitForProjector(ctx context.Context, in workspace.ID) error {
	for {
		var busy bool
		err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM projectors WHERE workspace_id = $1
			AND deadline BETWEEN clock_timestamp() AND clock_timestamp() + interval '5 minutes')`, arg(in)).Scan(&busy)
		if err != nil || !busy {
			return toFault(err)
		}
		if err := timer.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// deleteUsers deletes users who were members of this workspace only, unless a row refers to
// them: what they made in a workspace that they left stays theirs.
func deleteUsers(ctx context.Context, tx pgx.Tx, in workspace.ID) error {
	rows, err := tx.Query(ctx, `
		SELECT format('NOT EXISTS (SELECT FROM %s r WHERE r.%I = u.id)', c.conrelid::regclass, a.attname)
		FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
		WHERE c.confrelid = 'users'::regclass AND c.contype = 'f' ORDER BY 1`)
	if err != nil {
		return err
	}
	unused, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	sql := `DELETE FROM users u WHERE u.id IN (SELECT unnest(users) FROM deleted_workspaces WHERE id = $1)`
	for _, condition := range unused {
		sql += ` AND ` + condition
	}
	_, err = tx.Exec(ctx, sql, arg(in))
	return err
}

// ForgetChain deletes the events of the audit log of a deleted workspace. It leaves the end of
// the chain, signed by sign, and writes it to the installation's log as well. If the chain is
// broken, its events remain and it fails.
func (s *System) ForgetChain(ctx context.Context, in workspace.ID, now time.Time, sign func(*auditlog.Head, auditlog.Checkpoint)) error {
	for {
		n, err := s.SealEvents(ctx, rowsAtOnce, now)
		if err != nil {
			return err
		}
		left, err := s.UnchainedEvents(ctx, in)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if n > 0 {
			continue
		}
		// A transaction that began earlier is in progress.
		if err := timer.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	head, err := s.AuditHead(ctx, in)
	if err != nil || head.Number == 0 {
		return err
	}
	for more := head.Checkpoint.Number < head.Number; more; {
		if more, err = s.forgetEvents(ctx, in, now.AddDate(100, 0, 0), now, sign); err != nil {
			return err
		}
	}
	if head, err = s.AuditHead(ctx, in); err != nil {
		return err
	}
	if head.Checkpoint.Number != head.Number {
		return fmt.Errorf("%w: events of the audit log of %s are missing: atlas audit verify says which", ErrBrokenChain, in)
	}
	if err := s.SignEnd(ctx, in, sign); err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, `SELECT audit_add(NULL, 'workspace.erased', 'workspace', $1, '{}', $2)
		WHERE NOT EXISTS (SELECT FROM audit_events WHERE workspace_id IS NULL AND action = 'workspace.erased' AND object_id = $1)`,
		arg(in), map[string]any{"audit_number": head.Number, "audit_digest": head.Digest.String()})
	return toFault(err)
}

// ErrBrokenChain is the error of events that do not follow each other as chained.
var ErrBrokenChain = errors.New("the chain is broken")

// SignEnd signs the end of the chain of a deleted workspace if nobody did.
func (s *System) SignEnd(ctx context.Context, in workspace.ID, sign func(*auditlog.Head, auditlog.Checkpoint)) error {
	h, err := s.AuditHead(ctx, in)
	if err != nil || h.Number == 0 || h.Checkpoint.Number != h.Number || len(h.Checkpoint.Signature) > 0 {
		return err
	}
	if sign(&h, h.Checkpoint); len(h.Checkpoint.Signature) == 0 {
		return nil
	}
	_, err = s.pool.Exec(ctx, `UPDATE audit_chains SET signature = $2 WHERE chain = $1 AND signature IS NULL`, arg(in), h.Checkpoint.Signature)
	return toFault(err)
}

// Signs reports whether some chain has a checkpoint that is signed.
func (s *System) Signs(ctx context.Context) (signs bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM audit_chains WHERE signature IS NOT NULL)`).Scan(&signs)
	return signs, toFault(err)
}

// EndDeletion stores that nothing of a workspace is left to delete.
func (s *System) EndDeletion(ctx context.Context, in workspace.ID) error {
	_, err := s.pool.Exec(ctx, `UPDATE deleted_workspaces SET ended_at = clock_timestamp(), users = '{}' WHERE id = $1`, arg(in))
	return toFault(err)
}

// MembersHereOnly returns the members of a workspace, and others that its provider names, who
// are members of no other.
func (s *System) MembersHereOnly(ctx context.Context, in workspace.ID) ([]workspace.UserID, error) {
	return collect(ctx, s, collectUserID, hereOnly+` ORDER BY 1`, arg(in))
}

func collectUserID(row pgx.CollectableRow) (id workspace.UserID, err error) {
	return id, row.Scan((*uuid.UUID)(&id))
}

// KnownUsers returns the users that exist.
func (s *System) KnownUsers(ctx context.Context, users []workspace.UserID) ([]workspace.UserID, error) {
	return collect(ctx, s, collectUserID, `SELECT id FROM users WHERE id = ANY ($1) ORDER BY id`, argList(users))
}
