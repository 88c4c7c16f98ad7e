package workspace

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/query"
)

// SkillID names a Skill across scopes.
type SkillID uuid.UUID

// String is the 36-character lower-case form.
func (id SkillID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id SkillID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// SkillScope says whose a Skill is.
type SkillScope string

// The scopes of Skills: one person's in the workspace, or everybody's there.
const (
	PersonalSkill  SkillScope = "personal"
	WorkspaceSkill SkillScope = "workspace"
)

// SkillStatus says whether others find a Skill.
type SkillStatus string

// The states of Skills.
const (
	DraftSkill     SkillStatus = "draft"
	PublishedSkill SkillStatus = "published"
)

// Limits of a Skill, in characters.
const (
	MaxSkillDescription = 500
	MaxSkillContent     = 100_000
	// MaxSkillLocator is the longest scope, "/" and a slug as long as a name.
	MaxSkillLocator = len(WorkspaceSkill) + 1 + MaxName
)

// Skill is a bundle of instructions.
type Skill struct {
	ID    SkillID
	Scope SkillScope
	// Slug is 1..120 lower-case letters and digits in words joined by hyphens. It
	// is the Skill's own within the workspace, or among its owner's.
	Slug   string
	Status SkillStatus
	// Name and Description are 1..120 and 1..500 characters, trimmed, without
	// control characters but for line breaks in the description.
	Name, Description string
	// Content is 1..100,000 characters, kept as it was sent. Lists leave it out.
	Content string
	// CreatedBy is whose it is when it is personal; zero for an API key's.
	CreatedBy UserID
	// Revision counts the versions of its text, from 1.
	Revision             int
	CreatedAt, UpdatedAt time.Time
}

// Locator is how callers name it: personal/<slug> or workspace/<slug>.
func (s Skill) Locator() string { return string(s.Scope) + "/" + s.Slug }

// Folded is the name and the description as stores keep them for searching and
// sorting: without case and accents.
func (s Skill) Folded() (name, description string) {
	return query.Fold(s.Name), query.Fold(s.Description)
}

// MarshalJSON is the Skill as docs/api.md, "Skills", shows it; content is there
// when it was read.
func (s Skill) MarshalJSON() ([]byte, error) {
	var author *UserID
	if !s.CreatedBy.IsZero() {
		author = &s.CreatedBy
	}
	return json.Marshal(struct {
		ID          SkillID     `json:"id"`
		Locator     string      `json:"locator"`
		Scope       SkillScope  `json:"scope"`
		Status      SkillStatus `json:"status"`
		Name        string      `json:"name"`
		Description string      `json:"description"`
		Content     string      `json:"content,omitempty"`
		CreatedBy   *UserID     `json:"created_by"`
		Revision    int         `json:"revision"`
		CreatedAt   *string     `json:"created_at"`
		UpdatedAt   *string     `json:"updated_at"`
	}{
		s.ID, s.Locator(), s.Scope, s.Status, s.Name, s.Description, s.Content, author, s.Revision,
		FormatTime(&s.CreatedAt), FormatTime(&s.UpdatedAt),
	})
}

// Slug makes a slug of a text: its letters and digits without case and accents,
// everything else a hyphen. It is "" when there are none.
func Slug(text string) string {
	words := strings.FieldsFunc(query.Fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	slug := []rune(strings.Join(words, "-"))
	if len(slug) > MaxName {
		slug = slug[:MaxName]
	}
	return strings.Trim(string(slug), "-")
}

// ParseLocator splits a locator; ok is false when it cannot be one.
func ParseLocator(locator string) (scope SkillScope, slug string, ok bool) {
	prefix, slug, _ := strings.Cut(locator, "/")
	scope = SkillScope(prefix)
	return scope, slug, (scope == PersonalSkill || scope == WorkspaceSkill) && slug != "" && slug == Slug(slug)
}

// SkillFilter picks Skills among those a caller may see.
type SkillFilter struct {
	// Viewer sees their own personal Skills; zero (an API key) sees none.
	Viewer UserID
	// Scope and Status are "" for any.
	Scope  SkillScope
	Status SkillStatus
	// Discoverable leaves out the drafts of the workspace.
	Discoverable bool
	// Words are folded; each must occur in the name or in the description.
	Words []string
	// Limit is 1..100, Offset not negative; callers check.
	Limit, Offset int
}

// SkillStore keeps Skills.
type SkillStore interface {
	// Skills lists what the filter picks by name, without content.
	Skills(ctx context.Context, in ID, f SkillFilter) ([]Skill, error)
	// SkillBySlug returns one with its content, of the viewer's own when it is
	// personal: fault.SkillNotFound.
	SkillBySlug(ctx context.Context, in ID, viewer UserID, scope SkillScope, slug string) (Skill, error)
	// InsertSkill adds one where there are then at most so many of its scope, of
	// its author's when it is personal, whoever adds others meanwhile:
	// fault.LimitReached, fault.SkillConflict.
	InsertSkill(ctx context.Context, in ID, s Skill, most int) error
}

// Skills is the Skills of workspaces and people, and who sees them (docs/api.md,
// "Skills"). A viewer is the zero user for an API key.
type Skills struct {
	// Bounds.PersonalSkills and Bounds.WorkspaceSkills are how many there may be.
	Limits Limits
	store  SkillStore
	now    func() time.Time
}

// NewSkills returns them on a store; now is the clock, time.Now when nil.
func NewSkills(store SkillStore, now func() time.Time) *Skills {
	if now == nil {
		now = time.Now
	}
	return &Skills{store: store, now: now}
}

// Find searches what the viewer can use: published Skills of the workspace, and
// their own. Every word of text must occur in the name or the description,
// whatever its case and accents. fault.UserIdentityRequired.
func (s *Skills) Find(ctx context.Context, in ID, text string, f SkillFilter) ([]Skill, error) {
	f.Discoverable, f.Words = true, strings.Fields(query.Fold(text))
	return s.List(ctx, in, f)
}

// List returns all that the viewer may see, drafts of the workspace included:
// fault.UserIdentityRequired.
func (s *Skills) List(ctx context.Context, in ID, f SkillFilter) ([]Skill, error) {
	if err := requireUser(f.Viewer, f.Scope); err != nil {
		return nil, err
	}
	return s.store.Skills(ctx, in, f)
}

// Get returns one Skill with its content: fault.UserIdentityRequired,
// fault.InvalidInput, fault.SkillNotFound.
func (s *Skills) Get(ctx context.Context, in ID, viewer UserID, locator string) (Skill, error) {
	scope, slug, ok := ParseLocator(locator)
	if !ok {
		return Skill{}, fault.Validation(NewIssue(fault.InvalidFormat, "locator", "must be personal/<slug> or workspace/<slug>"))
	}
	if err := requireUser(viewer, scope); err != nil {
		return Skill{}, err
	}
	return s.store.SkillBySlug(ctx, in, viewer, scope, slug)
}

// NewSkill is what a caller says of a Skill they create.
type NewSkill struct {
	Scope SkillScope
	// Slug is made of the name when it is "".
	Slug                       string
	Name, Description, Content string
}

// Create adds a draft: fault.InvalidInput, fault.UserIdentityRequired,
// fault.SkillConflict, fault.LimitReached.
func (s *Skills) Create(ctx context.Context, in ID, viewer UserID, n NewSkill) (Skill, error) {
	now := StoredTime(s.now())
	skill := Skill{
		ID: SkillID(NewUUID()), Scope: n.Scope, Slug: n.Slug, Status: DraftSkill,
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
	return skill, s.store.InsertSkill(ctx, in, skill, s.Limits.WithDefaults().Skills(n.Scope))
}

func (s Skill) validate(slugOfName bool) error {
	var issues []fault.Issue
	if s.Scope != PersonalSkill && s.Scope != WorkspaceSkill {
		issues = append(issues, NewIssue(fault.InvalidUnion, "scope", "must be one of: personal, workspace"))
	}
	issues = append(issues, CheckText("name", s.Name, 1, MaxName)...)
	lines := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s.Description)
	issues = append(issues, CheckText("description", lines, 1, MaxSkillDescription)...)
	switch n := utf8.RuneCountInString(s.Content); {
	case !utf8.ValidString(s.Content) || strings.ContainsRune(s.Content, 0):
		issues = append(issues, NewIssue(fault.InvalidFormat, "content", "must be valid UTF-8 without NUL"))
	case strings.TrimSpace(s.Content) == "":
		issues = append(issues, NewIssue(fault.TooSmall, "content", "must have at least 1 character"))
	case n > MaxSkillContent:
		issues = append(issues, NewIssue(fault.TooBig, "content", "must have at most 100000 characters"))
	}
	switch {
	case slugOfName && s.Slug == "" && len(issues) == 0:
		issues = append(issues, NewIssue(fault.Custom, "slug", "the name has no letter or digit to make a slug of: give one"))
	case !slugOfName && s.Slug != Slug(s.Slug):
		issues = append(issues, NewIssue(fault.InvalidFormat, "slug", "must be lower-case letters and digits, in words joined by single hyphens"))
	}
	return ValidationError(issues)
}

// requireUser refuses an API key, which is nobody, where personal Skills are
// meant.
func requireUser(viewer UserID, scope SkillScope) error {
	if scope == PersonalSkill && viewer.IsZero() {
		return fault.New(fault.UserIdentityRequired, "personal Skills need a user's access token; an API key is nobody's")
	}
	return nil
}
