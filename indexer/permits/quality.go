package permits

import (
	"context"
	"math"
	"time"

	"atlas/indexer/source"
	"atlas/indexer/source/permit"
)

// Quality describes the quality of a source's data.
type Quality struct {
	*Report
	// Unknown is the share of the permits' rows without each field, 0 to 1.
	Unknown map[string]float64 `json:"unknown"`
	// First and Last are the ends of all dates.
	First string `json:"first"`
	Last  string `json:"last"`
	// IssuedBeforeFiled, CompletedBeforeIssued and Future count rows whose dates are out of
	// order, or after the day of the files.
	IssuedBeforeFiled     int64 `json:"issued_before_filed"`
	CompletedBeforeIssued int64 `json:"completed_before_issued"`
	Future                int64 `json:"future"`
	// CostsNotPositive and CostsHuge (from a billion) count costs out of range, SamePlaces
	// rows at a point that many rows have (1 % of them, at least 10).
	CostsNotPositive int64 `json:"costs_not_positive"`
	CostsHuge        int64 `json:"costs_huge"`
	SamePlaces       int64 `json:"same_places"`
	// WithoutPlace counts rows without a point.
	WithoutPlace int64 `json:"without_place"`
}

// hugeCost is more than any permit costs.
const hugeCost = 1e9

// Measure reads files and measures them, without writing anything. Errors: those of Check.
func Measure(ctx context.Context, d *source.Description, inputs []Input, progress func(int64)) (*Quality, error) {
	s, err := permit.Compile(d)
	if err != nil {
		return nil, err
	}
	q := &Quality{Report: newReport(s.Name), Unknown: map[string]float64{}}
	m := &measure{q: q, seen: map[string]struct{}{}, places: map[[2]float64]int64{}}
	from := &scan{source: s, report: q.Report, several: len(inputs) > 1, progress: progress, days: &days{counts: map[time.Time]int{}}}
	if err := from.inputs(ctx, inputs, m.row); err != nil {
		return q, err
	}
	m.asOf = asOf(Options{Inputs: inputs}, from.days)
	for at, n := range from.days.counts {
		if at.After(m.asOf) {
			q.Future += int64(n)
		}
	}
	m.finish()
	return q, nil
}

// measure sums up rows.
type measure struct {
	q           *Quality
	seen        map[string]struct{}
	places      map[[2]float64]int64
	first, last time.Time
	asOf        time.Time
	rows        int64
}

func (m *measure) row(p *permit.Permit) error {
	m.rows++
	if _, repeated := m.seen[p.Key]; repeated {
		m.q.RepeatedPermits++
	}
	m.seen[p.Key] = struct{}{}
	for _, at := range []time.Time{p.Filed, p.Permitted, p.Ended} {
		m.first, m.last = earlier(m.first, at), later(m.last, at)
	}
	count(&m.q.IssuedBeforeFiled, isBefore(p.Permitted, p.Filed))
	count(&m.q.CompletedBeforeIssued, isBefore(p.Completed(), p.Permitted))
	if p.Cost != nil {
		count(&m.q.CostsNotPositive, *p.Cost <= 0)
		count(&m.q.CostsHuge, math.Abs(*p.Cost) >= hugeCost)
	}
	if p.Latitude != nil {
		m.places[[2]float64{*p.Latitude, *p.Longitude}]++
	} else {
		m.q.WithoutPlace++
	}
	return nil
}

func count(n *int64, is bool) {
	if is {
		*n++
	}
}

// isBefore reports whether both times are known and the first is before the second.
func isBefore(a, b time.Time) bool { return !a.IsZero() && !b.IsZero() && a.Before(b) }

func (m *measure) finish() {
	m.q.Permits = int64(len(m.seen))
	for _, name := range FieldNames() {
		m.q.Unknown[name] = math.Round(1e4*float64(m.rows-m.q.Fields[name])/float64(max(m.rows, 1))) / 1e4
	}
	if !m.first.IsZero() {
		m.q.First, m.q.Last = m.first.Format(time.DateOnly), m.last.Format(time.DateOnly)
	}
	if !m.asOf.IsZero() {
		m.q.AsOf = m.asOf.Format(time.DateOnly)
	}
	for _, n := range m.places {
		if n >= 10 && n*100 >= m.rows {
			m.q.SamePlaces += n
		}
	}
}
