package api

import (
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

const tagWebhooks = "Webhooks"

type webhookHandlers struct{ Webhooks *webhooks.Webhooks }

func (s webhookHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	oneWebhook := schema.Object(schema.Required("webhook", webhookSchema))
	oneDelivery := schema.Object(schema.Required("delivery", deliverySchema))
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/webhooks", Operation: "list_webhooks",
			Scope: read, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Lists("webhooks", defaultPeople, s.listWebhooks),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "List webhooks, the oldest first",
				Text: "An API key without `workspace:write`, which may not manage webhooks, gets `url` without path and query.",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("webhooks", webhookSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/webhooks/upsert", Operation: "upsert_webhook",
			Scope: write, Caller: endpoint.Admins, Secret: true, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(s.webhookUpsert(), s.upsertWebhook),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Create a webhook, or change and enable one",
				Text:  "`secret` is in the answer to creation and rotation only.",
				Data:  oneWebhook,
				Codes: []fault.Code{fault.NotFound, fault.LimitReached, fault.ViewNotFound, fault.BadRequest},
				Links: schema.Map[openapi.Link]{
					endpoint.LinkByID("delete_webhook", "id", "/data/webhook/id"),
					endpoint.LinkByID("test_webhook", "id", "/data/webhook/id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/webhooks/:id", Operation: "delete_webhook",
			Scope: write, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteWebhook),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Delete a webhook", Text: "What waits for it is not delivered.",
				Data: deletedSchema, Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/test", Operation: "test_webhook",
			Scope: write, Caller: endpoint.Admins, Throttling: endpoint.Limited,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.testWebhook),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Send `webhook.test` to a webhook", Text: "A disabled webhook gets it too. It is sent in the background: the log of deliveries shows the outcome.",
				Data: oneDelivery, Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/rotate", Operation: "rotate_webhook",
			Scope: write, Caller: endpoint.Admins, Secret: true, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.rotateWebhook),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Give a webhook a new secret", Text: "For 24 hours deliveries are signed with the secret before too.",
				Data: oneWebhook, Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "GET", Path: "/workspace/webhooks/:id/deliveries", Operation: "list_webhook_deliveries",
			Scope: read, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Lists("deliveries", defaultPeople, s.listDeliveries),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "List the deliveries of a webhook, the newest first", Text: "Those of the last 30 days.",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("deliveries", deliverySchema), Metadata: endpoint.ListMetadataSchema,
				Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/deliveries/:deliveryId/replay", Operation: "replay_webhook_delivery",
			Scope: write, Caller: endpoint.Admins, Throttling: endpoint.Limited,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.replayDelivery),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Deliver again", Text: "With the same `webhook-id`. A delivery that is pending stays as it is.",
				Data: oneDelivery, Codes: []fault.Code{fault.NotFound, fault.WebhookDisabled},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/replay", Operation: "replay_webhook",
			Scope: write, Caller: endpoint.Admins, Throttling: endpoint.Limited,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Takes(replaySpan, s.replayWebhook),
			Doc: endpoint.Doc{
				Tag: tagWebhooks, Summary: "Deliver again what was made in a span of time",
				Text: "From `from` to before `to`, delivered or failed, the oldest first, at most 10,000: `next` is the `from` of the next call, null when nothing is left.",
				Data: schema.Object(
					schema.Required("replayed", schema.Integer(0, webhooks.MaxReplay)),
					schema.Required("next", schema.Nullable(schema.Time())),
				),
				Codes: []fault.Code{fault.NotFound, fault.WebhookDisabled},
			}},
	}
}

var webhookEvent = rule.Enum(webhooks.Events()...).Named("WebhookEvent")

var namedViewSchema = schema.Named("WebhookView", schema.Object(
	schema.Required(viewIDKey, schema.UUID()),
	schema.Required("name", schema.Nullable(schema.String("Towers in Calgary")).Described("Null for a View that is deleted.")),
	schema.Required("state", schema.OneOf(webhooks.NamedStates()...).Described(
		"`waiting`, `watching` and `resting` as those of an alert. `off`: the webhook is disabled, or did not choose `view.matched`. `deleted`: there is no such View anymore.",
	),
	),
	schema.Required("rest", alertRestSchema),
))

var webhookSchema = schema.Named("Webhook", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("url", schema.String("https://hooks.example/atlas")),
	schema.Required(
		"url_digest",
		schema.String("d3020ea88224231384b6588974416d677ccf32b860bfd1ae7fad1c85669d674c").
			Described("The SHA-256 of the whole URL, in hexadecimal."),
	),
	schema.Required("events", schema.Array(webhookEvent.Schema, 1, len(webhooks.Events()))),
	schema.Required("view_ids", schema.Array(schema.UUID(), 0, webhooks.MaxViews).Described("The Views that `view.matched` is about.")),
	schema.Required(
		"views",
		schema.Array(namedViewSchema, 0, webhooks.MaxViews).Described("What becomes of each of `view_ids`, in the same order."),
	),
	schema.Required(
		"enabled",
		schema.Boolean().Described("False once the receiver answered 410, or failed for 24 hours. An upsert enables it."),
	),
	schema.Required("created_at", schema.Time()),
	schema.Optional(
		"secret",
		schema.String("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").
			Described("Signs deliveries by Standard Webhooks. In the answer to creation and rotation only, not in one to their repetition: rotate it again."),
	),
))

var deliverySchema = schema.Named("WebhookDelivery", schema.Object(
	schema.Required("id", schema.UUID().Described("The `webhook-id` of each attempt.")),
	schema.Required("event", schema.OneOf(append(webhooks.Events(), webhooks.TestEvent)...)),
	schema.Required("status", schema.OneOf(webhooks.Statuses()...)),
	schema.Required("attempts", schema.Integer(0, 1000).Described("Since it was made or replayed.")),
	schema.Required("next_attempt_at", schema.Nullable(schema.Time()).Described("Null unless it is pending.")),
	schema.Required(
		"response_status",
		schema.Nullable(schema.Integer(100, 999)).Described("Of the last attempt; null: there was no response."),
	),
	schema.Required("created_at", schema.Time()),
))

// webhookData and deliveryData are the answers about one webhook or delivery.
type (
	webhookData struct {
		Webhook webhooks.Webhook `json:"webhook"`
	}
	deliveryData struct {
		Delivery webhooks.Delivery `json:"delivery"`
	}
)

func (d webhookData) WithoutSecrets() (any, []string) {
	if d.Webhook.Secret == "" {
		return d, nil
	}
	d.Webhook.Secret = ""
	return d, []string{"webhook.secret"}
}

func (s webhookHandlers) listWebhooks(c *endpoint.Call, m endpoint.ListMetadata) ([]webhooks.Webhook, error) {
	page, err := s.Webhooks.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
	if c.Principal.RequireScope(workspace.WorkspaceWrite) != nil {
		for i, w := range page {
			page[i] = w.WithoutPath()
		}
	}
	return page, err
}

// maxEvents allows for events that are given twice and count once.
const maxEvents = 20

func (s webhookHandlers) webhookUpsert() rule.Rule[webhooks.Change] {
	return rule.Object(
		rule.Optional(
			"id", rule.UUID[webhooks.ID]().Described("The webhook to change; omitted: a new one."),
			func(c *webhooks.Change) *webhooks.ID { return &c.ID },
		),
		rule.Required(
			"url",
			rule.Text(1, webhooks.MaxURL).Example("https://hooks.example/atlas").Described(
				"HTTPS, of a public address, without a user and a fragment.",
			),
			func(c *webhooks.Change) *string { return &c.URL },
		),
		// Upsert checks it too; here it is reported with the other issues.
		rule.Step(func(issues *input.Issues, body *input.Reader, c *webhooks.Change) {
			if err := s.Webhooks.Guard.Check(c.URL); c.URL != "" && err != nil {
				issues.Add(fault.Custom, body.Path("url"), "%s", err)
			}
		}),
		rule.Required(
			"events", rule.Array("events", webhookEvent, 1, maxEvents),
			func(c *webhooks.Change) *[]webhooks.Event { return &c.Events },
		),
		rule.Optional(
			"view_ids", rule.Array("ids", rule.UUID[views.ID](), 0, webhooks.MaxViews).Described(
				"The Views that `view.matched` is about: Dynamic Views. Omitted: those that the webhook has.",
			),
			func(c *webhooks.Change) *[]views.ID { return &c.Views },
		),
	).Named("WebhookUpsert")
}

func (s webhookHandlers) upsertWebhook(c *endpoint.Call, change webhooks.Change) (endpoint.Reply, error) {
	w, err := s.Webhooks.Upsert(c.Context(), c.Workspace(), change)
	return endpoint.FreeReply(webhookData{w}), err
}

func (s webhookHandlers) deleteWebhook(c *endpoint.Call) (endpoint.Reply, error) {
	err := s.Webhooks.Delete(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")))
	return endpoint.FreeReply(deleted{true}), err
}

func (s webhookHandlers) testWebhook(c *endpoint.Call) (endpoint.Reply, error) {
	d, err := s.Webhooks.Test(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")))
	return endpoint.FreeReply(deliveryData{d}), err
}

func (s webhookHandlers) rotateWebhook(c *endpoint.Call) (endpoint.Reply, error) {
	w, err := s.Webhooks.Rotate(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")))
	return endpoint.FreeReply(webhookData{w}), err
}

func (s webhookHandlers) listDeliveries(c *endpoint.Call, m endpoint.ListMetadata) ([]webhooks.Delivery, error) {
	return s.Webhooks.Deliveries(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")), m.Limit, m.Offset)
}

func (s webhookHandlers) replayDelivery(c *endpoint.Call) (endpoint.Reply, error) {
	d, err := s.Webhooks.Replay(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")), jobs.ID(c.PathID("deliveryId")))
	return endpoint.FreeReply(deliveryData{d}), err
}

var replaySpan = rule.Object(
	rule.Required("from", query.TimeRule(), func(s *webhooks.Span) *time.Time { return &s.From }),
	rule.Required("to", query.TimeRule(), func(s *webhooks.Span) *time.Time { return &s.To }),
)

// replayData is the answer to a replay of a time range.
type replayData struct {
	Replayed int64   `json:"replayed"`
	Next     *string `json:"next"`
}

func (s webhookHandlers) replayWebhook(c *endpoint.Call, span webhooks.Span) (endpoint.Reply, error) {
	r, err := s.Webhooks.ReplaySpan(c.Context(), c.Workspace(), webhooks.ID(c.PathID("id")), span)
	return endpoint.FreeReply(replayData{r.Replayed, workspace.FormatTime(r.Next)}), err
}
