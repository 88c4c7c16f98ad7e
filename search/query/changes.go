package query

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of a request for changes.
const (
	MaxChanges     = 1_000
	DefaultChanges = 100
	MaxChangesWait = 30 * time.Second
)

// FeedRequest requests a part of a feed of changes.
type FeedRequest struct {
	// Cursor or Since is where to begin. Without either the request gets the end. Every
	// Since is a start, also the zero time: 0001-01-01, which some libraries send for no
	// date, gets everything that is stored or an error, never silently nothing.
	Cursor string
	Since  *time.Time
	// Resolved says what a relative Since resolved to, for hints; "" if it was not
	// relative.
	Resolved string
	// Wait is how long to wait for a change if there is none.
	Wait time.Duration
	// History, if set, requests the stored changes of this id instead, newest first.
	History uuid.UUID
}

// Begins reports whether the request has a start.
func (r FeedRequest) Begins() bool { return r.Cursor != "" || r.Since != nil }

// ChangesRequest requests the changes of a dataset (docs/api.md, "Changes").
type ChangesRequest struct {
	// Query has the conditions of the records that are followed, and the Dataset, the Limit
	// of changes and the Fields of records.
	Query
	FeedRequest
	// Records means that changes come with their records, which cost a credit each.
	Records bool
}

// Filtered reports whether only some records are followed.
func (r ChangesRequest) Filtered() bool { return len(r.Where) > 0 }

// ChangesRule reads the body of a request for changes.
func ChangesRule(d catalog.Dataset) rule.Rule[ChangesRequest] { return changesRules[d] }

var changesRules = byDataset(changesRule)

// changesRequest is a ChangesRequest while it is read.
type changesRequest struct {
	request
	ChangesRequest
	// fields means that Fields is given.
	fields bool
}

// TimeRule takes an instant, or a day, which is its begin in UTC.
func TimeRule() rule.Rule[time.Time] {
	return rule.New(schema.DayOrInstant().Described(
		"A UTC day, `YYYY-MM-DD`, which is its begin, or an instant, RFC 3339.",
	), input.String, "a date", func(issues *input.Issues, v input.Value, path []string) (time.Time, bool) {
		first, _, ok := readDate(issues, v, path)
		return time.UnixMilli(int64(first)), ok
	}).Instead(dayOfSeconds)
}

func changesRule(d catalog.Dataset) rule.Rule[ChangesRequest] {
	fields := append(
		feedFields(
			func(r *changesRequest) *FeedRequest { return &r.FeedRequest },
			func(r *changesRequest) *int { return &r.ChangesRequest.Limit },
		),
		rule.Optional(
			"records", rule.Boolean().Described("Return the record of each `upsert`, for 1 credit each."),
			func(r *changesRequest) *bool { return &r.Records },
		),
		rule.OptionalFunc("fields", catalog.RecordFieldsRule(d), func(r *changesRequest, fields catalog.FieldSet) {
			r.ChangesRequest.Fields, r.fields = fields, true
		}),
		rule.OptionalFunc(
			"filters",
			filtersRule(d, catalog.Data).Described("Follow only the records that match. A record that changed and does not match is a `leave`."),
			func(r *changesRequest, c conditions) { r.add(c) },
		),
		rule.Step(func(issues *input.Issues, body *input.Reader, r *changesRequest) {
			if r.fields && !r.Records {
				issues.Add(fault.Custom, body.Path("fields"), `needs "records": true: without it, changes have no records`)
			}
			if !r.Records {
				refusePrivate(issues, body.Take("filters"), body.Path("filters"))
			}
			if r.History != uuid.Nil {
				refuseWith(issues, body, "history", "records", "filters")
			}
		}),
		rule.Within(boundTerms, func(r *changesRequest) *request { return &r.request }),
	)
	return rule.Map(rule.Object(fields...), func(r changesRequest) ChangesRequest {
		out := r.ChangesRequest
		out.Dataset, out.Base.Kind, out.Where = d, catalog.Data, r.where
		return out
	}).Named(d.Title() + "ChangesRequest")
}

// WorkspaceChangesRequest requests the changes of a workspace (docs/api.md, "Changes of the
// workspace").
type WorkspaceChangesRequest struct {
	FeedRequest
	Limit int
}

// WorkspaceChangesRule reads the body of a request for the changes of a workspace.
var WorkspaceChangesRule = rule.Object(
	feedFields(
		func(r *WorkspaceChangesRequest) *FeedRequest { return &r.FeedRequest },
		func(r *WorkspaceChangesRequest) *int { return &r.Limit },
	)...,
).Named("WorkspaceChangesRequest")

// feedFields are the members that all requests for changes have.
func feedFields[T any](feed func(*T) *FeedRequest, limit func(*T) *int) []rule.Field[T] {
	cursor := schema.Cursor()
	cursor.MinLength = 1
	return []rule.Field[T]{
		rule.Optional("cursor", rule.New(
			cursor, input.String, "a cursor",
			func(_ *input.Issues, v input.Value, _ []string) (string, bool) { return cmp.Or(v.Text, "-"), true },
		).
			Described("`metadata.next` of the page before."), func(r *T) *string { return &feed(r).Cursor }),
		rule.OptionalFunc(
			"since",
			TimeRule().As(DateSchema).Described("Begin with what was published after this time; a day is its begin in UTC."),
			func(r *T, at time.Time) { feed(r).Since = &at },
		),
		rule.Step(func(_ *input.Issues, body *input.Reader, r *T) { feed(r).Resolved = body.Take("since").Resolved }),
		rule.Optional("limit", rule.Integer(1, MaxChanges).Default(DefaultChanges), limit),
		rule.Optional("wait_s", rule.Map(
			rule.Integer(0, int(MaxChangesWait/time.Second)).Default(0),
			func(s int) time.Duration { return time.Duration(s) * time.Second },
		).
			Described("Seconds to wait for a change if there is none."), func(r *T) *time.Duration { return &feed(r).Wait }),
		rule.Optional(
			"history",
			rule.UUID[uuid.UUID]().Described("An id: return the changes of it that are retained instead, newest first and each by itself."),
			func(r *T) *uuid.UUID { return &feed(r).History },
		),
		rule.Step(func(issues *input.Issues, body *input.Reader, r *T) {
			if given(body, "cursor") && given(body, "since") {
				issues.Add(fault.Custom, body.Path("since"), "give cursor or since, not both: a cursor says where to begin")
			}
			if feed(r).History != uuid.Nil {
				refuseWith(issues, body, "history", "cursor", "since", "wait_s")
			}
		}),
	}
}

func given(body *input.Reader, name string) bool { return body.Take(name).Kind != input.Absent }

// refuseWith refuses members that are pointless beside another one.
func refuseWith(issues *input.Issues, body *input.Reader, name string, others ...string) {
	for _, other := range others {
		if given(body, other) {
			issues.Add(fault.Custom, body.Path(other), "does not go with %s", name)
		}
	}
}
