package permits

import (
	"context"
	"encoding/binary"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/indexer/ndjson"
	"atlas/indexer/source/permit"
	"atlas/internal/fault"
)

// sorted sorts the rows by permit on disk, decides which firms are one, and then writes
// each permit, or its changes since an earlier state.
func sorted(ctx context.Context, options Options, s *permit.Source, from *scan) error {
	scratch, err := os.MkdirTemp(options.TempDir, "atlas-permits-")
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a temporary folder cannot be created")
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := &run{options: options, source: s, report: from.report, firms: newFirms(s),
		spool: newSpool(scratch)}
	if err := r.before(); err != nil {
		return err
	}
	defer r.old.close()
	from.days = &days{counts: map[time.Time]int{}}
	read := func(ctx context.Context, emit func(*permit.Permit) error) error {
		return from.inputs(ctx, options.Inputs, emit)
	}
	if err := pipeline(ctx, read, r.spoolRow); err != nil {
		return err
	}
	r.asOf = asOf(options, from.days)
	if r.old != nil && r.old.asOf.After(r.asOf) {
		r.older = true
		r.note("the files are of " + r.asOf.Format(time.DateOnly) + ", the state of " +
			r.old.asOf.Format(time.DateOnly) + ": known permits stay as they are, and there are no signals")
	}
	if !r.asOf.IsZero() {
		r.report.AsOf = r.asOf.Format(time.DateOnly)
	}
	if err := r.link(); err != nil {
		return err
	}
	return r.write(ctx)
}

// run is one conversion of sorted rows.
type run struct {
	options Options
	source  *permit.Source
	report  *Report
	firms   *firms
	spool   *spool
	old     *state // nil without an earlier one
	asOf    time.Time
	older   bool // than the state
	rules   *decisions
	known   *accounts

	out    *ndjson.Folder
	next   *stateWriter // nil if no state is written
	object ndjson.Object
	share  float64 // minimum relative change of a cost for a signal

	byID map[string]*firm
	// linked are the accounts of firms that are not their own, wasLinked those of the
	// state.
	linked, wasLinked map[string]string
	aliases           map[string][]*firm // by their account
}

func (r *run) note(text string) { r.report.Notes = append(r.report.Notes, text) }

// before reads what the conversion needs besides the files.
func (r *run) before() (err error) {
	if r.share, err = r.source.Changes.Share(); err != nil {
		return fault.Wrap(err, fault.BadRequest, "changes.cost")
	}
	if r.rules, err = readDecisions(r.options.Decisions); err != nil {
		return err
	}
	if r.known, err = readAccounts(r.options.Accounts); err != nil {
		return err
	}
	if r.options.Since == "" {
		return nil
	}
	if r.old, err = openState(r.options.Since, r.source.Name); err != nil {
		return err
	}
	r.report.Changes = &Changes{Signals: map[string]int64{}}
	return r.old.firms(r.firms)
}

// asOf is the day of the files: as given, as the files say, as a file name says, or their
// latest date.
func asOf(options Options, d *days) time.Time {
	switch {
	case !options.AsOf.IsZero():
		return options.AsOf.UTC().Truncate(day)
	case !d.said.IsZero():
		return d.said.UTC().Truncate(day)
	}
	latest := time.Time{}
	for _, in := range options.Inputs {
		latest = later(latest, dayNamed(in.base()))
	}
	if latest.IsZero() {
		latest = d.latest()
	}
	return latest
}

// dayNamed is the date in the name of a file, as in permits-2026-11-20.csv and
// permits_20261120.csv.
func dayNamed(name string) time.Time {
	digits := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] >= '0' && name[i] <= '9' {
			digits++
			continue
		}
		if digits == 8 {
			if t, err := time.Parse("20060102", name[i-8:i]); err == nil && plausible(t) {
				return t
			}
		}
		digits = 0
		if i+2 < len(name) && i >= 4 {
			if at := i - 4; at+10 <= len(name) {
				if t, err := time.Parse(time.DateOnly, name[at:at+10]); err == nil && plausible(t) {
					return t
				}
			}
		}
	}
	return time.Time{}
}

func plausible(t time.Time) bool { return t.Year() > 1970 && t.Year() < 2200 }

// spoolRow stores a permit until it is written.
func (r *run) spoolRow(p *permit.Permit) error {
	r.firms.parties(p, nil)
	p.Troubles, p.Unmapped, p.Who = nil, nil, permit.Who{}
	return r.spool.add(uuid.MustParse(r.source.ID("projects", p.Key)), p)
}

// spool holds permits on disk, sorted by the ids of their projects and then by their rows.
type spool struct {
	sorter *extsort.Sorter
	writer *extsort.Writer
	rows   uint64
}

const spoolKey = 16 + 8

func newSpool(dir string) *spool {
	s := &spool{sorter: extsort.New(extsort.Options{Dir: dir, Name: "permits", KeySize: spoolKey})}
	s.writer = s.sorter.Writer()
	return s
}

func (s *spool) add(id uuid.UUID, p *permit.Permit) error {
	var key [spoolKey]byte
	copy(key[:], id[:])
	binary.BigEndian.PutUint64(key[16:], s.rows)
	s.rows++
	payload, err := json.Marshal(p)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a permit cannot be kept")
	}
	return s.writer.Add(key[:], payload)
}

// rowsOf are the rows of one permit, and the id of its project.
type rowsOf struct {
	id   uuid.UUID
	rows []*permit.Permit
}

// each passes on the rows of each permit, permits in the order of their ids and rows in the
// order of the files.
func (s *spool) each(ctx context.Context, do func(rowsOf) error) error {
	if err := s.writer.Close(); err != nil {
		return err
	}
	it, err := s.sorter.Iterate(ctx)
	if err != nil {
		return err
	}
	defer it.Close()
	var id uuid.UUID
	var rows []*permit.Permit
	for it.Next() {
		next := uuid.UUID(it.Key()[:16])
		if next != id && rows != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(rowsOf{id, rows}); err != nil {
				return err
			}
			rows = nil
		}
		id = next
		p := &permit.Permit{}
		if err := json.Unmarshal(it.Payload(), p); err != nil {
			return fault.Wrap(err, fault.Internal, "a kept permit cannot be read")
		}
		if len(rows) < maxRows {
			rows = append(rows, p)
		} else {
			rows = append(slices.Delete(rows, maxRows-1, maxRows), p)
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if len(rows) > 0 {
		return do(rowsOf{id, rows})
	}
	return nil
}

// maxRows is how many rows of one permit are joined; if there are more, the last ones are
// used.
const maxRows = 10_000
