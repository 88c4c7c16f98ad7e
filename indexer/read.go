package indexer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/indexer/journal"
	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/document"
)

// lineBatch is a batch of lines for a worker, or the end of a range.
type lineBatch struct {
	bytes []byte
	lines []lineAt
	end   *lineRange
}

type lineAt struct {
	number     int64
	start, end int
	unread     string // why the line could not be read; "" if it was
}

// lineRange is the end of a range of lines.
type lineRange struct {
	offset, line int64
	last         bool // of the file
	barrier      *barrier
}

// lineBatchSize is the size of a batch of lines, in bytes.
const lineBatchSize = 256 << 10

// openInputs opens every unread file before reading any, so that a wrong one is
// reported at once.
func (l *load) openInputs() error {
	for i, in := range l.inputs {
		switch {
		case in.path == "":
			continue
		case l.state.Datasets[in.dataset].Read:
			if info, err := os.Stat(in.path); err == nil {
				l.meter.Expect(info.Size())
				l.meter.done.Add(info.Size())
			}
			continue
		}
		r, err := ndjson.Open(in.path)
		if err != nil {
			return err
		}
		l.readers[i] = r
		l.meter.Expect(r.Size())
	}
	return nil
}

func (l *load) closeInputs() {
	for i, r := range l.readers {
		if r != nil {
			_ = r.Close()
			l.readers[i] = nil
		}
	}
}

// reading reads one file.
type reading struct {
	load       *load
	in         input
	reader     *ndjson.Reader
	state      *datasetState
	sorter     *extsort.Sorter
	full, free chan *lineBatch

	// Since the last checkpoint.
	began           time.Time
	lines, rejected atomic.Int64
	merges          atomic.Int64
	suppressed      atomic.Int64 // suppressed lines that are not records
	seen            int64        // bytes that the meter has counted
}

// read checks the lines of a dataset and sorts its records by id, from the last
// checkpoint on.
func (l *load) read(ctx context.Context, i int) (*extsort.Sorter, error) {
	in := l.inputs[i]
	state := l.state.Datasets[in.dataset]
	sorter, err := l.sorter(string(in.dataset), recordKeySize, l.SortMemory/l.Workers, state.Runs)
	if err != nil || state.Read {
		return sorter, err
	}
	if l.readers[i] == nil {
		state.Read = true
		return sorter, l.save()
	}
	r := &reading{
		load: l, in: in, reader: l.readers[i], state: state, sorter: sorter, began: time.Now(),
		full: make(chan *lineBatch, l.Workers), free: make(chan *lineBatch, 2*l.Workers+1),
	}
	if state.Line > 0 {
		if err := r.reader.Resume(ctx, state.Offset, state.Line); err != nil {
			return nil, err
		}
		r.seen = r.reader.BytesRead()
		l.meter.done.Add(r.seen)
		l.meter.begin()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(r.full)
		return r.readLines(ctx)
	})
	for range l.Workers {
		w := sorter.Writer()
		group.Go(func() error { return r.work(ctx, w) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return sorter, nil
}

// readLines sends the lines to the workers, range by range.
func (r *reading) readLines(ctx context.Context) error {
	batch := r.nextBatch()
	inRange, start := int64(0), r.reader.Offset()
	for {
		number, line, err := r.reader.Next()
		if errors.Is(err, io.EOF) {
			return r.endRange(ctx, batch, true)
		}
		at := lineAt{number: number, start: len(batch.bytes)}
		if err != nil {
			long, ok := errors.AsType[*ndjson.LineError](err)
			if !ok {
				return err
			}
			at.number, at.unread = long.Line, long.Reason
		} else {
			batch.bytes = append(batch.bytes, line...)
		}
		at.end = len(batch.bytes)
		batch.lines = append(batch.lines, at)
		inRange++
		switch {
		case inRange >= r.load.CheckpointRecords || r.reader.Offset()-start >= rangeBytes:
			if err := r.endRange(ctx, batch, false); err != nil {
				return err
			}
			inRange, start = 0, r.reader.Offset()
			batch = r.nextBatch()
		case len(batch.bytes) >= lineBatchSize:
			if err := r.sendBatch(ctx, batch); err != nil {
				return err
			}
			batch = r.nextBatch()
		}
	}
}

// endRange ends a range after the last line that was read.
func (r *reading) endRange(ctx context.Context, batch *lineBatch, last bool) error {
	if err := r.sendBatch(ctx, batch); err != nil {
		return err
	}
	end := &lineRange{offset: r.reader.Offset(), line: r.reader.Line(), last: last, barrier: newBarrier(r.load.Workers)}
	for range r.load.Workers {
		if err := r.sendBatch(ctx, &lineBatch{end: end}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) nextBatch() *lineBatch {
	select {
	case b := <-r.free:
		b.bytes, b.lines = b.bytes[:0], b.lines[:0]
		return b
	default:
		return &lineBatch{}
	}
}

func (r *reading) sendBatch(ctx context.Context, b *lineBatch) error {
	now := r.reader.BytesRead()
	r.load.meter.done.Add(now - r.seen)
	r.seen = now
	return send(ctx, r.full, b)
}

// work checks lines until the channel is closed.
func (r *reading) work(ctx context.Context, w *extsort.Writer) error {
	for batch := range r.full {
		if end := batch.end; end != nil {
			if err := w.Flush(); err != nil {
				return err
			}
			if err := end.barrier.wait(ctx, func() error { return r.commit(end) }); err != nil {
				return err
			}
			continue
		}
		if err := r.parse(batch, w); err != nil {
			return err
		}
		select {
		case r.free <- batch:
		default:
		}
	}
	return w.Close()
}

func (r *reading) parse(batch *lineBatch, w *extsort.Writer) error {
	l, in := r.load, r.in
	var key, payload []byte
	rejected, merges, suppressed, started := int64(0), int64(0), int64(0), l.started.UnixMilli()
	for _, at := range batch.lines {
		if at.unread != "" {
			rejected++
			l.deadLetters.add(in.dataset, in.name(), at.number, []document.Problem{{Reason: at.unread}}, nil)
			continue
		}
		line := batch.bytes[at.start:at.end]
		m, isMerge, problems := document.ParseMerge(in.dataset, line)
		var record document.Record
		if !isMerge {
			record, problems = document.Parse(in.dataset, line, l.started)
		}
		if len(problems) > 0 {
			if l.suppressed.Line(in.dataset, line) {
				if v, updated, known := Identify(line); known { // suppressed, whatever is wrong with the line
					key = recordKey(key, document.IDBytes(v.ID), *cmp.Or(updated, &started), at.number)
					payload = l.leftOut(payload, in.dataset, v)
					if err := w.Add(key, payload); err != nil {
						return err
					}
					continue
				}
				suppressed++
				if _, record := erasure.Read(line); !record {
					l.deadLetters.add(in.dataset, in.name(), at.number, journal.Withheld(), nil)
				}
				continue
			}
			rejected++
			l.deadLetters.add(in.dataset, in.name(), at.number, problems, line)
			continue
		}
		if isMerge && (l.suppressed.Has(in.dataset, erasure.Values{ID: m.ID}) || l.suppressed.Has(in.dataset, erasure.Values{ID: m.Into})) {
			// A record that is merged into a suppressed one counts as that one.
			key = recordKey(key, document.IDBytes(m.ID), *cmp.Or(m.Updated, &started), at.number)
			payload = document.AppendSuppressedBinary(payload[:0])
		} else if isMerge {
			merges++
			key = recordKey(key, document.IDBytes(m.ID), *cmp.Or(m.Updated, &started), at.number)
			payload = document.AppendMergeBinary(payload[:0], document.IDBytes(m.Into))
		} else {
			key = recordKey(key, document.IDBytes(record.ID()), record.Millis("updated_at"), at.number)
			if v := ValuesOf(record); l.suppressed.Has(in.dataset, v) {
				payload = l.leftOut(payload, in.dataset, v)
			} else {
				payload = record.AppendBinary(payload[:0])
			}
		}
		if err := w.Add(key, payload); err != nil {
			return err
		}
	}
	r.rejected.Add(rejected)
	r.merges.Add(merges)
	r.suppressed.Add(suppressed)
	r.lines.Add(int64(len(batch.lines)))
	l.meter.records.Add(int64(len(batch.lines)))
	return nil
}

// commit writes the checkpoint at the end of a range, while all workers wait.
func (r *reading) commit(end *lineRange) error {
	s, now := r.state, time.Now()
	s.Lines += r.lines.Swap(0)
	s.Rejected += r.rejected.Swap(0)
	s.MergeLines += r.merges.Swap(0)
	s.SuppressedLines += r.suppressed.Swap(0)
	s.ReadTime += now.Sub(r.began).Seconds()
	r.began = now
	s.Offset, s.Line, s.Runs = end.offset, end.line, r.sorter.Runs()
	if end.last {
		if err := r.checkFile(); err != nil {
			return err
		}
		s.Read = true
	}
	if err := r.load.deadLetters.sync(); err != nil {
		return err
	}
	return r.load.save()
}

// checkFile refuses a file without any record: it belongs to another dataset or program,
// and loading it would empty the dataset.
func (r *reading) checkFile() error {
	switch s := r.state; {
	case s.Lines == 0 || s.Lines > s.Rejected:
	case s.Lines == 1:
		return fault.New(fault.BadRequest, "%s is not what its name says: its only line is no record of %s", r.in.path, r.in.dataset)
	default:
		return fault.New(fault.BadRequest, "%s is not what its name says: none of its %d lines is a record of %s",
			r.in.path, s.Lines, r.in.dataset)
	}
	for _, was := range r.load.manifest.Inputs {
		if was.Dataset == r.in.dataset {
			return was.checkUnchanged()
		}
	}
	return nil
}
