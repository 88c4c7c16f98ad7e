package indexer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/document"
)

// lineBatch is lines on their way to a worker.
type lineBatch struct {
	bytes []byte
	lines []lineAt
}

type lineAt struct {
	number     int64
	start, end int
}

// lineBatchSize is how much a worker gets at once, in bytes.
const lineBatchSize = 256 << 10

// openInputs opens every file before any is read, so that a wrong one is known
// at once.
func (l *load) openInputs() error {
	for i, in := range l.inputs {
		if in.path == "" {
			continue
		}
		r, err := ndjson.Open(in.path)
		if err != nil {
			return err
		}
		l.readers[i] = r
		l.meter.total.Add(r.Size())
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

// read checks a dataset's lines and sorts its records by id.
func (l *load) read(ctx context.Context, i int) (*extsort.Sorter, error) {
	in, reader := l.inputs[i], l.readers[i]
	sorter := extsort.New(extsort.Options{
		Dir: l.dir.path, Name: string(in.dataset), KeySize: recordKeySize, Memory: l.SortMemory / l.Workers,
	})
	if reader == nil {
		return sorter, nil
	}
	start := time.Now()
	stats := l.stats[in.dataset]
	group, ctx := errgroup.WithContext(ctx)
	full := make(chan *lineBatch, l.Workers)
	free := make(chan *lineBatch, 2*l.Workers+1)
	group.Go(func() error {
		defer close(full)
		return l.readLines(ctx, in, reader, stats, full, free)
	})
	for range l.Workers {
		w := sorter.Writer()
		group.Go(func() error {
			for batch := range full {
				if err := l.parseLines(in, batch, stats, w); err != nil {
					return err
				}
				select {
				case free <- batch:
				default:
				}
			}
			return w.Close()
		})
	}
	if err := group.Wait(); err != nil {
		sorter.Discard()
		return nil, err
	}
	stats.seconds += time.Since(start)
	// One bad line is a bad line. Lines of which none is a record are another
	// dataset's, or another program's: loading nothing of them would empty the
	// dataset.
	if stats.lines.Load() > 1 && stats.lines.Load() == stats.rejected.Load() {
		return nil, fault.New(fault.BadRequest, "%s is not what its name says: none of its %d lines is a record of %s",
			in.path, stats.lines.Load(), in.dataset)
	}
	return sorter, nil
}

func (l *load) readLines(ctx context.Context, in input, reader *ndjson.Reader, stats *stats, full, free chan *lineBatch) error {
	take := func() *lineBatch {
		select {
		case b := <-free:
			b.bytes, b.lines = b.bytes[:0], b.lines[:0]
			return b
		default:
			return &lineBatch{}
		}
	}
	before := int64(0)
	send := func(b *lineBatch) error {
		now := reader.BytesRead()
		l.meter.done.Add(now - before)
		before = now
		select {
		case full <- b:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	batch := take()
	for {
		number, line, err := reader.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			long, ok := errors.AsType[*ndjson.LineError](err)
			if !ok {
				return err
			}
			stats.lines.Add(1)
			stats.rejected.Add(1)
			l.rejects.line(in.dataset, in.name(), long.Line, []document.Problem{{Reason: long.Reason}}, nil)
			continue
		}
		stats.lines.Add(1)
		start := len(batch.bytes)
		batch.bytes = append(batch.bytes, line...)
		batch.lines = append(batch.lines, lineAt{number, start, len(batch.bytes)})
		if len(batch.bytes) >= lineBatchSize {
			if err := send(batch); err != nil {
				return err
			}
			batch = take()
		}
	}
	return send(batch)
}

func (l *load) parseLines(in input, batch *lineBatch, stats *stats, w *extsort.Writer) error {
	var key, payload []byte
	rejected := int64(0)
	for _, at := range batch.lines {
		line := batch.bytes[at.start:at.end]
		record, problems := document.Parse(in.dataset, line, l.started)
		if len(problems) > 0 {
			rejected++
			l.rejects.line(in.dataset, in.name(), at.number, problems, line)
			continue
		}
		key = recordKey(key, document.IDBytes(record.ID()), record.Millis("updated_at"), at.number)
		payload = record.AppendBinary(payload[:0])
		if err := w.Add(key, payload); err != nil {
			return err
		}
	}
	stats.rejected.Add(rejected)
	l.meter.records.Add(int64(len(batch.lines)))
	return nil
}

// stats counts while a load runs.
type stats struct {
	lines, rejected, replaced, refused, documents, dangling atomic.Int64
	seconds                                                 time.Duration
}
