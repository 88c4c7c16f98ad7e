package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

const workspaceColumns = `id, name, plan, credit_ceiling, time_zone, created_at`

func scanWorkspace(row pgx.Row) (w workspace.Workspace, err error) {
	err = row.Scan((*uuid.UUID)(&w.ID), &w.Name, &w.Plan, &w.CreditCeiling, &w.TimeZone, &w.CreatedAt)
	return w, err
}

// Summary returns the workspace for GET /workspace, without the caller's role.
// Error: fault.NotFound.
func (s *Store) Summary(ctx context.Context, in workspace.ID) (people.Summary, error) {
	var out people.Summary
	err := s.queryRow(ctx, in, `
		SELECT w.id, w.name, w.plan, w.created_at,
		       (SELECT count(*) FROM members m WHERE m.workspace_id = w.id)
		FROM workspaces w WHERE w.id = $1`, []any{arg(in)},
		(*uuid.UUID)(&out.ID), &out.Name, &out.Plan, &out.CreatedAt, &out.MemberCount)
	return orNotFound(out, err, unknownWorkspace)
}

// memberQuery lists by role, highest first, then address, then id.
const memberQuery = `
	SELECT u.id, u.email, u.name, m.role, m.joined_at
	FROM members m JOIN users u ON u.id = m.user_id
	WHERE m.workspace_id = $1
	ORDER BY array_position(ARRAY['owner', 'admin', 'member'], m.role), u.email_folded, u.id`

// Members implements workspace.MemberStore.
func (s *Store) Members(ctx context.Context, in workspace.ID, limit, offset int) ([]people.Member, error) {
	return queryAll(ctx, s, in, collectMember, memberQuery+` LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

func collectMember(row pgx.CollectableRow) (m people.Member, err error) {
	err = row.Scan((*uuid.UUID)(&m.ID), &m.Email, &m.Name, &m.Role, &m.JoinedAt)
	return m, err
}
