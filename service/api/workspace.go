package api

import (
	"context"

	"atlas/internal/schema"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

const tagWorkspace = "Workspace"

// Workspaces reads workspaces. *postgres.Store implements it.
type Workspaces interface {
	Summary(ctx context.Context, in workspace.ID) (people.Summary, error)
}

type workspaceHandlers struct {
	*endpoint.Core
	Workspaces Workspaces
}

func (s workspaceHandlers) routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace", Operation: "get_workspace",
			Scope: workspace.WorkspaceRead, Throttling: endpoint.Never, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getWorkspace),
			Doc: endpoint.Doc{
				Tag: tagWorkspace, Summary: "Get the workspace",
				Data: schema.Object(
					schema.Required("id", schema.UUID()),
					schema.Required("name", schema.String("Acme")),
					schema.Required("plan", schema.Const(string(workspace.Pro))),
					schema.Required("role", schema.Nullable(role.Schema).Described("The user's; null for an API key.")),
					schema.Required("member_count", schema.Count().Example(4)),
					schema.Required("created_at", schema.Time()),
				),
			}},
		{Method: "GET", Path: "/workspace/credits", Operation: "get_credits",
			Scope: workspace.WorkspaceRead, Throttling: endpoint.Never, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getCredits),
			Doc: endpoint.Doc{
				Tag: tagWorkspace, Summary: "See the credits of the last 24 hours",
				Data: schema.Object(
					schema.Required("plan", schema.Const(string(workspace.Pro))),
					schema.Required("remaining", remainingCredits.Described("The ceiling without what was used; not below 0.")),
					schema.Required("ceiling", creditCeiling),
					schema.Required("used", usedCredits),
					schema.Required("window_hours", schema.Always(credits.Hours)),
				),
			}},
		{Method: "GET", Path: "/data/usage", Operation: "get_usage",
			Scope: workspace.DataRead, Throttling: endpoint.Never, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getUsage),
			Doc: endpoint.Doc{
				Tag: tagFields, Summary: "See what was used, by operation",
				Data: schema.Object(
					schema.Required("used_credits", usedCredits),
					schema.Required("ceiling", creditCeiling),
					schema.Required("remaining", remainingCredits),
					schema.Required("window_hours", schema.Always(credits.Hours)),
					schema.Required("by_hour", schema.Array(schema.Object(
						schema.Required("from", schema.Time()), schema.Required("credits", usedCredits),
					), 0, credits.Hours+1).Described("Credits by clock hour, of the hours in which some were used; they add up to `used_credits`.")),
					schema.Required(
						"by_tool",
						schema.ByKey(schema.Count()).Described("Credits by operation id; they add up to `used_credits`.").
							Example(map[string]any{"search_projects": sampleUsed}),
					),
					schema.Required(
						"by_key",
						schema.ByKey(schema.Count()).
							Described("Credits by the id of the API key; the rest of `used_credits` is that of users.").
							Example(map[string]any{"0196f0a2-6c1e-7d3a-9b5f-2f4f1d7c8a10": sampleUsed}),
					),
				),
			}},
	}
}

// sampleUsed is the number of used credits in examples.
const sampleUsed = 1250

var (
	usedCredits      = schema.Count().Example(sampleUsed)
	remainingCredits = schema.Count().Example(workspace.DefaultCeiling - sampleUsed)
	creditCeiling    = schema.Integer(1, workspace.MaxCeiling).Example(workspace.DefaultCeiling)
)

func (s workspaceHandlers) getWorkspace(c *endpoint.Call) (endpoint.Reply, error) {
	summary, err := s.Workspaces.Summary(c.Context(), c.Workspace())
	summary.Role = c.Principal.RoleOrNil()
	return endpoint.FreeReply(summary), err
}

// creditsData is the answer of GET /workspace/credits.
type creditsData struct {
	Plan        workspace.Plan `json:"plan"`
	Remaining   int64          `json:"remaining"`
	Ceiling     int64          `json:"ceiling"`
	Used        int64          `json:"used"`
	WindowHours int            `json:"window_hours"`
}

func (s workspaceHandlers) getCredits(c *endpoint.Call) (endpoint.Reply, error) {
	w := c.Principal.Workspace
	usage, err := s.usage(c)
	return endpoint.FreeReply(creditsData{w.Plan, usage.Remaining, usage.Ceiling, usage.Used, credits.Hours}), err
}

// usageData is the answer of GET /data/usage.
type usageData struct {
	UsedCredits int64            `json:"used_credits"`
	Ceiling     int64            `json:"ceiling"`
	Remaining   int64            `json:"remaining"`
	WindowHours int              `json:"window_hours"`
	ByHour      []hourData       `json:"by_hour"`
	ByTool      map[string]int64 `json:"by_tool"`
	ByKey       map[string]int64 `json:"by_key"`
}

// hourData are the credits of a clock hour.
type hourData struct {
	From    string `json:"from"`
	Credits int64  `json:"credits"`
}

func (s workspaceHandlers) getUsage(c *endpoint.Call) (endpoint.Reply, error) {
	usage, err := s.usage(c)
	hours := make([]hourData, len(usage.ByHour))
	for i, h := range usage.ByHour {
		hours[i] = hourData{h.From.Format(workspace.TimeFormat), h.Credits}
	}
	return endpoint.FreeReply(usageData{usage.Used, usage.Ceiling, usage.Remaining, credits.Hours, hours, usage.ByTool, usage.ByKey}), err
}

func (s workspaceHandlers) usage(c *endpoint.Call) (credits.Usage, error) {
	w := c.Principal.Workspace
	return s.Ledger.Usage(c.Context(), w.ID.String(), w.CreditCeiling)
}
