package api

import (
	"math"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

const tagAlerts = "Alerts"

type alertHandlers struct{ Alerts *alerts.Alerts }

func (s alertHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/alerts", Operation: "list_alerts",
			Scope: read, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Lists("alerts", defaultPeople, s.listAlerts),
			Doc: endpoint.Doc{
				Tag: tagAlerts, Summary: "List one's alerts on Views, by the names of the Views",
				Text: "`new_count` counts the records that began to match since one looked.",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("alerts", alertSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/alerts/entries", Operation: "list_alert_entries",
			Scope: read, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 512},
			Endpoint: endpoint.NoBody(s.listAlertEntries),
			Doc: endpoint.Doc{
				Tag: tagAlerts, Summary: "List what one's alerts reported, the latest first",
				Text: "Entries carry ids, never values, and are deleted after 30 days.",
				Params: append([]openapi.Parameter{
					{Name: viewIDKey, In: "query", Schema: schema.AnyUUID(), Description: "Only those of this View."},
				}, endpoint.PageParams(defaultPeople)...),
				Data: endpoint.ListOf("entries", alertEntrySchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/alerts/upsert", Operation: "upsert_alert",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(alertUpsert, s.upsertAlert),
			Doc: endpoint.Doc{
				Tag: tagAlerts, Summary: "Switch on an alert on a Dynamic View, or change how it notifies",
				Text:  "What matches now is known and is not reported. A user has at most 100 in a workspace. When an alert begins to rest, one is mailed once.",
				Data:  alertDataSchema,
				Codes: []fault.Code{fault.ViewNotFound, fault.LimitReached},
				Links: schema.Map[openapi.Link]{
					endpoint.LinkByID(
						"delete_alert",
						"viewId",
						"/data/alert/view_id",
					), endpoint.LinkByID("see_view", "id", "/data/alert/view_id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/alerts/:viewId", Operation: "delete_alert",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteAlert),
			Doc: endpoint.Doc{
				Tag: tagAlerts, Summary: "Switch off an alert", Text: "Also fine when it was off. The View itself stays.", Data: deletedSchema,
			}},
		{Method: "POST", Path: "/workspace/views/:id/seen", Operation: "see_view",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(seenRule, s.seeView),
			Doc: endpoint.Doc{
				Tag: tagAlerts, Summary: "Note that one looked at what an alert reported",
				Text:  "Searches never do. It does not go back.",
				Data:  alertDataSchema,
				Codes: []fault.Code{fault.NotFound},
			}},
	}
}

// alertRestSchema is null unless a View rests.
var alertRestSchema = schema.Nullable(schema.Named("AlertRest", schema.Object(
	schema.Required("since", schema.Time()),
	schema.Required("reason", rule.Enum(alerts.Reasons()...).Schema.Described(
		"`too_many_matches`: more than 100,000 records match; narrow the View. `definition_refused`: the definition cannot be read or compared; change it.",
	)),
))).Described("Since when nothing is reported, and why. Null unless `state` is `resting`.")

var alertSchema = schema.Named("Alert", schema.Object(
	schema.Required(viewIDKey, schema.UUID()),
	schema.Required("view_name", schema.String("Towers in Calgary")),
	schema.Required("dataset", views.DatasetRule.Schema),
	schema.Required(
		"state",
		rule.Enum(
			alerts.States()...).Schema.Described(
			"`waiting`: what matches is being read. `resting`: nothing is reported; `rest` says why.",
		),
	),
	schema.Required("rest", alertRestSchema),
	schema.Required("rest_seen", schema.Boolean().Described("False from when the alert begins to rest until one looks: `see_view`.")),
	schema.Required("new_count", schema.Count().Described("Records reported since one looked.")),
	schema.Required("latest", schema.Count().Described("The number of the View's latest entry; 0 when there is none.")),
	schema.Required("email", schema.Nullable(rule.Enum(subscriptions.Frequencies()...).Schema).Described(
		"How often one is mailed what is new; null: not at all.")),
	schema.Required("created_at", schema.Time()),
	schema.Required("seen_at", schema.Nullable(schema.Time())),
))

var alertEntrySchema = schema.Named("AlertEntry", schema.Object(
	schema.Required(viewIDKey, schema.UUID()),
	schema.Required("number", schema.Integer(1, math.MaxInt64).Described("Counts the entries of the View.")),
	schema.Required("at", schema.Time()),
	schema.Required("count", schema.Integer(1, math.MaxInt32).Described("How many records began to match.")),
	schema.Required("record_ids", schema.Array(schema.UUID(), 1, alerts.MaxIDs).Described("The first of them by id.")),
	schema.Required("seen", schema.Boolean()),
))

// alertData is the answer about one alert.
type alertData struct {
	Alert alerts.Alert `json:"alert"`
}

var alertDataSchema = schema.Named("AlertData", schema.Object(schema.Required("alert", alertSchema)))

func (s alertHandlers) listAlerts(c *endpoint.Call, m endpoint.ListMetadata) ([]alerts.Alert, error) {
	return s.Alerts.List(c.Context(), c.Workspace(), c.Principal.User, m.Limit, m.Offset)
}

func (s alertHandlers) listAlertEntries(c *endpoint.Call) (endpoint.Reply, error) {
	var issues input.Issues
	text, given, err := c.Param(viewIDKey)
	if err != nil {
		return endpoint.Reply{}, err
	}
	var query input.Value
	if query.Kind = input.Object; given {
		query.Members = []input.Member{{Name: viewIDKey, Value: input.Value{Kind: input.String, Text: text}}}
	}
	view := rule.Pointer(rule.UUID[views.ID]()).Member(&issues, issues.Object(query), viewIDKey, false)
	m, err := c.Page(defaultPeople)
	if err := endpoint.JoinIssues(issues, err); err != nil {
		return endpoint.Reply{}, err
	}
	entries, err := s.Alerts.Entries(c.Context(), c.Workspace(), c.Principal.User, view, m.Limit, m.Offset)
	return endpoint.List("entries", entries, m), err
}

var alertUpsert = rule.Object(
	rule.Required(viewIDKey, rule.UUID[views.ID](), func(c *alerts.Change) *views.ID { return &c.View }),
	rule.OptionalFunc("email", rule.Nullable(rule.Enum(subscriptions.Frequencies()...)).Described(
		"How often one is mailed what is new and one has not looked at. Null: not at all. Left out: as it was, at first not at all.",
	), func(c *alerts.Change, frequency *subscriptions.Frequency) {
		if c.Email = frequency; frequency == nil {
			c.Email = new(subscriptions.Frequency)
		}
	}),
).Named("AlertUpsert")

func (s alertHandlers) upsertAlert(c *endpoint.Call, change alerts.Change) (endpoint.Reply, error) {
	a, err := s.Alerts.Upsert(c.Context(), c.Workspace(), c.Principal.User, change)
	return endpoint.FreeReply(alertData{a}), err
}

func (s alertHandlers) deleteAlert(c *endpoint.Call) (endpoint.Reply, error) {
	err := s.Alerts.Delete(c.Context(), c.Workspace(), c.Principal.User, views.ID(c.PathID("viewId")))
	return endpoint.FreeReply(deleted{true}), err
}

// seen is what a user looked at.
type seen struct {
	through *int
}

var seenRule = rule.Object(
	rule.Optional(
		"through",
		rule.Pointer(rule.Integer(0, maxPosition)).Described("The number of the last entry one looked at. Left out: all of them."),
		func(s *seen) **int { return &s.through },
	),
).Named("ViewSeen")

func (s alertHandlers) seeView(c *endpoint.Call, in seen) (endpoint.Reply, error) {
	var through *int64
	if in.through != nil {
		number := int64(*in.through)
		through = &number
	}
	a, err := s.Alerts.See(c.Context(), c.Workspace(), c.Principal.User, views.ID(c.PathID("id")), through)
	return endpoint.FreeReply(alertData{a}), err
}
