package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/auditlog"
)

const tagAuditLog = "Audit log"

// AuditLog reads the log of a workspace. *auditlog.Reader implements it.
type AuditLog interface {
	Read(ctx context.Context, in workspace.ID, q auditlog.Query, cursor string) (auditlog.Page, error)
	Delivered(ctx context.Context, in workspace.ID, q auditlog.DeliveredQuery) ([]auditlog.Delivered, error)
}

// SignInLog has the sign-ins and sign-outs. *postgres.System implements it.
type SignInLog interface {
	AddEvent(ctx context.Context, by workspace.Author, action, kind string, id uuid.UUID, details map[string]any) error
}

const (
	defaultEvents = 50
	// maxAction is the length of the longest action.
	maxAction = 81
)

type auditLogHandlers struct{ AuditLog AuditLog }

func (s auditLogHandlers) routes() []endpoint.Route {
	const read, admin = workspace.WorkspaceRead, workspace.WorkspaceAdmin
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/audit", Operation: "list_audit_events",
			Scope: read, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 512},
			Endpoint: endpoint.NoBody(s.listAuditEvents),
			Doc: endpoint.Doc{
				Tag: tagAuditLog, Summary: "List what changed access or left the house, the newest first",
				Text: "Sign-ins, members, roles, invitations, API keys, webhooks, Skills, Views, settings, commands of the operator, and reading above a threshold. With `order=oldest` in the order of the chain, without what is not chained yet: `next` then goes on with what follows later. Kept for 400 days, unless the operator says otherwise.",
				Params: []openapi.Parameter{
					{
						Name:        "action",
						In:          "query",
						Schema:      auditAction.Schema,
						Description: "Only this action, such as `api_key.created`, or this kind of object, such as `api_key`.",
						Example:     "api_key",
					},
					{Name: "principal_id", In: "query", Schema: schema.AnyUUID(), Description: "Only what this user or key did."},
					{Name: "object_id", In: "query", Schema: schema.AnyUUID(), Description: "Only events of this object."},
					{Name: "since", In: "query", Schema: auditTime.Schema, Description: "From this time on; a day is its begin in UTC."},
					{Name: "until", In: "query", Schema: auditTime.Schema, Description: "Before this time."},
					{Name: "order", In: "query", Schema: auditOrder.Schema},
					{Name: "cursor", In: "query", Schema: auditCursor.Schema, Description: "`metadata.next` of the page before."},
					{Name: "limit", In: "query", Schema: auditLimit.Schema},
				},
				Data:     schema.Object(schema.Required("events", schema.Array(auditEventSchema, 0, auditlog.MaxEvents))),
				Metadata: auditMetadataSchema,
				Codes:    []fault.Code{fault.CursorTooOld},
			}},
		{Method: "GET", Path: "/workspace/audit/records", Operation: "list_records_delivered",
			Scope: read, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.NoBody(s.listDelivered),
			Doc: endpoint.Doc{
				Tag: tagAuditLog, Summary: "List how many records whom was given, by operation and hour, the latest first",
				Text: "Records that were charged. Sums appear within half a minute. More than the operator's threshold in an hour is an event too, `reads.above_threshold`.",
				Params: append([]openapi.Parameter{
					{Name: "principal_id", In: "query", Schema: schema.AnyUUID(), Description: "Only what this user or key was given."},
					{Name: "since", In: "query", Schema: auditTime.Schema, Description: "From this hour on; a day is its begin in UTC."},
					{Name: "until", In: "query", Schema: auditTime.Schema, Description: "Before this hour."},
				}, endpoint.PageParams(defaultEvents)...),
				Data: endpoint.ListOf("delivered", deliveredSchema), Metadata: endpoint.ListMetadataSchema,
			}},
	}
}

// order is the order of events.
type order string

const (
	newestFirst order = "newest"
	oldestFirst order = "oldest"
)

var (
	auditAction = rule.Text(1, maxAction)
	auditTime   = query.TimeRule()
	auditOrder  = rule.Enum(newestFirst, oldestFirst).Default(newestFirst)
	auditCursor = rule.Text(1, 200)
	auditLimit  = rule.Integer(1, auditlog.MaxEvents).Default(defaultEvents)
)

var principalSchema = schema.Named("AuditPrincipal", schema.Object(
	schema.Required(
		"kind",
		rule.Enum(
			auditlog.PrincipalKinds()...).Schema.Described(
			"`scim_token`: the identity provider of the workspace; `operator`: a command of who runs Atlas; `service`: Atlas by itself.",
		),
	),
	schema.Required("id", schema.Nullable(schema.UUID()).Described("Of a user or a key.")),
))

// digestSchema is a SHA-256 in hexadecimal.
func digestSchema() *schema.Schema {
	return &schema.Schema{
		Type:     "string",
		Pattern:  "^[0-9a-f]{64}$",
		Examples: []any{"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
	}
}

var auditEventSchema = schema.Named("AuditEvent", schema.Object(
	schema.Required("id", schema.Integer(1, 1<<53-1)),
	schema.Required(
		"at",
		(&schema.Schema{Type: "string", Format: "date-time", Examples: []any{"2026-02-14T09:30:00.123456Z"}}).Described("In microseconds."),
	),
	schema.Required("action", schema.String("api_key.created")),
	schema.Required("principal", principalSchema),
	schema.Required(
		"network",
		schema.Nullable(schema.String("203.0.113.0/24")).Described("Of the client: a /24, or a /48 of IPv6. Null: not known."),
	),
	schema.Required("request_id", schema.Nullable(schema.String(schema.SampleID))),
	schema.Required("object", schema.Object(
		schema.Required("kind", schema.String("api_key")), schema.Required("id", schema.Nullable(schema.UUID())),
	)),
	schema.Required("fields", schema.Array(schema.String("networks"), 0, 0).Described("Those that changed.")),
	schema.Required("details", (&schema.Schema{Type: "object", AdditionalProperties: &schema.Schema{}}).
		Described("More about the change. Texts that begin with `sha256:` stand for values of persons and names.")),
	schema.Required(
		"values",
		schema.ByKey(schema.String("maria@example.com")).
			Described("The values that texts in `details` stand for, without those that were erased."),
	),
	schema.Required("transaction", schema.String("74123").Described("What has the same one was changed together.")),
	schema.Required(
		"number",
		schema.Nullable(schema.Integer(1, 1<<53-1)).
			Described("The place in the chain of the workspace; null: it is chained within seconds."),
	),
	schema.Required("previous", schema.Nullable(digestSchema()).Described("The digest of the event before.")),
	schema.Required("digest", schema.Nullable(digestSchema()).Described("SHA-256 of the event in its canonical form.")),
))

var auditMetadataSchema = schema.Named("AuditMetadata", schema.Object(
	schema.Required("limit", schema.Integer(1, auditlog.MaxEvents).Example(defaultEvents)),
	schema.Required(
		"next",
		schema.Nullable(schema.Cursor()).Described("The cursor of the next page; null on the last, never with `order=oldest`."),
	),
	schema.Required("credits", schema.Always(0)),
))

var deliveredSchema = schema.Named("RecordsDelivered", schema.Object(
	schema.Required("hour", schema.Time().Described("Its begin.")),
	schema.Required("principal", principalSchema),
	schema.Required("operation", schema.String("search_accounts")),
	schema.Required("records", schema.Count()),
	schema.Required("requests", schema.Count()),
))

type auditMetadata struct {
	Limit   int     `json:"limit"`
	Next    *string `json:"next"`
	Credits int64   `json:"credits"`
}

// textParams returns query parameters as the members of an object, for rules.
func textParams(c *endpoint.Call, issues *input.Issues, names ...string) (*input.Reader, error) {
	object := input.Value{Kind: input.Object}
	for _, name := range names {
		text, given, err := c.Param(name)
		if err != nil {
			return nil, err
		}
		if given {
			object.Members = append(object.Members, input.Member{Name: name, Value: input.Value{Kind: input.String, Text: text}})
		}
	}
	return issues.Object(object), nil
}

// span reads the parameters since and until, zero if they are left out.
func span(issues *input.Issues, from *input.Reader) (since, until time.Time) {
	if at := rule.Pointer(auditTime).Member(issues, from, "since", false); at != nil {
		since = *at
	}
	if at := rule.Pointer(auditTime).Member(issues, from, "until", false); at != nil {
		until = *at
	}
	return since, until
}

// idParam reads a parameter that is an id, zero if it is left out.
func idParam(issues *input.Issues, from *input.Reader, name string) uuid.UUID {
	if id := rule.Pointer(rule.UUID[uuid.UUID]()).Member(issues, from, name, false); id != nil {
		return *id
	}
	return uuid.Nil
}

func (s auditLogHandlers) listAuditEvents(c *endpoint.Call) (endpoint.Reply, error) {
	var issues input.Issues
	params, err := textParams(c, &issues, "action", "principal_id", "object_id", "since", "until", "order", "cursor")
	if err != nil {
		return endpoint.Reply{}, err
	}
	var q auditlog.Query
	if action := rule.Pointer(auditAction).Member(&issues, params, "action", false); action != nil {
		q.Actions = []string{*action}
	}
	q.Principal, q.Object = idParam(&issues, params, "principal_id"), idParam(&issues, params, "object_id")
	q.Since, q.Until = span(&issues, params)
	q.Oldest = auditOrder.Member(&issues, params, "order", false) == oldestFirst
	var cursor string
	if given := rule.Pointer(auditCursor).Member(&issues, params, "cursor", false); given != nil {
		cursor = *given
	}
	q.Limit, err = c.Integer(&issues, "limit", auditLimit)
	if err := endpoint.JoinIssues(issues, err); err != nil {
		return endpoint.Reply{}, err
	}
	page, err := s.AuditLog.Read(c.Context(), c.Workspace(), q, cursor)
	if err != nil {
		return endpoint.Reply{}, err
	}
	if page.Events == nil {
		page.Events = []auditlog.Event{}
	}
	return endpoint.Reply{
		Data:     map[string][]auditlog.Event{"events": page.Events},
		Metadata: auditMetadata{q.Limit, orNil(page.Next), 0},
	}, nil
}

func (s auditLogHandlers) listDelivered(c *endpoint.Call) (endpoint.Reply, error) {
	var issues input.Issues
	params, err := textParams(c, &issues, "principal_id", "since", "until")
	if err != nil {
		return endpoint.Reply{}, err
	}
	q := auditlog.DeliveredQuery{Principal: idParam(&issues, params, "principal_id")}
	q.Since, q.Until = span(&issues, params)
	m, err := c.Page(defaultEvents)
	if err := endpoint.JoinIssues(issues, err); err != nil {
		return endpoint.Reply{}, err
	}
	q.Limit, q.Offset = m.Limit, m.Offset
	all, err := s.AuditLog.Delivered(c.Context(), c.Workspace(), q)
	return endpoint.List("delivered", all, m), err
}
