package api

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// Changes reads the feed of changes of global records. *changes.Reader implements it.
type Changes interface {
	Begin(ctx context.Context, r query.ChangesRequest) (changes.Position, error)
	Wait(ctx context.Context, r query.ChangesRequest, after changes.Position, stop func() bool) (changes.Position, error)
	Read(ctx context.Context, r query.ChangesRequest, after changes.Position) (changes.Answer, error)
	// Replay reads a page again, from and to its cursors, with those records that it had.
	Replay(ctx context.Context, r query.ChangesRequest, from, to string, had func(id string) bool) (changes.Answer, error)
	History(ctx context.Context, r query.ChangesRequest) (changes.Answer, error)
}

type changeHandlers struct {
	*endpoint.Core
	Changes Changes
}

func (s changeHandlers) routes() []endpoint.Route {
	var routes []endpoint.Route
	for _, d := range catalogOrder {
		routes = append(
			routes,
			endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/changes", Operation: "read_" + string(d) + "_changes",
				Scope: workspace.DataRead, Throttling: endpoint.Metered, WorkspaceRequired: true,
				Budget:   endpoint.Budget{Places: endpoint.PlacesChanges, Rows: 1 + query.MaxChanges, Heap: 512},
				Endpoint: endpoint.Takes(query.ChangesRule(d), s.readChanges),
				Doc: endpoint.Doc{
					Tag: tagData, Summary: "Follow the changes of " + string(d),
					Text: "What changed of the global records, in the order in which searches saw it: new, changed, deleted and merged records, whether single changes or a new load brought them. A page has each record once, in its latest state. `{}` answers no changes, and a cursor from now on: taken before an export, the export and the changes after it are the data. Changes are retained for 90 days, unless the operator says otherwise.",
					Free: "Without `records` it",
					Examples: []endpoint.Example{
						{Name: "now", Summary: "A cursor from now on", Body: []byte(`{}`)},
						{
							Name: "since", Summary: "What was published since a day, with two fields of each record",
							Body: []byte(`{"since":"2026-01-31","records":true,"fields":["id","updated_at"],"limit":50}`),
						},
					},
					Data: schema.Array(
						changeSchema(d),
						0,
						query.MaxChanges,
					), Metadata: changesMetadataSchema, Codes: []fault.Code{fault.CursorTooOld},
				}},
		)
	}
	return routes
}

func changeSchema(d catalog.Dataset) *schema.Schema {
	return schema.Named(d.Title()+"Change", schema.Object(
		schema.Required("id", schema.UUID()),
		schema.Required(
			"op",
			schema.OneOf(string(changes.Upsert), string(changes.Delete), string(changes.Merge), string(changes.Leave)).Described(
				"`upsert`: the record is new or has other values; `delete`: it is gone; `merge`: it is gone, because it became `into`; `leave`: it does not match `filters`, whether or not it did before.",
			),
		),
		schema.Optional("into", schema.UUID().Described("Only of a `merge`: what the record became. That may have become another since.")),
		schema.Required("at", schema.Time().Described("When the change was published: searches saw it.")),
		schema.Required(
			"changed",
			schema.Array(schema.String("stage"), 0, 0).
				Described("The fields of an `upsert` that have other values; all of them where the record is new."),
		),
		schema.Optional("record", recordSchema(d).Described("The record as it is now; only of an `upsert`, with `records`.")),
	))
}

// changesMetadata is the metadata of a page of changes.
type changesMetadata struct {
	Next     string   `json:"next"`
	CaughtUp bool     `json:"caught_up"`
	Lag      float64  `json:"lag_s"`
	Credits  int64    `json:"credits"`
	Hints    []string `json:"hints,omitempty"`
}

var changesMetadataSchema = schema.Named("ChangesMetadata", schema.Object(
	schema.Required("next", schema.Cursor().Described("The cursor of what follows.")),
	schema.Required("caught_up", schema.Boolean().Described("Nothing follows yet.")),
	schema.Required(
		"lag_s",
		(&schema.Schema{Type: "number", Minimum: int64(0)}).Described("How many seconds ago the last change of the page was published; 0 if nothing follows.").
			Example(0),
	),
	schema.Required("credits", schema.Integer(0, query.MaxChanges).Described("1 for each record.").Example(0)),
	endpoint.Hints,
))

// renderedChange is a change in an answer.
type renderedChange struct {
	ID      string         `json:"id"`
	Op      changes.Op     `json:"op"`
	Into    string         `json:"into,omitzero"`
	At      string         `json:"at"`
	Changed []string       `json:"changed"`
	Record  jsontext.Value `json:"record,omitzero"`
}

func (s changeHandlers) readChanges(c *endpoint.Call, r query.ChangesRequest) (endpoint.Reply, error) {
	if r.History != uuid.Nil {
		if err := c.Unmetered(); err != nil {
			return endpoint.Reply{}, err
		}
		a, err := s.Changes.History(c.Context(), r)
		return changesReply(r.FeedRequest, a), err
	}
	after, err := s.Changes.Begin(c.Context(), r)
	if err != nil {
		return endpoint.Reply{}, err
	}
	metered := r.Records && r.Begins()
	if !metered {
		if err := c.Unmetered(); err != nil {
			return endpoint.Reply{}, err
		}
	}
	// The rest of the time is for reading.
	if r.Wait = min(r.Wait, s.RequestTimeout*2/3); r.Wait > 0 && r.Begins() {
		err := c.Wait(func() (err error) {
			after, err = s.Changes.Wait(c.Context(), r, after, s.Stopping)
			return err
		})
		if err != nil {
			return endpoint.Reply{}, err
		}
	}
	if metered {
		return s.chargeChanges(c, r, after)
	}
	a, err := s.Changes.Read(c.Context(), r, after)
	return changesReply(r.FeedRequest, a), err
}

// chargeChanges answers with changes and records. The ids of the records are stored for a
// replay.
func (s changeHandlers) chargeChanges(c *endpoint.Call, r query.ChangesRequest, after changes.Position) (endpoint.Reply, error) {
	page := func(ctx context.Context) (endpoint.Reply, int, error) {
		a, err := s.Changes.Read(ctx, r, after)
		if err != nil {
			return endpoint.Reply{}, 0, err
		}
		var ids []uuid.UUID
		for _, item := range a.Items {
			if item.Record != nil {
				id, err := uuid.Parse(item.ID)
				if err != nil {
					return endpoint.Reply{}, 0, err
				}
				ids = append(ids, id)
			}
		}
		m := changesMetadataOf(r.FeedRequest, a)
		m.Credits = 0
		return changesReply(r.FeedRequest, a), a.Delivered, c.Store(m, a.From, ids)
	}
	return c.Metered(r.Limit, func(ctx context.Context) (endpoint.Reply, int, error) {
		return c.Guarded(r.ReadsPrivate(), func() (endpoint.Reply, int, error) { return page(ctx) })
	}, func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
		var m changesMetadata
		if err := json.Unmarshal(stored.Metadata, &m); err != nil {
			return endpoint.Reply{}, err
		}
		a, err := s.Changes.Replay(ctx, r, stored.From, m.Next, stored.Had())
		return endpoint.Reply{Data: renderChanges(a.Items), Metadata: m}, err
	})
}

func changesReply(r query.FeedRequest, a changes.Answer) endpoint.Reply {
	return endpoint.Reply{Data: renderChanges(a.Items), Metadata: changesMetadataOf(r, a)}
}

func renderChanges(list []changes.Item) []renderedChange {
	items := make([]renderedChange, len(list))
	for i, item := range list {
		items[i] = renderedChange{item.ID, item.Op, item.Into, item.At.UTC().Format(workspace.TimeFormat), item.Changed, item.Record}
	}
	return items
}

func changesMetadataOf(r query.FeedRequest, a changes.Answer) changesMetadata {
	return changesMetadata{a.Next, a.CaughtUp, a.Lag.Round(time.Millisecond).Seconds(), int64(a.Delivered), feedHints(r)}
}

// feedHints are the hints of a request for changes.
func feedHints(r query.FeedRequest) []string {
	var hints []string
	if r.Resolved != "" {
		hints = append(hints, r.Resolved)
	}
	if r.Since != nil && r.Since.After(time.Now()) {
		hints = append(hints, "since is in the future, where there are no changes yet: next begins now")
	}
	return hints
}
