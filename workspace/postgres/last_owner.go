package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
)

// lastOwnerLock names the lock under which last owners are mailed, as limits have names.
const lastOwnerLock = "last owner"

// mailLastOwner adds the job that mails the last owner that they remain the owner, at most once
// a day: a provider repeats its request every few minutes.
func mailLastOwner(ctx context.Context, tx pgx.Tx, in workspace.ID, n people.LastOwnerNotice, now time.Time) error {
	if err := lockLimit(ctx, tx, in, lastOwnerLock); err != nil {
		return err
	}
	var notified bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM jobs WHERE workspace_id = $1 AND kind = $2 AND lane = $1 AND created_at > $3 AND payload->>'user_id' = $4)`,
		arg(in), string(people.LastOwnerKind), now.AddDate(0, 0, -1), n.User.String()).Scan(&notified)
	if err != nil || notified {
		return err
	}
	payload, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = addJobs(ctx, tx, []jobs.New{{
		ID: jobs.NewID(), Workspace: in, Kind: people.LastOwnerKind, Lane: uuid.UUID(in), Payload: payload, RunAt: now,
	}}, now)
	return err
}

// LastOwnerLetter returns what a notice needs: fault.NotFound if the user is not the only owner any
// more.
func (s *System) LastOwnerLetter(ctx context.Context, in workspace.ID, n people.LastOwnerNotice) (l people.LastOwnerLetter, err error) {
	if err := in.Check(); err != nil {
		return l, err
	}
	err = s.pool.QueryRow(ctx, `
		SELECT w.name, u.email FROM members m JOIN users u ON u.id = m.user_id JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.workspace_id = $1 AND m.user_id = $2 AND m.role = 'owner'
			AND NOT EXISTS (SELECT FROM members o WHERE o.workspace_id = $1 AND o.user_id <> $2 AND o.role = 'owner')`, arg(in), arg(n.User)).Scan(&l.WorkspaceName, &l.Email)
	if noRows(err) {
		return l, fault.Wrap(err, fault.NotFound, "nobody has to be notified")
	}
	return l, toFault(err)
}
