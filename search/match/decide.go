package match

import (
	"cmp"
	"slices"
)

// Status is the outcome for an input.
type Status string

// The statuses.
const (
	// Matched: the first candidate is well ahead of all others.
	Matched Status = "matched"
	// Ambiguous: others fit about as well.
	Ambiguous Status = "ambiguous"
	// NoMatch: no record has the required confidence.
	NoMatch Status = "no_match"
)

// Statuses lists them.
var Statuses = []Status{Matched, Ambiguous, NoMatch}

// Candidate is a record that may be what the input describes.
type Candidate struct {
	ID         string
	Confidence float64
	Reasons    []Reason
	odds       float64
}

// Result is the outcome for an input.
type Result struct {
	Status     Status
	Candidates []Candidate // the most confident first
}

// lead is how far, in log-odds, the first candidate of a match must be ahead of the second.
const lead = 1.2

// Decide chooses at most most candidates with at least the confidence least.
func (s *Subject) Decide(records []Record, least float64, most int) Result {
	var all []Candidate
	for _, r := range records {
		v, reasons, forbidden := s.vector(r)
		if !forbidden {
			odds := s.weights().of(v)
			all = append(all, Candidate{r.ID, logistic(odds), reasons, odds})
		}
	}
	slices.SortFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.odds, a.odds), cmp.Compare(a.ID, b.ID))
	})
	confident := all
	if n := slices.IndexFunc(all, func(c Candidate) bool { return c.Confidence < least }); n >= 0 {
		confident = all[:n]
	}
	r := Result{NoMatch, confident[:min(len(confident), most)]}
	if len(confident) > 0 {
		r.Status = Matched
		if len(all) > 1 && all[0].odds-all[1].odds < lead {
			r.Status = Ambiguous
		}
	}
	return r
}
