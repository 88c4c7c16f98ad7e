package api

import (
	"math"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

const tagAlerts = "Alerts"

func (s *Server) alertRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "GET", Path: "/workspace/alerts", Operation: "list_alerts",
			Scope: read, Caller: Users, Budget: Budget{placesRecords, 0, 128},
			endpoint: lists("alerts", defaultPeople, s.listAlerts),
			doc: operationDoc{
				tag: tagAlerts, summary: "List one's alerts on Views, by the names of the Views",
				text:   "`new_count` counts the records that began to match since one looked.",
				params: pageParams(defaultPeople), data: listOf("alerts", alertSchema), metadata: listMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/alerts/entries", Operation: "list_alert_entries",
			Scope: read, Caller: Users, Budget: Budget{placesRecords, 0, 512},
			endpoint: noBody(s.listAlertEntries),
			doc: operationDoc{
				tag: tagAlerts, summary: "List what one's alerts told, the latest first",
				text: "Entries carry ids, never values, and are kept for 30 days.",
				params: append([]openapi.Parameter{
					{Name: viewIDKey, In: "query", Schema: schema.AnyUUID(), Description: "Only those of this View."},
				}, pageParams(defaultPeople)...),
				data: listOf("entries", alertEntrySchema), metadata: listMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/alerts/upsert", Operation: "upsert_alert",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 32},
			endpoint: takes(alertUpsert, s.upsertAlert),
			doc: operationDoc{
				tag: tagAlerts, summary: "Switch on an alert on a Dynamic View, or change how it tells",
				text:  "What matches now is known and is not told. A user has at most 100 in a workspace. When an alert begins to rest, one is mailed once.",
				data:  alertDataSchema,
				codes: []fault.Code{fault.ViewNotFound, fault.LimitReached},
				links: schema.Map[openapi.Link]{
					linkByID("delete_alert", "viewId", "/data/alert/view_id"), linkByID("see_view", "id", "/data/alert/view_id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/alerts/:viewId", Operation: "delete_alert",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteAlert),
			doc: operationDoc{
				tag: tagAlerts, summary: "Switch off an alert", text: "Also fine when it was off. The View itself stays.", data: deletedSchema,
			}},
		{Method: "POST", Path: "/workspace/views/:id/seen", Operation: "see_view",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 32},
			endpoint: takes(seenRule, s.seeView),
			doc: operationDoc{
				tag: tagAlerts, summary: "Note that one looked at what an alert told",
				text:  "Searches never do. It does not go back.",
				data:  alertDataSchema,
				codes: []fault.Code{fault.NotFound},
			}},
	}
}

// alertRestSchema is null unless a View rests.
var alertRestSchema = schema.Nullable(schema.Named("AlertRest", schema.Object(
	schema.Required("since", schema.Time()),
	schema.Required("reason", rule.Enum(alerts.Reasons()...).Schema.Described(
		"`too_many_matches`: more than 100,000 records match; narrow the View. `definition_refused`: the definition cannot be read or compared; change it.",
	)),
))).Described("Since when nothing is told, and why. Null unless `state` is `resting`.")

var alertSchema = schema.Named("Alert", schema.Object(
	schema.Required(viewIDKey, schema.UUID()),
	schema.Required("view_name", schema.String("Towers in Calgary")),
	schema.Required("dataset", views.DatasetRule.Schema),
	schema.Required("state", rule.Enum(alerts.States()...).Schema.Described("`waiting`: what matches is being read. `resting`: nothing is told; `rest` says why.")),
	schema.Required("rest", alertRestSchema),
	schema.Required("rest_seen", schema.Boolean().Described("False from when the alert begins to rest until one looks: `see_view`.")),
	schema.Required("new_count", schema.Count().Described("Records told since one looked.")),
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

func (s *Server) listAlerts(c *call, m listMetadata) ([]alerts.Alert, error) {
	return s.Views.Alerts.List(c.Context(), c.workspace(), c.principal.User, m.Limit, m.Offset)
}

func (s *Server) listAlertEntries(c *call) (reply, error) {
	var issues input.Issues
	text, given, err := c.param(viewIDKey)
	if err != nil {
		return reply{}, err
	}
	var query input.Value
	if query.Kind = input.Object; given {
		query.Members = []input.Member{{Name: viewIDKey, Value: input.Value{Kind: input.String, Text: text}}}
	}
	view := rule.Pointer(rule.UUID[views.ID]()).Member(&issues, issues.Object(query), viewIDKey, false)
	m, err := c.page(defaultPeople)
	if err := joinIssues(issues, err); err != nil {
		return reply{}, err
	}
	entries, err := s.Views.Alerts.Entries(c.Context(), c.workspace(), c.principal.User, view, m.Limit, m.Offset)
	return list("entries", entries, m), err
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

func (s *Server) upsertAlert(c *call, change alerts.Change) (reply, error) {
	a, err := s.Views.Alerts.Upsert(c.Context(), c.workspace(), c.principal.User, change)
	return free(alertData{a}), err
}

func (s *Server) deleteAlert(c *call) (reply, error) {
	err := s.Views.Alerts.Delete(c.Context(), c.workspace(), c.principal.User, views.ID(c.pathID("viewId")))
	return free(deleted{true}), err
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

func (s *Server) seeView(c *call, in seen) (reply, error) {
	var through *int64
	if in.through != nil {
		number := int64(*in.through)
		through = &number
	}
	a, err := s.Views.Alerts.See(c.Context(), c.workspace(), c.principal.User, views.ID(c.pathID("id")), through)
	return free(alertData{a}), err
}
