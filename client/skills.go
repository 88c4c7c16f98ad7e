package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Skill is a bundle of instructions.
type Skill struct {
	ID          string      `json:"id"`
	Locator     string      `json:"locator"` // personal/<slug>, workspace/<slug>
	Scope       SkillScope  `json:"scope"`
	Status      SkillStatus `json:"status"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	// Content is only set in the responses of Get and Create.
	Content   string    `json:"content"`
	CreatedBy string    `json:"created_by"` // a user's id, "" for an API key
	Revision  int       `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// NewSkill is the input of Create.
type NewSkill struct {
	Scope       SkillScope `json:"scope"`
	Name        string     `json:"name"`
	Slug        string     `json:"slug,omitzero"` // "": derived from the name
	Description string     `json:"description"`
	Content     string     `json:"content"`
}

// SkillFind selects published Skills.
type SkillFind struct {
	Query string // words of name or description
	Scope SkillScope
}

// SkillList selects Skills.
type SkillList struct {
	Scope  SkillScope
	Status SkillStatus
}

type skillPage struct {
	Query  string      `json:"query,omitzero"`
	Scope  SkillScope  `json:"scope,omitzero"`
	Status SkillStatus `json:"status,omitzero"`
	Limit  int         `json:"limit"`
	Offset int         `json:"offset"`
}

// Skills are those that the caller may see.
type Skills struct{ conn *conn }

// Find iterates over published Skills of the workspace and the user's own ones.
func (s *Skills) Find(ctx context.Context, f SkillFind) iter.Seq2[Skill, error] {
	return s.walk(ctx, "/workspace/skills/find", skillPage{Query: f.Query, Scope: f.Scope})
}

// List iterates over all Skills that the caller may see, drafts included.
func (s *Skills) List(ctx context.Context, l SkillList) iter.Seq2[Skill, error] {
	return s.walk(ctx, "/workspace/skills/list", skillPage{Scope: l.Scope, Status: l.Status})
}

func (s *Skills) walk(ctx context.Context, path string, page skillPage) iter.Seq2[Skill, error] {
	page.Limit = MaxPage
	return walk(func(offset int) (envelope[map[string][]Skill], error) {
		page.Offset = offset
		return call[map[string][]Skill](ctx, s.conn, request{method: http.MethodPost, path: path, body: page})
	}, "skills")
}

// Get returns a Skill with its content, or ErrSkillNotFound.
func (s *Skills) Get(ctx context.Context, locator string) (Skill, error) {
	body := map[string]string{"locator": locator}
	d, err := post[struct{ Skill Skill }](ctx, s.conn, "/workspace/skills/get", body)
	return d.Skill, err
}

// Create creates a draft.
func (s *Skills) Create(ctx context.Context, n NewSkill) (Skill, error) {
	d, err := post[struct{ Skill Skill }](ctx, s.conn, "/workspace/skills/create", n)
	return d.Skill, err
}
