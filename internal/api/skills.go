package api

import (
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

// defaultSkills is the page of Skills.
const defaultSkills = 25

// maxSkillQuery is the longest text that Skills are searched by, in characters.
const maxSkillQuery = 500

func skillScope(r *input.Reader) workspace.SkillScope {
	return workspace.SkillScope(r.OneOf("scope", string(workspace.PersonalSkill), string(workspace.WorkspaceSkill)))
}

func (s *Server) findSkills(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	text, _ := r.String("query", input.Text{Min: 1, Max: maxSkillQuery})
	filter := workspace.SkillFilter{Viewer: c.principal.User, Scope: skillScope(r)}
	m := pageOf(r, defaultSkills)
	filter.Limit, filter.Offset = m.Limit, m.Offset
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	skills, err := s.People.Skills.Find(c.Context(), c.principal.Workspace.ID, text, filter)
	return list("skills", skills, m), err
}

func (s *Server) listSkills(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	filter := workspace.SkillFilter{Viewer: c.principal.User, Scope: skillScope(r)}
	filter.Status = workspace.SkillStatus(r.OneOf("status", string(workspace.DraftSkill), string(workspace.PublishedSkill)))
	m := pageOf(r, defaultSkills)
	filter.Limit, filter.Offset = m.Limit, m.Offset
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	skills, err := s.People.Skills.List(c.Context(), c.principal.Workspace.ID, filter)
	return list("skills", skills, m), err
}

// skillData is the answer about one Skill.
type skillData struct {
	Skill workspace.Skill `json:"skill"`
}

func (s *Server) getSkill(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	locator := r.RequiredString("locator", input.Text{Min: 1, Max: workspace.MaxSkillLocator})
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	skill, err := s.People.Skills.Get(c.Context(), c.principal.Workspace.ID, c.principal.User, locator)
	return reply{skillData{skill}, creditsOnly{}}, err
}

func (s *Server) createSkill(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	n := workspace.NewSkill{Scope: workspace.SkillScope(r.RequiredOneOf("scope", string(workspace.PersonalSkill), string(workspace.WorkspaceSkill)))}
	n.Name = r.RequiredString("name", input.Text{Min: 1, Max: workspace.MaxName})
	if n.Name != "" && !workspace.ValidName(n.Name) {
		issues.Add(fault.InvalidFormat, r.Path("name"), "must not contain control characters")
	}
	n.Slug, _ = r.String("slug", input.Text{Min: 1, Max: workspace.MaxName})
	if n.Slug != workspace.Slug(n.Slug) {
		issues.Add(fault.InvalidFormat, r.Path("slug"), "must be lower-case letters and digits, in words joined by single hyphens")
	}
	n.Description = r.RequiredString("description", input.Text{Min: 1, Max: workspace.MaxSkillDescription})
	n.Content = r.RequiredVerbatim("content", input.Text{Min: 1, Max: workspace.MaxSkillContent})
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	skill, err := s.People.Skills.Create(c.Context(), c.principal.Workspace.ID, c.principal.User, n)
	return reply{skillData{skill}, creditsOnly{}}, err
}
