package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/skills"
)

var (
	_ skills.Store      = (*Store)(nil)
	_ skills.AdminStore = (*System)(nil)
)

func skillConflict(cause error) *fault.Error {
	return fault.Wrap(cause, fault.SkillConflict, "there is a Skill with this locator already")
}

func unknownSkill(cause error) *fault.Error {
	return fault.Wrap(cause, fault.SkillNotFound, "there is no Skill with this locator")
}

// skillColumns returns the columns of a Skill. content is the SQL expression of its
// content, an empty literal to omit it.
func skillColumns(content string) string {
	return `id, scope, slug, status, name, description, ` + content + `, created_by, revision, created_at, updated_at`
}

func collectSkill(row pgx.CollectableRow) (s skills.Skill, err error) {
	var author *uuid.UUID
	err = row.Scan((*uuid.UUID)(&s.ID), &s.Scope, &s.Slug, &s.Status, &s.Name, &s.Description, &s.Content, &author,
		&s.Revision, &s.CreatedAt, &s.UpdatedAt)
	if author != nil {
		s.CreatedBy = workspace.UserID(*author)
	}
	return s, err
}

// skillVisible selects the Skills of a workspace ($1) that a viewer ($2, null for an
// API key) may see.
const skillVisible = `workspace_id = $1 AND (scope = 'workspace' OR owner_id = $2)`

// Skills implements skills.Store. It uses strpos, which has no wildcards to escape.
func (s *Store) Skills(ctx context.Context, in workspace.ID, f skills.Filter) ([]skills.Skill, error) {
	return queryAll(ctx, s, in, collectSkill, `
		SELECT `+skillColumns(`''`)+` FROM skills
		WHERE `+skillVisible+`
		  AND ($3 = '' OR scope = $3) AND ($4 = '' OR status = $4)
		  AND (NOT $5 OR scope = 'personal' OR status = 'published')
		  AND NOT EXISTS (SELECT FROM unnest($6::text[]) word
		                  WHERE strpos(name_folded, word) = 0 AND strpos(description_folded, word) = 0)
		ORDER BY name_folded, id LIMIT $7 OFFSET $8`,
		arg(in), nullable(f.Viewer), string(f.Scope), string(f.Status), f.Discoverable, f.Words, f.Limit, f.Offset)
}

// SkillBySlug implements skills.Store.
func (s *Store) SkillBySlug(
	ctx context.Context,
	in workspace.ID,
	viewer workspace.UserID,
	scope skills.Scope,
	slug string,
) (skills.Skill, error) {
	skill, err := queryOne(ctx, s, in, collectSkill,
		`SELECT `+skillColumns(`content`)+` FROM skills WHERE `+skillVisible+` AND scope = $3 AND slug = $4`,
		arg(in), nullable(viewer), string(scope), slug)
	return orNotFound(skill, err, unknownSkill)
}

// InsertSkill implements skills.Store.
func (s *Store) InsertSkill(ctx context.Context, in workspace.ID, k skills.Skill, maxSkills int) error {
	var owner *uuid.UUID
	limit := rowLimit{
		name: "workspace skills", items: "Skills of the workspace", advice: "no further one can be created", max: maxSkills,
		rows: `skills WHERE workspace_id = $1 AND scope = 'workspace'`,
	}
	if k.Scope == skills.PersonalSkill {
		owner = nullable(k.CreatedBy)
		limit.name, limit.items = "personal skills "+k.CreatedBy.String(), "personal Skills of a user"
		limit.rows, limit.args = `skills WHERE workspace_id = $1 AND scope = 'personal' AND owner_id = $2`, []any{owner}
	}
	name, description := k.Folded()
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockAndCheckLimit(ctx, tx, in, limit); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO skills (workspace_id, id, scope, owner_id, slug, status, name, description, content,
			                    name_folded, description_folded, created_by, revision, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			arg(in), arg(k.ID), string(k.Scope), owner, k.Slug, string(k.Status), k.Name, k.Description, k.Content,
			name, description, nullable(k.CreatedBy), k.Revision, k.CreatedAt, k.UpdatedAt)
		return err
	})
}

// WorkspaceSkills implements workspace.ShelfStore.
func (s *System) WorkspaceSkills(ctx context.Context, in workspace.ID) ([]skills.Skill, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectSkill,
		`SELECT `+skillColumns(`''`)+` FROM skills WHERE workspace_id = $1 AND scope = 'workspace' ORDER BY name_folded, id`, arg(in))
}

// SetSkillStatus implements workspace.ShelfStore.
func (s *System) SetSkillStatus(
	ctx context.Context,
	in workspace.ID,
	slug string,
	status skills.Status,
	at time.Time,
) (skills.Skill, error) {
	if err := in.Check(); err != nil {
		return skills.Skill{}, err
	}
	rows, err := s.pool.Query(ctx, `
		UPDATE skills SET status = $3, updated_at = CASE WHEN status = $3 THEN updated_at ELSE $4 END
		WHERE workspace_id = $1 AND scope = 'workspace' AND slug = $2 RETURNING `+skillColumns(`''`), arg(in), slug, string(status), at)
	if err != nil {
		return skills.Skill{}, toFault(err)
	}
	skill, err := pgx.CollectExactlyOneRow(rows, collectSkill)
	skill, err = orNotFound(skill, err, unknownSkill)
	return skill, toFault(err)
}
