package permits

import (
	"context"
	"errors"
	"io"
	"time"

	"atlas/indexer/source/permit"
	"atlas/indexer/source/read"
	"atlas/internal/fault"
)

// scan reads the rows of all inputs and passes on their permits.
type scan struct {
	source   *permit.Source
	report   *Report
	letters  *deadLetters
	several  bool // inputs: a refusal names its own
	days     *days
	done     int64 // bytes of the previous inputs
	progress func(bytes int64)
}

// progressRows is how many rows are read between two calls of Progress.
const progressRows = 256

func (s *scan) inputs(ctx context.Context, inputs []Input, each func(*permit.Permit) error) error {
	for _, in := range inputs {
		if err := s.input(ctx, in, each); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) input(ctx context.Context, in Input, each func(*permit.Permit) error) error {
	file, err := in.Open(s.source.Reading())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	name := ""
	if s.several {
		name = in.base()
	}
	rows := &bound{source: s.source, file: file}
	if err := rows.bind(); err != nil {
		return fault.Wrap(err, fault.CodeOf(err), "%s", in.Name)
	}
	for n := 0; ; n++ {
		if n%progressRows == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if s.progress != nil {
				s.progress(s.done + file.BytesRead())
			}
		}
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			s.done += file.BytesRead()
			return rows.unseen(in.Name)
		}
		if bad, is := errors.AsType[*read.RowError](err); is {
			s.report.Rows++
			s.refuse(in, name, bad.Line, permit.Trouble{Reason: bad.Reason}, nil)
			continue
		}
		if err != nil {
			return err
		}
		s.report.Rows++
		if err := s.row(in, name, row, each); err != nil {
			return err
		}
	}
}

func (s *scan) row(in Input, name string, row read.Row, each func(*permit.Permit) error) error {
	if why, skipped := s.source.Skipped(row.Cells); skipped {
		s.report.SkippedRows[why]++
		return nil
	}
	p, wrong := s.source.Permit(row.Line, row.Cells)
	if wrong != nil {
		s.refuse(in, name, row.Line, *wrong, row.Cells)
		return nil
	}
	s.report.row(name, &p)
	if s.days != nil {
		s.days.saw(s.source.AsOf(row.Cells), p.Latest())
	}
	return each(&p)
}

func (s *scan) refuse(in Input, name string, line int64, t permit.Trouble, cells []string) {
	r := s.report
	r.RefusedRows++
	if len(r.Refused) < MaxRefusals {
		r.Refused = append(r.Refused, Refusal{name, line, t.Column, t.Reason})
	}
	s.letters.add(in.base(), line, t, s.source, cells)
}

// bound is a file whose columns the source is bound to. JSON may bring more columns with
// each row.
type bound struct {
	source  *permit.Source
	file    *read.File
	columns int
}

func (b *bound) bind() error {
	names := b.file.Columns()
	b.columns = len(names)
	whole := b.file.Format == read.CSV || b.file.Format == read.XLSX
	return b.source.Bind(b.file.Format, names, whole)
}

func (b *bound) next() (read.Row, error) {
	row, err := b.file.Next()
	if err == nil && len(b.file.Columns()) != b.columns {
		err = b.bind()
	}
	return row, err
}

// unseen is the error of columns that no row of a file had.
func (b *bound) unseen(name string) error {
	if len(b.file.Columns()) == 0 {
		return nil // a file without rows
	}
	if err := b.source.Bind(b.file.Format, b.file.Columns(), true); err != nil {
		return fault.Wrap(err, fault.CodeOf(err), "%s", name)
	}
	return nil
}

// days finds the day of the files.
type days struct {
	said   time.Time // by a column
	counts map[time.Time]int
	rows   int
}

const day = 24 * time.Hour

func (d *days) saw(said, latest time.Time) {
	d.said = later(d.said, said)
	if !latest.IsZero() {
		d.counts[latest.UTC().Truncate(day)]++
		d.rows++
	}
}

// typos is the share of rows whose dates may be too late, such as 2202 for 2022.
const typos = 1000

// latest is the latest day of the rows, ignoring a few as typing errors.
func (d *days) latest() time.Time {
	best := time.Time{}
	for at := range d.counts {
		after := 0
		for other, n := range d.counts {
			if !other.Before(at) {
				after += n
			}
		}
		if after > d.rows/typos && at.After(best) {
			best = at
		}
	}
	return best
}
