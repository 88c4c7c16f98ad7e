package api

import (
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/query"
	"atlas/service/api/openapi"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

const tagWebhooks = "Webhooks"

func (s *Server) webhookRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	oneWebhook := schema.Object(schema.Required("webhook", webhookSchema))
	oneDelivery := schema.Object(schema.Required("delivery", deliverySchema))
	return []Route{
		{Method: "GET", Path: "/workspace/webhooks", Operation: "list_webhooks",
			Scope: read, Caller: Admins, Budget: Budget{placesRecords, 0, 32},
			endpoint: lists("webhooks", defaultPeople, s.listWebhooks),
			doc: operationDoc{
				tag: tagWebhooks, summary: "List webhooks, the oldest first",
				text:   "An API key without `workspace:write`, which may not manage webhooks, gets `url` without path and query.",
				params: pageParams(defaultPeople), data: listOf("webhooks", webhookSchema), metadata: listMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/webhooks/upsert", Operation: "upsert_webhook",
			Scope: write, Caller: Admins, Secret: true, Budget: Budget{placesRecords, 0, 32},
			endpoint: takes(s.webhookUpsert(), s.upsertWebhook),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Create a webhook, or change and enable one",
				text:  "`secret` is in the answer to creation and rotation only.",
				data:  oneWebhook,
				codes: []fault.Code{fault.NotFound, fault.LimitReached, fault.ViewNotFound, fault.BadRequest},
				links: schema.Map[openapi.Link]{
					linkByID("delete_webhook", "id", "/data/webhook/id"),
					linkByID("test_webhook", "id", "/data/webhook/id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/webhooks/:id", Operation: "delete_webhook",
			Scope: write, Caller: Admins, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteWebhook),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Delete a webhook", text: "What waits for it is not delivered.",
				data: deletedSchema, codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/test", Operation: "test_webhook",
			Scope: write, Caller: Admins, Throttling: Limited, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.testWebhook),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Send `webhook.test` to a webhook", text: "A disabled webhook gets it too. It is sent in the background: the log of deliveries shows the outcome.",
				data: oneDelivery, codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/rotate", Operation: "rotate_webhook",
			Scope: write, Caller: Admins, Secret: true, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.rotateWebhook),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Give a webhook a new secret", text: "For 24 hours deliveries are signed with the secret before too.",
				data: oneWebhook, codes: []fault.Code{fault.NotFound},
			}},
		{Method: "GET", Path: "/workspace/webhooks/:id/deliveries", Operation: "list_webhook_deliveries",
			Scope: read, Caller: Admins, Budget: Budget{placesRecords, 0, 64},
			endpoint: lists("deliveries", defaultPeople, s.listDeliveries),
			doc: operationDoc{
				tag: tagWebhooks, summary: "List the deliveries of a webhook, the newest first", text: "Those of the last 30 days.",
				params: pageParams(defaultPeople), data: listOf("deliveries", deliverySchema), metadata: listMetadataSchema,
				codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/deliveries/:deliveryId/replay", Operation: "replay_webhook_delivery",
			Scope: write, Caller: Admins, Throttling: Limited, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.replayDelivery),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Deliver again", text: "With the same `webhook-id`. A delivery that is pending stays as it is.",
				data: oneDelivery, codes: []fault.Code{fault.NotFound, fault.WebhookDisabled},
			}},
		{Method: "POST", Path: "/workspace/webhooks/:id/replay", Operation: "replay_webhook",
			Scope: write, Caller: Admins, Throttling: Limited, Budget: Budget{placesRecords, 0, 64},
			endpoint: takes(replaySpan, s.replayWebhook),
			doc: operationDoc{
				tag: tagWebhooks, summary: "Deliver again what was made in a span of time",
				text: "From `from` to before `to`, delivered or failed, the oldest first, at most 10,000: `next` is the `from` of the next call, null when nothing is left.",
				data: schema.Object(
					schema.Required("replayed", schema.Integer(0, webhooks.MaxReplay)),
					schema.Required("next", schema.Nullable(schema.Time())),
				),
				codes: []fault.Code{fault.NotFound, fault.WebhookDisabled},
			}},
	}
}

var webhookEvent = rule.Enum(webhooks.Events()...).Named("WebhookEvent")

var namedViewSchema = schema.Named("WebhookView", schema.Object(
	schema.Required(viewIDKey, schema.UUID()),
	schema.Required("name", schema.Nullable(schema.String("Towers in Calgary")).Described("Null for a View that is deleted.")),
	schema.Required("state", schema.OneOf(webhooks.NamedStates()...).Described(
		"`waiting`, `watching` and `resting` as those of an alert. `off`: the webhook is disabled, or did not choose `view.matched`. `deleted`: there is no such View anymore.",
	)),
	schema.Required("rest", alertRestSchema),
))

var webhookSchema = schema.Named("Webhook", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("url", schema.String("https://hooks.example/atlas")),
	schema.Required(
		"url_digest",
		schema.String("d3020ea88224231384b6588974416d677ccf32b860bfd1ae7fad1c85669d674c").Described("The SHA-256 of the whole URL, in hexadecimal."),
	),
	schema.Required("events", schema.Array(webhookEvent.Schema, 1, len(webhooks.Events()))),
	schema.Required("view_ids", schema.Array(schema.UUID(), 0, webhooks.MaxViews).Described("The Views that `view.matched` is about.")),
	schema.Required(
		"views",
		schema.Array(namedViewSchema, 0, webhooks.MaxViews).Described("What becomes of each of `view_ids`, in the same order."),
	),
	schema.Required("enabled", schema.Boolean().Described("False once the receiver answered 410, or failed for 24 hours. An upsert enables it.")),
	schema.Required("created_at", schema.Time()),
	schema.Optional(
		"secret",
		schema.String("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").Described("Signs deliveries by Standard Webhooks. In the answer to creation and rotation only, not in one to their repetition: rotate it again."),
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

// webhookData and deliveryData are the answers about one of them.
type (
	webhookData struct {
		Webhook webhooks.Webhook `json:"webhook"`
	}
	deliveryData struct {
		Delivery webhooks.Delivery `json:"delivery"`
	}
)

func (d webhookData) withoutSecrets() (any, []string) {
	if d.Webhook.Secret == "" {
		return d, nil
	}
	d.Webhook.Secret = ""
	return d, []string{"webhook.secret"}
}

func (s *Server) listWebhooks(c *call, m listMetadata) ([]webhooks.Webhook, error) {
	page, err := s.People.Webhooks.List(c.Context(), c.workspace(), m.Limit, m.Offset)
	if c.principal.RequireScope(workspace.WorkspaceWrite) != nil {
		for i, w := range page {
			page[i] = w.WithoutPath()
		}
	}
	return page, err
}

// maxEvents leaves room for events that are given twice, which count once.
const maxEvents = 20

func (s *Server) webhookUpsert() rule.Rule[webhooks.Change] {
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
		// Upsert checks it too; here it is told with the other problems.
		rule.Step(func(issues *input.Issues, body *input.Reader, c *webhooks.Change) {
			if err := s.People.Webhooks.Guard.Check(c.URL); c.URL != "" && err != nil {
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

func (s *Server) upsertWebhook(c *call, change webhooks.Change) (reply, error) {
	w, err := s.People.Webhooks.Upsert(c.Context(), c.workspace(), change)
	return free(webhookData{w}), err
}

func (s *Server) deleteWebhook(c *call) (reply, error) {
	err := s.People.Webhooks.Delete(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")))
	return free(deleted{true}), err
}

func (s *Server) testWebhook(c *call) (reply, error) {
	d, err := s.People.Webhooks.Test(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")))
	return free(deliveryData{d}), err
}

func (s *Server) rotateWebhook(c *call) (reply, error) {
	w, err := s.People.Webhooks.Rotate(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")))
	return free(webhookData{w}), err
}

func (s *Server) listDeliveries(c *call, m listMetadata) ([]webhooks.Delivery, error) {
	return s.People.Webhooks.Deliveries(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")), m.Limit, m.Offset)
}

func (s *Server) replayDelivery(c *call) (reply, error) {
	d, err := s.People.Webhooks.Replay(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")), jobs.ID(c.pathID("deliveryId")))
	return free(deliveryData{d}), err
}

var replaySpan = rule.Object(
	rule.Required("from", query.TimeRule(), func(s *webhooks.Span) *time.Time { return &s.From }),
	rule.Required("to", query.TimeRule(), func(s *webhooks.Span) *time.Time { return &s.To }),
)

// replayData is the answer to a replay of a span.
type replayData struct {
	Replayed int64   `json:"replayed"`
	Next     *string `json:"next"`
}

func (s *Server) replayWebhook(c *call, span webhooks.Span) (reply, error) {
	r, err := s.People.Webhooks.ReplaySpan(c.Context(), c.workspace(), webhooks.ID(c.pathID("id")), span)
	return free(replayData{r.Replayed, workspace.FormatTime(r.Next)}), err
}
