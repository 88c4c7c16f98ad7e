package permits

import (
	"time"

	"atlas/indexer/ndjson"
	"atlas/indexer/source/permit"
)

// projectLine makes the line of a permit's project.
func projectLine(o *ndjson.Object, s *permit.Source, p *permit.Permit, accounts, contacts []string) []byte {
	o.Reset()
	o.Text("id", s.ID("projects", p.Key))
	o.Text("name", p.Name)
	o.Text("description", p.Description)
	o.Text("address", p.Address)
	o.Text("city", p.City)
	o.Text("state", p.State)
	o.Text("country", p.Country)
	o.Text("stage", p.Stage)
	o.Text("disposition", p.Disposition)
	o.Text("primary_use", p.PrimaryUse)
	whole(o, "residential_units", p.Units)
	optional(o, "sqft", p.Sqft)
	whole(o, "stories", p.Stories)
	optional(o, "cost", p.Cost)
	o.Text("gc_status", gcStatus(p))
	o.Time("filed_at", p.Filed)
	o.Time("permitted_at", p.Permitted)
	o.Time("completed_at", p.Completed())
	o.Time("detected_at", first(p))
	o.List("account_ids", accounts)
	o.List("contact_ids", contacts)
	o.Text("source", s.Title)
	o.Text("source_id", p.Number)
	o.Text("source_url", p.URL)
	optional(o, "latitude", p.Latitude)
	optional(o, "longitude", p.Longitude)
	o.Time("created_at", first(p))
	o.Time("updated_at", p.Latest())
	return o.Line()
}

func gcStatus(p *permit.Permit) string {
	if p.Assigned {
		return "assigned"
	}
	return "unknown"
}

func optional(o *ndjson.Object, key string, value *float64) {
	if value != nil {
		o.Float(key, *value)
	}
}

func whole(o *ndjson.Object, key string, value *int64) {
	if value != nil {
		o.Int(key, *value)
	}
}

// accountLine makes the line of a firm's account.
func accountLine(o *ndjson.Object, f *firm, updated time.Time) []byte {
	o.Reset()
	o.Text("id", f.id)
	o.Text("name", f.name)
	o.List("account_types", f.types)
	o.List("domains", f.people.domains)
	o.Text("phone", f.phone)
	o.Text("description", f.description)
	o.Text("city", f.city)
	o.Text("state", f.state)
	o.Text("country", f.country)
	o.Time("created_at", f.created)
	o.Time("updated_at", updated)
	return o.Line()
}

// subject is the project of a signal.
type subject struct {
	key, id, name, city, state string
	number, url                string
}

func subjectOf(s *permit.Source, p *permit.Permit) subject {
	return subject{p.Key, s.ID("projects", p.Key), p.Name, p.City, p.State, p.Number, p.URL}
}

// signalLine makes the line of an event.
func signalLine(o *ndjson.Object, s *permit.Source, of subject, e event, accounts []string) []byte {
	detected := e.at
	if !e.detected.IsZero() {
		detected = e.detected
	}
	o.Reset()
	o.Text("id", s.ID("signals", of.key+"/"+e.kind+e.nth))
	o.Text("signal_type", e.kind)
	o.Text("title", e.title(of.name))
	o.Text("summary", e.summary)
	o.Text("project_id", of.id)
	o.Text("project_name", of.name)
	o.List("account_ids", accounts)
	o.Text("city", of.city)
	o.Text("state", of.state)
	o.Text("stage", e.stage)
	o.Time("occurred_at", e.at)
	o.Time("detected_at", detected)
	o.Text("source", e.source)
	o.Text("source_id", of.number)
	o.Text("source_url", of.url)
	o.Time("created_at", detected)
	o.Time("updated_at", detected)
	return o.Line()
}
