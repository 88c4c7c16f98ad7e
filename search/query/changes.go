package query

import (
	"cmp"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
)

// Bounds of a request for changes.
const (
	MaxChanges     = 1_000
	DefaultChanges = 100
	MaxChangesWait = 30 * time.Second
)

// ChangesRequest asks what changed of a dataset (docs/api.md, "Changes").
type ChangesRequest struct {
	// Query selects the records whose changes are told as such by its conditions, and
	// has the Dataset, the Limit of changes and the Fields of records.
	Query
	// Cursor or Since is where to begin. Without either the request asks for the end.
	Cursor string
	Since  time.Time
	// Records means that changes come with their records, which cost a credit each.
	Records bool
	// Wait is how long to wait for a change if there is none.
	Wait time.Duration
}

// Begins reports whether the request has a place to begin.
func (r ChangesRequest) Begins() bool { return r.Cursor != "" || !r.Since.IsZero() }

// Filtered reports whether only some records are followed.
func (r ChangesRequest) Filtered() bool { return len(r.Where) > 0 }

// ChangesRule reads the body of a request for changes.
func ChangesRule(d Dataset) rule.Rule[ChangesRequest] { return changesRules[d] }

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
	return rule.New(DayOrInstant, input.String, "a date", func(issues *input.Issues, v input.Value, path []string) (time.Time, bool) {
		first, _, ok := readDate(issues, v, path)
		return time.UnixMilli(int64(first)), ok
	})
}

func changesRule(d Dataset) rule.Rule[ChangesRequest] {
	cursor := schema.Cursor()
	cursor.MinLength = 1
	r := rule.Object(
		rule.Optional("cursor", rule.New(cursor, input.String, "a cursor", func(_ *input.Issues, v input.Value, _ []string) (string, bool) { return cmp.Or(v.Text, "-"), true }).
			Described("`metadata.next` of the page before."), func(r *changesRequest) *string { return &r.Cursor }),
		rule.Optional("since", TimeRule().Described("Begin with what was told after this time; a day is its begin in UTC."), func(r *changesRequest) *time.Time { return &r.Since }),
		rule.Optional("limit", rule.Integer(1, MaxChanges).Default(DefaultChanges), func(r *changesRequest) *int { return &r.ChangesRequest.Limit }),
		rule.Optional("records", rule.Boolean().Described("Return the record of each `upsert`, for 1 credit each."), func(r *changesRequest) *bool { return &r.Records }),
		rule.OptionalFunc("fields", RecordFieldsRule(d), func(r *changesRequest, fields FieldSet) { r.ChangesRequest.Fields, r.fields = fields, true }),
		rule.OptionalFunc("filters", filtersRule(d, Data).Described("Follow only the records that match. A record that changed and does not match is a `leave`."), func(r *changesRequest, c conditions) { r.add(c) }),
		rule.Optional("wait_s", rule.Map(rule.Integer(0, int(MaxChangesWait/time.Second)).Default(0), func(s int) time.Duration { return time.Duration(s) * time.Second }).
			Described("Seconds to wait for a change if there is none."), func(r *changesRequest) *time.Duration { return &r.Wait }),
		rule.Step(func(issues *input.Issues, body *input.Reader, r *changesRequest) {
			if body.Take("cursor").Kind != input.Absent && body.Take("since").Kind != input.Absent {
				issues.Add(fault.Custom, body.Path("since"), "give cursor or since, not both: a cursor says where to begin")
			}
			if r.fields && !r.Records {
				issues.Add(fault.Custom, body.Path("fields"), `changes have no fields without "records": true`)
			}
			if !r.Records {
				refusePrivate(issues, body.Take("filters"), body.Path("filters"))
			}
		}),
		rule.Within(boundTerms, func(r *changesRequest) *request { return &r.request }),
	)
	return rule.Map(r, func(r changesRequest) ChangesRequest {
		out := r.ChangesRequest
		out.Dataset, out.Base.Kind, out.Where = d, Data, r.where
		return out
	}).Named(d.Title() + "ChangesRequest")
}
