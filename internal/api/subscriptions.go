package api

import (
	"slices"
	"strconv"

	"atlas/internal/input"
	"atlas/search/query"
	"atlas/workspace"
)

func (s *Server) listSubscriptions(c *call) (reply, error) {
	m, err := c.page(defaultPeople)
	if err != nil {
		return reply{}, err
	}
	subscriptions, err := s.People.Subscriptions.List(c.Context(), c.principal.Workspace.ID, m.Limit, m.Offset)
	return list("subscriptions", subscriptions, m), err
}

// subscriptionData is the answer about one subscription.
type subscriptionData struct {
	Subscription workspace.Subscription `json:"subscription"`
}

func (s *Server) upsertSubscription(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	change := workspace.SubscriptionChange{SignalType: r.RequiredOneOf("signal_type", query.SignalTypes.Values()...)}
	if delivery := r.Take("delivery"); delivery.Kind != input.Absent {
		readDelivery(&issues, delivery, &change)
	}
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	subscription, err := s.People.Subscriptions.Upsert(c.Context(), c.principal.Workspace.ID, change)
	return reply{subscriptionData{subscription}, creditsOnly{}}, err
}

func readDelivery(issues *input.Issues, v input.Value, change *workspace.SubscriptionChange) {
	r := issues.Object(v, "delivery")
	if !r.Ok() {
		return
	}
	change.Frequency = workspace.Frequency(r.OneOf("frequency", workspace.Frequencies()...))
	channels := r.Take("channels")
	r.Done()
	switch {
	case channels.Kind == input.Absent:
		return
	case channels.Kind != input.Array:
		issues.WrongType(r.Path("channels"), "an array of "+channelNames, channels)
		return
	case !issues.Length(len(channels.Items), 1, maxChannels, r.Path("channels")...):
		return
	}
	for i, item := range channels.Items {
		if item.Kind != input.String || !slices.Contains(workspace.Channels(), item.Text) {
			issues.OutsideVocabulary(r.Path("channels", strconv.Itoa(i)), workspace.Channels())
			continue
		}
		change.Channels = append(change.Channels, workspace.Channel(item.Text))
	}
}

const (
	channelNames = "in_app, email"
	// maxChannels leaves room for saying a channel twice, which counts once.
	maxChannels = 10
)

func (s *Server) deleteSubscription(c *call) (reply, error) {
	id, err := c.pathID("id")
	if err != nil {
		return reply{}, err
	}
	err = s.People.Subscriptions.Delete(c.Context(), c.principal.Workspace.ID, workspace.SubscriptionID(id))
	return reply{deleted{true}, creditsOnly{}}, err
}
