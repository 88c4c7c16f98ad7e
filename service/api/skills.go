package api

import (
	"math"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/skills"
)

const tagSkills = "Skills"

type skillHandlers struct{ Skills *skills.Skills }

func (s skillHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	const personal = fault.UserIdentityRequired // an API key asks for something personal
	return []endpoint.Route{
		{Method: "POST", Path: "/workspace/skills/find", Operation: "find_skills",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(skillQuery, s.findSkills),
			Doc: endpoint.Doc{
				Tag: tagSkills, Summary: "Find published Skills, and one's own personal ones",
				Data: endpoint.ListOf("skills", listedSkillSchema), Metadata: endpoint.ListMetadataSchema, Codes: []fault.Code{personal},
			}},
		{Method: "POST", Path: "/workspace/skills/list", Operation: "list_skills",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(skillFilter, s.listSkills),
			Doc: endpoint.Doc{
				Tag: tagSkills, Summary: "List all Skills that the caller may see",
				Data: endpoint.ListOf("skills", listedSkillSchema), Metadata: endpoint.ListMetadataSchema, Codes: []fault.Code{personal},
			}},
		{Method: "POST", Path: "/workspace/skills/get", Operation: "get_skill",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(skillLocator, s.getSkill),
			Doc: endpoint.Doc{
				Tag: tagSkills, Summary: "Get one Skill, with its content",
				Data:  skillDataSchema,
				Codes: []fault.Code{personal, fault.SkillNotFound},
			}},
		{Method: "POST", Path: "/workspace/skills/create", Operation: "create_skill",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(newSkill, s.createSkill),
			Doc: endpoint.Doc{
				Tag: tagSkills, Summary: "Create a Skill, as a draft",
				Data:  skillDataSchema,
				Codes: []fault.Code{personal, fault.SkillConflict, fault.LimitReached},
				Links: schema.Map[openapi.Link]{endpoint.LinkByBody("get_skill", "locator", "/data/skill/locator")},
			}},
	}
}

var (
	skillScope  = rule.Enum(skills.PersonalSkill, skills.WorkspaceSkill).As(schema.OneOf(skills.WorkspaceSkill, skills.PersonalSkill))
	skillStatus = rule.Enum(skills.DraftSkill, skills.PublishedSkill)

	skillSchema       = schema.Named("Skill", skillOf(schema.Required("content", schema.String(sampleContent))))
	skillDataSchema   = schema.Named("SkillData", schema.Object(schema.Required("skill", skillSchema)))
	listedSkillSchema = schema.Named("ListedSkill", skillOf().Described("A Skill without its content."))
)

const (
	sampleSkill       = "Site visits"
	sampleDescription = "How to write up a visit to a site."
	sampleContent     = "Note who was there, what stands, and what comes next."
)

func skillOf(content ...schema.Property) *schema.Schema {
	return schema.Object(append([]schema.Property{
		schema.Required("id", schema.UUID()),
		schema.Required("locator", schema.String("workspace/site-visits").Described("`personal/<slug>` or `workspace/<slug>`.")),
		schema.Required("scope", skillScope.Schema),
		schema.Required("status", skillStatus.Schema),
		schema.Required("name", schema.String(sampleSkill)),
		schema.Required("description", schema.String(sampleDescription)),
		schema.Required("created_by", schema.Nullable(schema.UUID()).Described("Null for an API key.")),
		schema.Required("revision", schema.Integer(1, math.MaxInt32)),
		schema.Required("created_at", schema.Time()),
		schema.Required("updated_at", schema.Time()),
	}, content...)...)
}

const (
	// defaultSkills is the default page size of Skills.
	defaultSkills = 25
	// maxSkillQuery is the maximum length of a text that Skills are searched for,
	// in characters.
	maxSkillQuery = 500
)

// skillRequest has the parameters for finding and listing Skills.
type skillRequest struct {
	text   string
	scope  skills.Scope
	status skills.Status
	page   endpoint.ListMetadata
}

func (r skillRequest) filter(c *endpoint.Call) skills.Filter {
	return skills.Filter{Viewer: c.Principal.User, Scope: r.scope, Status: r.status, Limit: r.page.Limit, Offset: r.page.Offset}
}

var (
	inScope = rule.Optional("scope", skillScope, func(r *skillRequest) *skills.Scope { return &r.scope })
	limited = rule.Optional("limit", endpoint.LimitRule(defaultSkills), func(r *skillRequest) *int { return &r.page.Limit })
	skipped = rule.Optional("offset", endpoint.OffsetRule, func(r *skillRequest) *int { return &r.page.Offset })

	skillQuery = rule.Object(
		rule.Optional(
			"query",
			rule.Text(1, maxSkillQuery).Described("Every word must occur in the name or the description.").Example("visit"),
			func(r *skillRequest) *string { return &r.text },
		),
		inScope,
		limited,
		skipped,
	)
	skillFilter = rule.Object(inScope,
		rule.Optional("status", skillStatus, func(r *skillRequest) *skills.Status { return &r.status }),
		limited, skipped,
	)
)

func (s skillHandlers) findSkills(c *endpoint.Call, in skillRequest) (endpoint.Reply, error) {
	skills, err := s.Skills.Find(c.Context(), c.Workspace(), in.text, in.filter(c))
	return endpoint.List("skills", skills, in.page), err
}

func (s skillHandlers) listSkills(c *endpoint.Call, in skillRequest) (endpoint.Reply, error) {
	skills, err := s.Skills.List(c.Context(), c.Workspace(), in.filter(c))
	return endpoint.List("skills", skills, in.page), err
}

var skillLocator = rule.Only("locator", rule.Text(1, skills.MaxSkillLocator).As(
	schema.Slug(workspace.MaxName).Below(string(skills.WorkspaceSkill), string(skills.PersonalSkill)).Example("workspace/site-visits")))

// skillData is the answer about one Skill.
type skillData struct {
	Skill skills.Skill `json:"skill"`
}

func (s skillHandlers) getSkill(c *endpoint.Call, locator string) (endpoint.Reply, error) {
	skill, err := s.Skills.Get(c.Context(), c.Workspace(), c.Principal.User, locator)
	return endpoint.FreeReply(skillData{skill}), err
}

var newSkill = rule.Object(
	rule.Required("scope", skillScope, func(n *skills.NewSkill) *skills.Scope { return &n.Scope }),
	rule.Required("name", workspace.NameRule(workspace.MaxName).Example(sampleSkill), func(n *skills.NewSkill) *string { return &n.Name }),
	rule.Optional("slug", rule.Text(1, workspace.MaxName).As(schema.Slug(workspace.MaxName).Example("site-visits").
		Described("By default made of the name, which then needs a letter or digit.")).
		Check(func(slug string) bool { return slug == skills.Slug(slug) },
			fault.InvalidFormat, "must be lower-case letters and digits, in words joined by single hyphens"),
		func(n *skills.NewSkill) *string { return &n.Slug }),
	rule.Required(
		"description",
		rule.Text(1, skills.MaxSkillDescription).As(schema.Paragraph(skills.MaxSkillDescription).Example(sampleDescription)),
		func(n *skills.NewSkill) *string { return &n.Description },
	),
	rule.Required("content", rule.Verbatim(skills.MaxSkillContent).Described("Kept as it is sent.").Example(sampleContent),
		func(n *skills.NewSkill) *string { return &n.Content }),
).Named("SkillCreate")

func (s skillHandlers) createSkill(c *endpoint.Call, n skills.NewSkill) (endpoint.Reply, error) {
	skill, err := s.Skills.Create(c.Context(), c.Workspace(), c.Principal.User, n)
	return endpoint.FreeReply(skillData{skill}), err
}
