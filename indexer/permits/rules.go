package permits

import (
	"regexp"
	"strings"
	"time"

	"atlas/search/query"
)

// Where all permits, and most fictitious projects, are.
const (
	calgaryCity = "Calgary"
	province    = "AB"
	country     = "CA"
)

// The sources of signals.
const (
	citySource       = "City of Calgary building permits"
	derivedSource    = citySource + " (day assumed)"
	fictitiousSource = "Made up for the sample (fictitious)"
)

// The stages of active and completed projects, by the status of the permit.
var stages = map[string]string{
	"Completed":                       "completed",
	"Issued Permit":                   "permitted",
	"Pre Backfill Phase":              "under_construction",
	"Pre Board Phase":                 "under_construction",
	"Pending Plans Review":            "under_review",
	"Pending Plans Review Assignment": "under_review",
	"In Review":                       "under_review",
	"New":                             "filed",
	"Application Received":            "filed",
}

// hold begins the statuses of all holds, whatever their reason.
const hold = "Hold"

// The dispositions of stopped projects by status, except holds.
var dispositions = map[string]string{
	"Cancelled":   "cancelled",
	"Expired":     "expired",
	"Refused":     "refused",
	"File Closed": "expired",
}

// stageOf returns stage and disposition. known is false for an unknown status,
// which counts as filed.
func (p permit) stageOf() (stage, disposition string, known bool) {
	if stage, ok := stages[p.status]; ok {
		return stage, "active", true
	}
	disposition, stopped := dispositions[p.status]
	if strings.HasPrefix(p.status, hold) {
		disposition, stopped = "on_hold", true
	}
	if stopped {
		if p.issued.IsZero() {
			return "filed", disposition, true
		}
		return "permitted", disposition, true
	}
	return "filed", "active", false
}

// primaryUse is derived from the group of the permit class, for commercial classes
// from words of the class: office before retail before hotel.
func (p permit) primaryUse() string {
	switch p.group {
	case "Single Family", "Garage":
		return "single_family"
	case "Secondary Suites", "Two Family", "Townhouse", "Apartment", "Additional Dwelling":
		return "multifamily"
	case "Industrial":
		return "industrial"
	case "Institutional", "Government":
		return "institutional"
	case "Commercial":
		has := func(word string) bool { return strings.Contains(p.class, word) }
		switch {
		case has("Office"):
			return "office"
		case has("Retail"), has("Restaurant"):
			return "retail"
		case has("Hotel"), has("Motel"):
			return "hospitality"
		}
	}
	return "other"
}

// classCode is the number before a permit class, mostly with a hyphen after
// it: "1106 - Single Family House", "9999  Online".
var classCode = regexp.MustCompile(`^[0-9]{4}(\s*-\s*|\s+|$)`)

// name is the name of the project, "" when the row has none.
func (p permit) name() string {
	class := classCode.ReplaceAllString(p.class, "")
	switch {
	case p.address == "":
		return class
	case class == "":
		return p.address
	}
	return p.address + ", " + class
}

// latest is the latest date of the row, zero when it has none.
func (p permit) latest() time.Time {
	return later(later(p.applied, p.issued), p.ended)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier treats a zero time as unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// firmKey is equal for all spellings of one firm.
func firmKey(name string) string {
	return strings.ToUpper(strings.Join(strings.Fields(name), " "))
}

// event is one thing that happened to a project.
type event struct {
	kind            string // a signal type
	nth             string // tells events of a kind apart, "" for the first
	at              time.Time
	detected        time.Time // zero: at once
	stage           string    // the project's when it happened
	summary, source string
}

// title is a signal's title.
func (e event) title(project string) string {
	return query.SignalTypes.Label(e.kind) + ": " + project
}

// stops are the dispositions that are events.
var stops = map[string]string{
	"cancelled": "project_cancelled",
	"on_hold":   "project_on_hold",
	"expired":   "permit_expired",
}

// events returns the dated events of the row.
func (p permit) events() []event {
	stage, disposition, _ := p.stageOf()
	var list []event
	add := func(kind string, at time.Time, stage string) {
		if !at.IsZero() {
			list = append(list, event{kind: kind, at: at, stage: stage})
		}
	}
	add("permit_filed", p.applied, "filed")
	add("permit_issued", p.issued, "permitted")
	if stage == "completed" {
		add("project_completed", p.ended, "completed")
	}
	if kind, ok := stops[disposition]; ok {
		at := p.ended
		if at.IsZero() {
			at = p.latest()
		}
		add(kind, at, stage)
	}
	return list
}

// derivedEvents returns what has happened according to the row, which does not say
// when: they have the day of issue, by which the contractor must be known, and after
// which work may begin.
func (p permit) derivedEvents() []event {
	if p.issued.IsZero() {
		return nil
	}
	var list []event
	if p.contractor != "" && firmKey(p.contractor) != firmKey(p.applicant) {
		list = append(list, event{kind: "gc_assigned", at: p.issued, stage: "permitted", source: derivedSource,
			summary: "The permit names " + p.contractor + " as its contractor."})
	}
	if stage, _, _ := p.stageOf(); stage == "under_construction" {
		list = append(list, event{kind: "construction_started", at: p.issued, stage: stage, source: derivedSource,
			summary: "The permit waits for an inspection on site: " + p.status + "."})
	}
	return list
}
