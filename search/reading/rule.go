package reading

import (
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Request requests the reading of a text.
type Request struct {
	// Text is trimmed.
	Text string
	// Now is the time of the asking person, the zero time that of the request. Zone is
	// where the days of that person begin.
	Now  time.Time
	Zone *time.Location
}

// Question is the request on a dataset or a book, made at a time.
func (r Request) Question(d catalog.Dataset, base catalog.BaseKind, made time.Time, values Lookup) Question {
	if !r.Now.IsZero() {
		made = r.Now
	}
	zone := r.Zone
	if zone == nil {
		zone = time.UTC
	}
	year, month, of := made.In(zone).Date()
	return Question{Dataset: d, Base: base, Text: r.Text, Today: day(year, month, of), Lookup: values}
}

// maxZone is the maximum length of the name of a time zone, in characters.
const maxZone = 100

// Rule reads the body of a request.
var Rule = rule.Object(
	rule.Required(
		"query",
		rule.Text(1, query.MaxQuery).Example("multifamily under construction calgary over 1m").Described("The question, as people type it."),
		func(r *Request) *string { return &r.Text },
	),
	rule.Optional(
		"now",
		rule.New(schema.Instant(), input.String, "a time, RFC 3339", func(issues *input.Issues, v input.Value, path []string) (time.Time, bool) {
			at, ok := catalog.ParseInstant(v.Text)
			if !ok {
				issues.Add(fault.InvalidFormat, path, "must be a time, RFC 3339, such as 2026-01-31T10:00:00Z")
			}
			return at, ok
		}).Described("The time that words such as `last week` count from. By default that of the request."), func(r *Request) *time.Time { return &r.Now },
	),
	rule.Optional(
		"time_zone",
		rule.New(
			schema.Text(maxZone).Example("America/Edmonton").Defaulting("UTC"), input.String, "the name of a time zone",
			func(issues *input.Issues, v input.Value, path []string) (*time.Location, bool) {
				zone, err := time.LoadLocation(v.Text)
				if err != nil || v.Text == "" || v.Text == "Local" || len(v.Text) > maxZone {
					issues.Add(fault.InvalidFormat, path, "must be the name of a time zone, such as America/Edmonton")
					return nil, false
				}
				return zone, true
			},
		).Described("The time zone in which days begin and end."), func(r *Request) **time.Location { return &r.Zone },
	),
).Named("ReadRequest")
