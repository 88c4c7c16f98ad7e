package permits

import (
	"time"

	"atlas/indexer/source/permit"
	"atlas/search/catalog"
)

// event is one thing that happened to a project.
type event struct {
	kind            string // a signal type
	nth             string // distinguishes events of a kind, "" for the first
	at              time.Time
	detected        time.Time // zero: when it happened
	stage           string    // of the project when it happened
	summary, source string
}

// title is a signal's title.
func (e event) title(project string) string {
	return catalog.SignalTypes.Label(e.kind) + ": " + project
}

// stops are the dispositions that count as events.
var stops = map[string]string{
	"cancelled": "project_cancelled",
	"on_hold":   "project_on_hold",
	"expired":   "permit_expired",
}

// events returns the events that follow from the dates of a permit.
func events(p *permit.Permit, source string) []event {
	var list []event
	add := func(kind string, at time.Time, stage string) {
		if !at.IsZero() {
			list = append(list, event{kind: kind, at: at, stage: stage, source: source, summary: p.Description})
		}
	}
	add("permit_filed", p.Filed, "filed")
	add("permit_issued", p.Permitted, "permitted")
	if p.Stage == "completed" {
		add("project_completed", p.Ended, "completed")
	}
	if kind, ok := stops[p.Disposition]; ok {
		at := p.Ended
		if at.IsZero() {
			at = p.Latest()
		}
		add(kind, at, p.Stage)
	}
	return list
}
