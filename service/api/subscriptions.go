package api

import (
	"cmp"

	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/subscriptions"
)

const tagSignals = "Signal subscriptions"

type subscriptionHandlers struct{ Subscriptions *subscriptions.Subscriptions }

func (s subscriptionHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/signal-subscriptions", Operation: "list_signal_subscriptions",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Lists("subscriptions", defaultPeople, s.listSubscriptions),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "List signal subscriptions, by type",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("subscriptions", subscriptionSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/signal-subscriptions/upsert", Operation: "upsert_signal_subscription",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(subscriptionUpsert, s.upsertSubscription),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "Subscribe to a type of signal, or change how",
				Data:  schema.Object(schema.Required("subscription", subscriptionSchema)),
				Links: schema.Map[openapi.Link]{endpoint.LinkByID("delete_signal_subscription", "id", "/data/subscription/id")},
			}},
		{Method: "DELETE", Path: "/workspace/signal-subscriptions/:id", Operation: "delete_signal_subscription",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteSubscription),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "End a signal subscription", Text: "One that is gone is fine.", Data: deletedSchema,
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

func (s subscriptionHandlers) listSubscriptions(c *endpoint.Call, m endpoint.ListMetadata) ([]subscriptions.Subscription, error) {
	return s.Subscriptions.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
}

// maxChannels allows for a channel that is given twice and counts once.
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

// subscriptionDelivery maps the value of a delivery to its channels.
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

func (s subscriptionHandlers) upsertSubscription(c *endpoint.Call, change subscriptions.Change) (endpoint.Reply, error) {
	subscription, err := s.Subscriptions.Upsert(c.Context(), c.Workspace(), change)
	return endpoint.FreeReply(subscriptionData{subscription}), err
}

func (s subscriptionHandlers) deleteSubscription(c *endpoint.Call) (endpoint.Reply, error) {
	err := s.Subscriptions.Delete(c.Context(), c.Workspace(), subscriptions.ID(c.PathID("id")))
	return endpoint.FreeReply(deleted{true}), err
}
