package api

import (
	"cmp"

	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/service/api/openapi"
	"atlas/workspace"
	"atlas/workspace/subscriptions"
)

const tagSignals = "Signal subscriptions"

func (s *Server) subscriptionRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "GET", Path: "/workspace/signal-subscriptions", Operation: "list_signal_subscriptions",
			Scope: read, Budget: Budget{placesRecords, 0, 64},
			endpoint: lists("subscriptions", defaultPeople, s.listSubscriptions),
			doc: operationDoc{
				tag: tagSignals, summary: "List signal subscriptions, by type",
				params: pageParams(defaultPeople), data: listOf("subscriptions", subscriptionSchema), metadata: listMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/signal-subscriptions/upsert", Operation: "upsert_signal_subscription",
			Scope: write, Budget: Budget{placesRecords, 0, 32},
			endpoint: takes(subscriptionUpsert, s.upsertSubscription),
			doc: operationDoc{
				tag: tagSignals, summary: "Subscribe to a type of signal, or change how",
				data:  schema.Object(schema.Required("subscription", subscriptionSchema)),
				links: schema.Map[openapi.Link]{linkByID("delete_signal_subscription", "id", "/data/subscription/id")},
			}},
		{Method: "DELETE", Path: "/workspace/signal-subscriptions/:id", Operation: "delete_signal_subscription",
			Scope: write, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteSubscription),
			doc: operationDoc{
				tag: tagSignals, summary: "End a signal subscription", text: "One that is gone is fine.", data: deletedSchema,
			}},
	}
}

var (
	channel   = rule.Enum(subscriptions.Channels()...)
	frequency = rule.Enum(subscriptions.Frequencies()...)
)

var subscriptionSchema = schema.Named("SignalSubscription", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("signal_type", catalog.SignalTypes.Schema()),
	schema.Required("delivery", schema.Object(
		schema.Required("channels", schema.Array(channel.Schema, 1, len(subscriptions.Channels()))),
		schema.Required("frequency", frequency.Schema),
	)),
	schema.Required("queue_started_at", schema.Time()),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
))

func (s *Server) listSubscriptions(c *call, m listMetadata) ([]subscriptions.Subscription, error) {
	return s.People.Subscriptions.List(c.Context(), c.workspace(), m.Limit, m.Offset)
}

// maxChannels leaves room for a channel that is given twice, which counts once.
const maxChannels = 10

var subscriptionUpsert = rule.Object(
	rule.Required("signal_type", catalog.SignalTypes.Rule(),
		func(c *subscriptions.Change) *string { return &c.SignalType }),
	rule.Group("delivery", "What is left out stays; of a new subscription it is in_app, instant.", subscriptionDelivery,
		rule.Optional("frequency", frequency, func(c *subscriptions.Change) *subscriptions.Frequency { return &c.Frequency }),
		rule.NoOthers[subscriptions.Change](),
		rule.Optional(
			"channels", rule.Array("in_app, email", channel, 1, maxChannels),
			func(c *subscriptions.Change) *[]subscriptions.Channel { return &c.Channels },
		),
	),
).Named("SignalSubscriptionUpsert")

// subscriptionDelivery shows a delivery by the channels that a value names.
func subscriptionDelivery(v input.Value) string {
	channels := rule.Array("", channel, 1, maxChannels)
	if v.Kind != input.Array {
		return `{"channels":` + cmp.Or(channels.Suggestion(v), `["email"]`) + "}"
	}
	return input.Wrapped(`{"channels":`, v, "}")
}

// subscriptionData is the answer about one subscription.
type subscriptionData struct {
	Subscription subscriptions.Subscription `json:"subscription"`
}

func (s *Server) upsertSubscription(c *call, change subscriptions.Change) (reply, error) {
	subscription, err := s.People.Subscriptions.Upsert(c.Context(), c.workspace(), change)
	return free(subscriptionData{subscription}), err
}

func (s *Server) deleteSubscription(c *call) (reply, error) {
	err := s.People.Subscriptions.Delete(c.Context(), c.workspace(), subscriptions.ID(c.pathID("id")))
	return free(deleted{true}), err
}
