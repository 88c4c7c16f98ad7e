package workspace

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
)

// SkillAdminStore is what the operator does to the Skills of workspaces.
type SkillAdminStore interface {
	WorkspaceByID(ctx context.Context, id ID) (Workspace, error)
	// WorkspaceSkills lists those of the workspace's own by name, without
	// content; personal ones are nobody's business.
	WorkspaceSkills(ctx context.Context, in ID) ([]Skill, error)
	// SetSkillStatus changes one of the workspace's own: fault.SkillNotFound. A
	// Skill that has the status already stays as it is.
	SetSkillStatus(ctx context.Context, in ID, slug string, status SkillStatus, at time.Time) (Skill, error)
}

// SkillAdmin is the operator's side of Skills: publishing the drafts of a workspace.
type SkillAdmin struct {
	store SkillAdminStore
	now   func() time.Time
}

// NewSkillAdmin returns it on a store; now is the clock, time.Now when nil.
func NewSkillAdmin(store SkillAdminStore, now func() time.Time) *SkillAdmin {
	if now == nil {
		now = time.Now
	}
	return &SkillAdmin{store: store, now: now}
}

// List returns the workspace's own Skills, drafts included: fault.NotFound when
// it is unknown.
func (s *SkillAdmin) List(ctx context.Context, in ID) ([]Skill, error) {
	if _, err := s.store.WorkspaceByID(ctx, in); err != nil {
		return nil, err
	}
	return s.store.WorkspaceSkills(ctx, in)
}

// SetStatus publishes a Skill of the workspace, or takes that back. It is named
// by its locator or its slug alone: fault.InvalidInput for a personal one,
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
	return s.store.SetSkillStatus(ctx, in, slug, status, StoredTime(s.now()))
}
