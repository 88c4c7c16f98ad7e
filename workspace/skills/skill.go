// Package skills has the types and rules of Skills, texts that workspaces and their users
// store for agents (docs/api.md, "Skills").
package skills

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
)

type skillKind struct{}

// ID identifies a Skill, in every scope.
type ID = workspace.TypedID[skillKind]

// Scope says whose a Skill is.
type Scope string

// The scopes: one user's own Skills in the workspace, or Skills of the workspace.
const (
	PersonalSkill  Scope = "personal"
	WorkspaceSkill Scope = "workspace"
)

// Status says whether a search finds a Skill of the workspace.
type Status string

// The statuses of Skills.
const (
	DraftSkill     Status = "draft"
	PublishedSkill Status = "published"
)

// Limits of a Skill, in characters.
const (
	MaxSkillDescription = 500
	MaxSkillContent     = 100_000
	// MaxSkillLocator is the longest scope, "/" and a slug of MaxName characters.
	MaxSkillLocator = len(WorkspaceSkill) + 1 + workspace.MaxName
)

// Skill is a text of instructions for agents.
type Skill struct {
	ID    ID
	Scope Scope
	// Slug is 1..120 lower-case letters and digits in words joined by hyphens. It
	// is unique in the workspace, or among the personal Skills of a user.
	Slug   string
	Status Status
	// Name and Description are 1..120 and 1..500 characters, trimmed, without
	// control characters except line breaks and tabs in the description.
	Name, Description string
	// Content is 1..100,000 characters, stored unchanged. Lists omit it.
	Content string
	// CreatedBy is the author, who owns a personal Skill; zero for an API key.
	CreatedBy workspace.UserID
	// Revision counts the versions of the text from 1.
	Revision             int
	CreatedAt, UpdatedAt time.Time
}

// Locator returns personal/<slug> or workspace/<slug>.
func (s Skill) Locator() string { return string(s.Scope) + "/" + s.Slug }

// Folded returns the name and description without case and accents, as stores
// search and sort by them.
func (s Skill) Folded() (name, description string) {
	return catalog.Fold(s.Name), catalog.Fold(s.Description)
}

// MarshalJSON encodes the Skill as in docs/api.md, "Skills". It omits content that
// was not read.
func (s Skill) MarshalJSON() ([]byte, error) {
	var author *workspace.UserID
	if !s.CreatedBy.IsZero() {
		author = &s.CreatedBy
	}
	return json.Marshal(struct {
		ID          ID                `json:"id"`
		Locator     string            `json:"locator"`
		Scope       Scope             `json:"scope"`
		Status      Status            `json:"status"`
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Content     string            `json:"content,omitempty"`
		CreatedBy   *workspace.UserID `json:"created_by"`
		Revision    int               `json:"revision"`
		CreatedAt   *string           `json:"created_at"`
		UpdatedAt   *string           `json:"updated_at"`
	}{
		s.ID, s.Locator(), s.Scope, s.Status, s.Name, s.Description, s.Content, author, s.Revision,
		workspace.FormatTime(&s.CreatedAt), workspace.FormatTime(&s.UpdatedAt),
	})
}

// Slug returns the letters and digits of a text without case and accents, in
// words joined by hyphens; "" when it has none.
func Slug(text string) string {
	words := strings.FieldsFunc(catalog.Fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	slug := []rune(strings.Join(words, "-"))
	if len(slug) > workspace.MaxName {
		slug = slug[:workspace.MaxName]
	}
	return strings.Trim(string(slug), "-")
}

// ParseLocator splits a locator; ok is false for an invalid one.
func ParseLocator(locator string) (scope Scope, slug string, ok bool) {
	prefix, slug, _ := strings.Cut(locator, "/")
	scope = Scope(prefix)
	return scope, slug, (scope == PersonalSkill || scope == WorkspaceSkill) && slug != "" && slug == Slug(slug)
}

// Filter selects Skills that the viewer may see.
type Filter struct {
	// Viewer sees their own personal Skills. Zero, an API key, sees none.
	Viewer workspace.UserID
	// Scope and Status match all when "".
	Scope  Scope
	Status Status
	// Discoverable excludes drafts of scope workspace.
	Discoverable bool
	// Words are folded. Each must occur in the name or the description.
	Words []string
	// Limit is 1..100, Offset is not negative. The caller checks both.
	Limit, Offset int
}

// Store stores Skills.
type Store interface {
	// Skills lists what the filter selects by name, without content.
	Skills(ctx context.Context, in workspace.ID, f Filter) ([]Skill, error)
	// SkillBySlug returns one Skill with its content. A personal Skill is looked up
	// among the viewer's own: fault.SkillNotFound.
	SkillBySlug(ctx context.Context, in workspace.ID, viewer workspace.UserID, scope Scope, slug string) (Skill, error)
	// InsertSkill adds a Skill. Errors: fault.SkillConflict; fault.LimitReached when
	// the workspace, or for a personal Skill its author, has limit Skills of the
	// scope already, also under concurrent calls.
	InsertSkill(ctx context.Context, in workspace.ID, s Skill, limit int) error
}

// Skills finds and creates the Skills of workspaces and users (docs/api.md,
// "Skills"). A viewer is the zero user for an API key.
type Skills struct {
	// Limits has PersonalSkills and WorkspaceSkills.
	Limits workspace.Limits
	store  Store
	now    func() time.Time
}

// NewSkills returns Skills on a store; now is the clock, time.Now when nil.
func NewSkills(store Store, now func() time.Time) *Skills {
	return &Skills{store: store, now: workspace.Clock(now)}
}

// Find searches the published Skills of the workspace and the viewer's own. Every
// word of text must occur in the name or the description, ignoring case and
// accents. Error: fault.UserIdentityRequired.
func (s *Skills) Find(ctx context.Context, in workspace.ID, text string, f Filter) ([]Skill, error) {
	f.Discoverable, f.Words = true, strings.Fields(catalog.Fold(text))
	return s.List(ctx, in, f)
}

// List returns all Skills that the viewer may see, drafts of the workspace
// included. Error: fault.UserIdentityRequired.
func (s *Skills) List(ctx context.Context, in workspace.ID, f Filter) ([]Skill, error) {
	if err := requireUser(f.Viewer, f.Scope); err != nil {
		return nil, err
	}
	return s.store.Skills(ctx, in, f)
}

// Get returns one Skill with its content. Errors: fault.UserIdentityRequired,
// fault.InvalidInput, fault.SkillNotFound.
func (s *Skills) Get(ctx context.Context, in workspace.ID, viewer workspace.UserID, locator string) (Skill, error) {
	scope, slug, ok := ParseLocator(locator)
	if !ok {
		return Skill{}, fault.Validation(workspace.NewIssue(fault.InvalidFormat, "locator", "must be personal/<slug> or workspace/<slug>"))
	}
	if err := requireUser(viewer, scope); err != nil {
		return Skill{}, err
	}
	return s.store.SkillBySlug(ctx, in, viewer, scope, slug)
}

// NewSkill is the input of Create.
type NewSkill struct {
	Scope Scope
	// Slug is derived from the name when "".
	Slug                       string
	Name, Description, Content string
}

// Create adds a draft. Errors: fault.InvalidInput, fault.UserIdentityRequired,
// fault.SkillConflict, fault.LimitReached.
func (s *Skills) Create(ctx context.Context, in workspace.ID, viewer workspace.UserID, n NewSkill) (Skill, error) {
	now := s.now()
	skill := Skill{
		ID: ID(workspace.NewUUID()), Scope: n.Scope, Slug: n.Slug, Status: DraftSkill,
		Name: n.Name, Description: n.Description, Content: n.Content,
		CreatedBy: viewer, Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
	if n.Slug == "" {
		skill.Slug = Slug(n.Name)
	}
	if err := skill.validate(n.Slug == ""); err != nil {
		return Skill{}, err
	}
	if err := requireUser(viewer, n.Scope); err != nil {
		return Skill{}, err
	}
	return skill, s.store.InsertSkill(ctx, in, skill, skillLimit(s.Limits.WithDefaults(), n.Scope))
}

func skillLimit(l workspace.Limits, scope Scope) int {
	if scope == PersonalSkill {
		return l.PersonalSkills
	}
	return l.WorkspaceSkills
}

func (s Skill) validate(slugFromName bool) error {
	var issues []fault.Issue
	if s.Scope != PersonalSkill && s.Scope != WorkspaceSkill {
		issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "scope", "must be one of: personal, workspace"))
	}
	issues = append(issues, workspace.CheckText("name", s.Name, 1, workspace.MaxName)...)
	lines := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s.Description)
	issues = append(issues, workspace.CheckText("description", lines, 1, MaxSkillDescription)...)
	switch n := utf8.RuneCountInString(s.Content); {
	case !utf8.ValidString(s.Content) || strings.ContainsRune(s.Content, 0):
		issues = append(issues, workspace.NewIssue(fault.InvalidFormat, "content", "must be valid UTF-8 without NUL"))
	case strings.TrimSpace(s.Content) == "":
		issues = append(issues, workspace.NewIssue(fault.TooSmall, "content", "must have at least 1 character"))
	case n > MaxSkillContent:
		issues = append(issues, workspace.NewIssue(fault.TooBig, "content", "must have at most 100000 characters"))
	}
	switch {
	case slugFromName && s.Slug == "" && len(issues) == 0:
		issues = append(issues, workspace.NewIssue(fault.Custom, "slug", "the name has no letter or digit to make a slug of: give one"))
	case !slugFromName && s.Slug != Slug(s.Slug):
		issues = append(
			issues,
			workspace.NewIssue(fault.InvalidFormat, "slug", "must be lower-case letters and digits, in words joined by single hyphens"),
		)
	}
	return workspace.ValidationError(issues)
}

// requireUser rejects an API key for personal Skills.
func requireUser(viewer workspace.UserID, scope Scope) error {
	if scope == PersonalSkill && viewer.IsZero() {
		return fault.New(fault.UserIdentityRequired, "personal Skills need a user's access token: an API key belongs to no user")
	}
	return nil
}
