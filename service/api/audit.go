package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/audit"
)

// Audit reads the history of a workspace. *audit.Reader implements it.
type Audit interface {
	Begin(ctx context.Context, in workspace.ID, r query.FeedRequest) (audit.Position, error)
	Wait(ctx context.Context, in workspace.ID, r query.FeedRequest, after audit.Position, stop func() bool) error
	Read(ctx context.Context, in workspace.ID, r query.WorkspaceChangesRequest, after audit.Position) (audit.Answer, error)
	History(ctx context.Context, in workspace.ID, id uuid.UUID, limit int) (audit.Answer, error)
	RecordHistory(ctx context.Context, in workspace.ID, d catalog.Dataset, id uuid.UUID, limit, offset int) ([]audit.Change, error)
}

// defaultHistory is the default page size of a record's history.
const defaultHistory = 25

type historyHandlers struct {
	*endpoint.Core
	Audit Audit
}

func (s historyHandlers) routes() []endpoint.Route {
	routes := []endpoint.Route{
		{Method: "POST", Path: "/workspace/changes", Operation: "read_workspace_changes",
			Scope: workspace.WorkspaceWrite, Throttling: endpoint.Limited, Caller: endpoint.Admins, ReadOnly: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesChanges, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(query.WorkspaceChangesRule, s.readWorkspaceChanges),
			Doc: endpoint.Doc{
				Tag: tagWorkspace, Summary: "Follow the changes of the workspace",
				Text: "What changed in the workspace, who changed it, and when: owners, admins and API keys may ask. A page has each thing once, in its latest state. `{}` answers no changes, and a cursor from now on. Changes are retained for 90 days, unless the operator says otherwise.",
				Examples: []endpoint.Example{
					{Name: "now", Summary: "A cursor from now on", Body: []byte(`{}`)},
					{
						Name:    "history",
						Summary: "What changed of one record",
						Body:    []byte(`{"history":"0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"}`),
					},
				},
				Data: schema.Array(workspaceChangeSchema, 0, query.MaxChanges), Metadata: changesMetadataSchema,
				Codes: []fault.Code{fault.CursorTooOld},
			}},
	}
	for _, d := range catalog.Held {
		routes = append(routes, endpoint.Route{
			Method: "GET", Path: "/workspace/" + string(d) + "/:id/history", Operation: "list_workspace_" + d.Singular() + "_history",
			Scope: workspace.WorkspaceRead, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Lists("changes", defaultHistory, s.recordHistory(d)),
			Doc: endpoint.Doc{
				Tag: tagBook, Summary: "Who changed what the workspace says of " + article(d) + ", and when, newest first",
				Text: "What is kept of its place in the book (`overlay`) and in Static Views (`membership`): the names of fields, no values. Changes are retained for 90 days, unless the operator says otherwise. A record without any has none.",
				Params: endpoint.PageParams(
					defaultHistory,
				), Data: endpoint.ListOf("changes", workspaceChangeSchema), Metadata: endpoint.ListMetadataSchema,
			},
		})
	}
	return routes
}

func (s historyHandlers) recordHistory(d catalog.Dataset) func(*endpoint.Call, endpoint.ListMetadata) ([]audit.Change, error) {
	return func(c *endpoint.Call, m endpoint.ListMetadata) ([]audit.Change, error) {
		return s.Audit.RecordHistory(c.Context(), c.Workspace(), d, c.PathID("id"), m.Limit, m.Offset)
	}
}

var workspaceChangeSchema = schema.Named("WorkspaceChange", schema.Object(
	schema.Required(
		"op",
		rule.Enum(audit.Upsert, audit.Delete).Schema.Described("`upsert`: it is new or has other values; `delete`: it is gone."),
	),
	schema.Required(
		"kind",
		rule.Enum(
			audit.Kinds()...).Schema.Described(
			"What changed. `overlay`: the workspace's data on a record of its book; `membership`: a record in a Static View; `skill`: a Skill of the workspace, not a personal one.",
		),
	),
	schema.Required(
		"id",
		schema.UUID().
			Described("The record of an `overlay` or a `membership`, the user of a `member`, the workspace of a `setting`, else its own id."),
	),
	schema.Optional("dataset", rule.Enum(catalog.Held...).Schema.Described("Of an `overlay`, a `membership` and a `view`.")),
	schema.Optional("view_id", schema.UUID().Described("Of a `membership`.")),
	schema.Required("at", schema.Time()),
	schema.Required("by", schema.Object(
		schema.Optional("user_id", schema.UUID()),
		schema.Optional("key_id", schema.UUID()),
		schema.Optional("operator", schema.Only(true).Described("The operator of the service, or the service itself: always `true`.")),
	).Described("Who made the latest change of it on this page: one of the three.")),
	schema.Required(
		"changed",
		schema.Array(schema.String("notes"), 0, 0).
			Described("The fields of an `upsert` that have other values; of a new one those that have a value."),
	),
))

func (s historyHandlers) readWorkspaceChanges(c *endpoint.Call, r query.WorkspaceChangesRequest) (endpoint.Reply, error) {
	if r.History != uuid.Nil {
		a, err := s.Audit.History(c.Context(), c.Workspace(), r.History, r.Limit)
		return auditReply(r.FeedRequest, a), err
	}
	after, err := s.Audit.Begin(c.Context(), c.Workspace(), r.FeedRequest)
	if err != nil {
		return endpoint.Reply{}, err
	}
	if r.Wait = min(r.Wait, s.RequestTimeout*2/3); r.Wait > 0 && r.Begins() {
		err := c.Wait(func() error {
			return s.Audit.Wait(c.Context(), c.Workspace(), r.FeedRequest, after, s.Stopping)
		})
		if err != nil {
			return endpoint.Reply{}, err
		}
	}
	a, err := s.Audit.Read(c.Context(), c.Workspace(), r, after)
	return auditReply(r.FeedRequest, a), err
}

func auditReply(r query.FeedRequest, a audit.Answer) endpoint.Reply {
	return endpoint.Reply{
		Data:     a.Changes,
		Metadata: changesMetadata{a.Next, a.CaughtUp, a.Lag.Round(time.Millisecond).Seconds(), 0, feedHints(r)},
	}
}
