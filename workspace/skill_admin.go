package workspace

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
)

// SkillAdminStore is what SkillAdmin needs of a store.
type SkillAdminStore interface {
	WorkspaceByID(ctx context.Context, id ID) (Workspace, error)
	// WorkspaceSkills lists the Skills of scope workspace by name, without content.
	WorkspaceSkills(ctx context.Context, in ID) ([]Skill, error)
	// SetSkillStatus changes a Skill of scope workspace: fault.SkillNotFound. A
	// Skill that has the status already is not changed.
	SetSkillStatus(ctx context.Context, in ID, slug string, status SkillStatus, at time.Time) (Skill, error)
}

// SkillAdmin lists and publishes the Skills of workspaces for operators. It does
// not show personal Skills.
type SkillAdmin struct {
	store SkillAdminStore
	now   func() time.Time
}

// NewSkillAdmin returns a SkillAdmin on a store; now is the clock, time.Now when
// nil.
func NewSkillAdmin(store SkillAdminStore, now func() time.Time) *SkillAdmin {
	return &SkillAdmin{store: store, now: Clock(now)}
}

// List returns the Skills of scope workspace, drafts included: fault.NotFound for
// an unknown workspace.
func (s *SkillAdmin) List(ctx context.Context, in ID) ([]Skill, error) {
	if _, err := s.store.WorkspaceByID(ctx, in); err != nil {
		return nil, err
	}
	return s.store.WorkspaceSkills(ctx, in)
}

// SetStatus publishes a Skill of scope workspace or makes it a draft again. name
// is its locator or its slug. Errors: fault.InvalidInput for a personal Skill,
// fault.SkillNotFound.
func (s *SkillAdmin) SetStatus(ctx context.Context, in ID, name string, status SkillStatus) (Skill, error) {
	slug := name
	if strings.Contains(name, "/") {
		scope, rest, ok := ParseLocator(name)
		if !ok || scope != WorkspaceSkill {
			return Skill{}, fault.Validation(NewIssue(fault.InvalidFormat, "locator", "must be workspace/<slug>: personal Skills are not published"))
		}
		slug = rest
	}
	return s.store.SetSkillStatus(ctx, in, slug, status, s.now())
}
