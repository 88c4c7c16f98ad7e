package permits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"atlas/indexer/source/permit"
	"atlas/search/catalog"
)

// before is the content of a project's earlier version.
type before struct {
	Stage       string    `json:"stage"`
	Disposition string    `json:"disposition"`
	Cost        *float64  `json:"cost"`
	GCStatus    string    `json:"gc_status"`
	Permitted   time.Time `json:"permitted_at"`
	Completed   time.Time `json:"completed_at"`
}

// differences are the events of a permit since an earlier version. Their ids contain the day of
// the files, so that converting the same files twice yields the same signals.
func (r *run) differences(k *storedPermit, p *permit.Permit, gc string) []event {
	if r.asOf.IsZero() {
		return nil
	}
	var was before
	if err := json.Unmarshal(k.Project, &was); err != nil {
		return nil // Atlas wrote it
	}
	var list []event
	add := func(kind string, at time.Time, summary string) {
		if at.IsZero() || at.After(r.asOf) {
			at = r.asOf
		}
		list = append(list, event{
			kind: kind, nth: "/" + r.asOf.Format(time.DateOnly), at: at, detected: r.asOf, stage: p.Stage,
			source: r.source.Title, summary: summary,
		})
	}
	went := fmt.Sprintf("The stage went from %s to %s.", label(catalog.Stages, was.Stage), label(catalog.Stages, p.Stage))
	if was.Permitted.IsZero() && !p.Permitted.IsZero() {
		add(
			"permit_issued", p.Permitted,
			"The permit was issued on "+p.Permitted.Format(time.DateOnly)+". "+stageSentence(was.Stage, p.Stage, went),
		)
	}
	if was.Stage != p.Stage {
		add("stage_changed", time.Time{}, went)
		switch p.Stage {
		case "under_construction":
			add("construction_started", time.Time{}, went)
		case "completed":
			add("project_completed", p.Ended, went)
		}
	}
	if kind, ok := stops[p.Disposition]; ok && was.Disposition != p.Disposition {
		add(
			kind,
			p.Ended,
			fmt.Sprintf(
				"The project was %s and is now %s.",
				label(catalog.Dispositions, was.Disposition),
				label(catalog.Dispositions, p.Disposition),
			),
		)
	}
	if costChanged(was.Cost, p.Cost, r.share) {
		add("cost_changed", time.Time{}, fmt.Sprintf("The estimated cost went from %s to %s.", amount(*was.Cost), amount(*p.Cost)))
	}
	if summary := r.assigned(k, was, p, gc); summary != "" {
		add("gc_assigned", time.Time{}, summary)
	}
	return list
}

func stageSentence(was, is, went string) string {
	if was == is {
		return "The stage is " + label(catalog.Stages, is) + ", as before."
	}
	return went
}

// label is the label of a value, in the middle of a sentence.
func label(v catalog.Vocabulary, value string) string {
	if value == "" {
		return "unknown"
	}
	return strings.ToLower(v.Label(value))
}

func costChanged(was, is *float64, share float64) bool {
	if was == nil || is == nil || *was == *is {
		return false
	}
	return *was == 0 || math.Abs(*is-*was)/math.Abs(*was) > share
}

// amount shows a cost: 1,234,567.50.
func amount(f float64) string {
	text := strconv.FormatFloat(f, 'f', 2, 64)
	whole, cents, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if cents == "00" {
		return sign + whole
	}
	return sign + whole + "." + cents
}

// assigned describes a new general contractor of a project, "" if it has none or the same
// as before, in any spelling.
func (r *run) assigned(k *storedPermit, was before, p *permit.Permit, gc string) string {
	switch {
	case !p.Assigned:
		return ""
	case gc == "" && was.GCStatus == "assigned":
		return ""
	case gc == "":
		return "The permit names a general contractor; before, it named none."
	case k.GC != "" && r.account(k.GC) == r.account(gc):
		return ""
	case k.GC != "":
		return fmt.Sprintf("The general contractor was %s and is now %s.", r.nameOf(k.GC), r.nameOf(gc))
	}
	return fmt.Sprintf("The permit names %s as general contractor; before, it named none.", r.nameOf(gc))
}

// account is the account of a firm, by the firm's own id.
func (r *run) account(id string) string {
	if to, linked := r.linked[id]; linked {
		return to
	}
	return id
}

// nameOf is the name of a firm, by its own id.
func (r *run) nameOf(id string) string {
	if f := r.byID[id]; f != nil {
		return f.name
	}
	return "another firm"
}
