package api

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/boards"
	"atlas/workspace/undo"
)

const (
	defaultKeyActions = 50
	maxKeyActions     = 200
)

type keyActionHandlers struct {
	People People
	Book   Book
	Views  Views
	Boards *boards.Boards
}

// routes are never throttled, like the routes of keys.
func (s keyActionHandlers) routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/api-keys/:id/actions", Operation: "list_api_key_actions",
			Scope: workspace.WorkspaceRead, Caller: endpoint.AdminUsers, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.NoBody(s.listKeyActions),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "List what an API key changed in the workspace, the latest first",
				Text: "Also of a key that has ended, for as long as changes are retained: 90 days, unless the operator says otherwise. Names of fields, no values. What it read, keys that it made and deliveries that it repeated are in the audit log.",
				Params: []openapi.Parameter{
					{Name: "cursor", In: "query", Schema: auditCursor.Schema, Description: "`metadata.next` of the page before."},
					{Name: "limit", In: "query", Schema: keyActionLimit.Schema},
				},
				Data: schema.Object(
					schema.Required("actions", schema.Array(keyActionSchema, 0, maxKeyActions)),
				), Metadata: keyActionsMetadata,
				Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/api-keys/:id/undo", Operation: "undo_api_key",
			Scope: workspace.WorkspaceWrite, Caller: endpoint.AdminUsers, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 512},
			Endpoint: endpoint.Takes(keyUndoRule, s.undoKey),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "Undo what a revoked API key changed",
				Text: "Makes each object what it was before the first of the actions, with what the key did to it later, where nobody else has changed it since. What is created goes, with what is in it; a record that left a Static View returns; a member gets the role before. What a field or a deleted object was is stored nowhere. Each object is restored alone: what fails leaves the others. Repeating it changes nothing more.",
				Examples: []endpoint.Example{
					{Name: "look", Summary: "What would be undone", Body: []byte(`{"dry_run":true}`)},
					{Name: "since", Summary: "All since a time", Body: []byte(`{"since":"2026-01-31T09:00:00Z"}`)},
				},
				Data:     schema.Object(schema.Required("actions", schema.Array(undoneActionSchema, 0, undo.MaxActions))),
				Metadata: keyActionsMetadata, Codes: []fault.Code{fault.NotFound, fault.APIKeyActive},
			}},
	}
}

var keyActionProperties = []schema.Property{
	schema.Required("id", schema.Integer(1, 1<<53-1)),
	schema.Required("at", schema.Time()),
	schema.Required("action", schema.OneOf(undo.Created, undo.Changed, undo.Removed).
		Described("A record that was added to a book or a Static View is `created` there, one that left it `removed`.")),
	schema.Required("kind", rule.Enum(audit.Kinds()...).Schema.Described("As of the changes of the workspace.")),
	schema.Required(
		"object_id",
		schema.UUID().Described("The record of an `overlay` or a `membership`, the user of a `member`, else its own id."),
	),
	schema.Optional("dataset", rule.Enum(catalog.Held...).Schema.Described("Of an `overlay`, a `membership` and a `view`.")),
	schema.Optional("view_id", schema.UUID().Described("Of a `membership`.")),
	schema.Required("fields", schema.Array(schema.String("notes"), 0, 0).Described("Those that got other values.")),
	schema.Required("request_id", schema.Nullable(schema.UUID()).Described("Null: not known, or chosen by the client and no UUID.")),
}

const stateTexts = "`nothing_left`: it is as it was before already; `changed_since`: somebody else changed it later; " +
	"`not_stored`: what it was is stored nowhere; `not_offered`: what is of this kind is not deleted"

var keyActionSchema = schema.Named("ApiKeyAction", keyActionWith(
	schema.Required("undo", schema.OneOf(undo.States()...).
		Described("Whether undoing it, with what the key did to the object later, is possible. "+stateTexts+".")),
))

var undoneActionSchema = schema.Named("ApiKeyActionOutcome", keyActionWith(
	schema.Required("outcome", schema.OneOf(undo.Outcomes()...).
		Described("`undone`: with `dry_run`, it would be. "+stateTexts+"; `refused`: a rule forbids it.")),
	schema.Optional("reason", schema.String("a workspace needs an owner, and this is its only one").Described("Why it was refused.")),
))

func keyActionWith(more ...schema.Property) *schema.Schema {
	return schema.Object(slices.Concat(keyActionProperties, more)...)
}

var keyActionsMetadata = schema.Named("ApiKeyActionsMetadata", schema.Object(
	schema.Required("limit", schema.Integer(1, undo.MaxActions).Example(defaultKeyActions)),
	schema.Required("next", schema.Nullable(schema.Cursor()).Described("The cursor of what is left; null: nothing.")),
	schema.Required("credits", schema.Always(0)),
))

// keyAction is an action in the form of keyActionSchema and undoneActionSchema.
type keyAction struct {
	ID      int64           `json:"id"`
	At      string          `json:"at"`
	Action  undo.Done       `json:"action"`
	Kind    audit.Kind      `json:"kind"`
	Object  uuid.UUID       `json:"object_id"`
	Dataset catalog.Dataset `json:"dataset,omitzero"`
	View    uuid.UUID       `json:"view_id,omitzero"`
	Fields  []string        `json:"fields"`
	Request *uuid.UUID      `json:"request_id"`
	Undo    undo.State      `json:"undo,omitzero"`
	Outcome undo.State      `json:"outcome,omitzero"`
	Reason  string          `json:"reason,omitzero"`
}

func keyActionOf(c undo.Change) keyAction {
	return keyAction{
		ID: c.Seq, At: c.At.UTC().Format(workspace.TimeFormat), Action: c.Done(), Kind: c.Kind, Object: c.ID, Dataset: c.Dataset,
		View: c.View, Fields: c.Fields, Request: orNil(c.Request),
	}
}

type keyActionsData struct {
	Actions []keyAction `json:"actions"`
}

var keyActionLimit = rule.Integer(1, maxKeyActions).Default(defaultKeyActions)

func (s keyActionHandlers) listKeyActions(c *endpoint.Call) (endpoint.Reply, error) {
	var issues input.Issues
	params, err := textParams(c, &issues, "cursor")
	if err != nil {
		return endpoint.Reply{}, err
	}
	var cursor string
	if given := rule.Pointer(auditCursor).Member(&issues, params, "cursor", false); given != nil {
		cursor = *given
	}
	limit, err := c.Integer(&issues, "limit", keyActionLimit)
	if err := endpoint.JoinIssues(issues, err); err != nil {
		return endpoint.Reply{}, err
	}
	page, err := s.People.Undoer.List(c.Context(), c.Workspace(), workspace.KeyID(c.PathID("id")), cursor, limit)
	if err != nil {
		return endpoint.Reply{}, err
	}
	data := keyActionsData{make([]keyAction, len(page.Changes))}
	for i, change := range page.Changes {
		data.Actions[i] = keyActionOf(change)
		data.Actions[i].Undo = change.State()
	}
	return endpoint.Reply{Data: data, Metadata: auditMetadata{limit, orNil(page.Next), 0}}, nil
}

var keyUndoRule = rule.Object(
	rule.OptionalFunc("ids", rule.Array("ids", rule.Integer(1, 1<<53-1), 1, undo.MaxActions).Described("Those of actions; omitted: all."),
		func(r *undo.Request, ids []int) {
			for _, id := range ids {
				r.Seqs = append(r.Seqs, int64(id))
			}
		}),
	rule.Optional("since", query.TimeRule().Described("Those from this time on."), func(r *undo.Request) *time.Time { return &r.Since }),
	rule.Optional("limit", rule.Integer(1, undo.MaxActions).Default(undo.MaxActions).Described("How many actions, the latest first."),
		func(r *undo.Request) *int { return &r.Limit }),
	rule.Optional("cursor", auditCursor.Described("`metadata.next` of the request before, which had the same selection."),
		func(r *undo.Request) *string { return &r.Cursor }),
	rule.Optional("dry_run", rule.Boolean().Described("True to change nothing, and see what would be undone."),
		func(r *undo.Request) *bool { return &r.DryRun }),
	rule.Step(func(issues *input.Issues, body *input.Reader, r *undo.Request) {
		if r.Seqs != nil && !r.Since.IsZero() {
			issues.Add(fault.Custom, body.Path("since"), "contradicts ids: give one of them")
		}
	}),
).Named("ApiKeyUndo")

// undoParts are the parts of a workspace whose objects keys can change.
func (s keyActionHandlers) undoParts() undo.Parts {
	return undo.Parts{
		Book: s.Book, Memberships: s.Views.Memberships, Views: s.Views.Views, Boards: s.Boards, Webhooks: s.People.Webhooks,
		Subscriptions: s.People.Subscriptions, Invitations: s.People.Invitations, Members: s.People.Members,
	}
}

func (s keyActionHandlers) undoKey(c *endpoint.Call, r undo.Request) (endpoint.Reply, error) {
	id := workspace.KeyID(c.PathID("id"))
	c.Target = id.String()
	r.By = actor(c)
	report, err := s.People.Undoer.Undo(c.Context(), c.Workspace(), id, s.undoParts(), r)
	if err != nil {
		return endpoint.Reply{}, err
	}
	data := keyActionsData{make([]keyAction, len(report.Results))}
	for i, result := range report.Results {
		data.Actions[i] = keyActionOf(result.Change)
		data.Actions[i].Outcome = result.Outcome
		if result.Err != nil {
			data.Actions[i].Reason = result.Err.Message
		}
	}
	return endpoint.Reply{Data: data, Metadata: auditMetadata{r.Limit, orNil(report.Next), 0}}, nil
}
