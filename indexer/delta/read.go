package delta

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/indexer/journal"
	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// source is a file of a delta. dataset is "" for dead letters, each of which names its own.
type source struct {
	dataset catalog.Dataset
	path    string
}

// sources returns the files in the order that decides between equal lines.
func (o Options) sources() []source {
	var all []source
	for _, f := range o.Files {
		all = append(all, source{dataset: f.Dataset, path: f.Path})
	}
	for _, path := range o.Corrected {
		all = append(all, source{path: path})
	}
	return all
}

// sortMemory is the memory for sorting a dataset, in bytes.
const sortMemory = 12 << 20

// read makes the list of each dataset, and stores the counts of lines in the state.
func (a *apply) read(ctx context.Context, s *state) error {
	r := &reading{
		apply: a, state: s, started: s.Started.UnixMilli(), sorters: map[catalog.Dataset]*extsort.Sorter{},
		writers: map[catalog.Dataset]*extsort.Writer{}, hits: erasure.Hits{},
	}
	for _, d := range catalog.Datasets {
		r.sorters[d] = extsort.New(extsort.Options{Dir: a.folder.scratch(), Name: string(d), KeySize: sortKeySize, Memory: sortMemory})
		r.writers[d] = r.sorters[d].Writer()
	}
	var err error
	if s.Sources, err = a.readSources(); err != nil {
		return err
	}
	if err := a.openDeadLetters(0); err != nil {
		return err
	}
	defer a.deadLetters.Close()
	// All files are opened before any is read, so that a wrong one is reported at once.
	readers := make([]*ndjson.Reader, len(a.sources))
	defer func() {
		for _, reader := range readers {
			if reader != nil {
				_ = reader.Close()
			}
		}
	}()
	for i, from := range a.sources {
		if readers[i], err = ndjson.Open(from.path); err != nil {
			return err
		}
		r.total += readers[i].Size()
	}
	for i, reader := range readers {
		if err := r.file(ctx, i, reader); err != nil {
			return err
		}
		r.before += reader.Size()
	}
	set, err := r.suppressions(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	r.noteTooMany(set)
	if err := r.erase(); err != nil {
		return err
	}
	if err := a.syncDeadLetters(); err != nil {
		return err
	}
	s.ReadDeadLetterBytes = s.DeadLetterBytes
	for _, d := range catalog.Datasets {
		if err := r.list(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// reading reads the files.
type reading struct {
	*apply
	state         *state
	started       int64
	sorters       map[catalog.Dataset]*extsort.Sorter
	writers       map[catalog.Dataset]*extsort.Writer
	total, before int64 // bytes
	lines         int64
	key, payload  []byte
	hits          erasure.Hits // ids that would be added to suppressions
}

// progressLines is the number of lines between two reports of progress.
const progressLines = 10_000

func (r *reading) file(ctx context.Context, number int, reader *ndjson.Reader) error {
	from, name := r.sources[number], r.names[number]
	began := time.Now()
	set, err := r.suppressions(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	lines, good := 0, 0
	for {
		line, raw, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		long, isLong := errors.AsType[*ndjson.LineError](err)
		if err != nil && !isLong {
			return err
		}
		if lines++; lines%progressLines == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.Progress(indexer.Progress{
				Phase: indexer.Reading, Done: r.before + reader.BytesRead(), Total: r.total, Records: r.lines,
				Elapsed: time.Since(began),
			})
		}
		r.lines++
		d, problems, known := from.dataset, []document.Problem(nil), false
		switch {
		case isLong:
			problems = []document.Problem{{Reason: long.Reason}}
		case d == "":
			d, raw, known, problems = parseDeadLetter(raw)
		}
		counts := r.state.count(d)
		counts.Lines++
		var e entry
		if len(problems) == 0 {
			e, problems = parseLine(d, raw)
		}
		if known {
			// A dead letter counts as good, whether or not its record is corrected.
			good++
		}
		suppressed := len(problems) > 0 && set.Line(d, raw)
		if suppressed {
			if e, known = leftOut(d, raw, set); known {
				problems = nil
			}
		}
		if len(problems) > 0 && suppressed {
			counts.SuppressedLines++
			if _, record := erasure.Read(raw); !record {
				if err := r.deadLetters.Add(journal.NewDeadLetter(d, name, line, journal.Withheld(), nil)); err != nil {
					return unusable(err, r.folder.deadLetters())
				}
			}
			continue
		}
		if len(problems) > 0 {
			counts.Rejected++
			if err := r.deadLetters.Add(journal.NewDeadLetter(d, name, line, problems, raw)); err != nil {
				return unusable(err, r.folder.deadLetters())
			}
			continue
		}
		if from.dataset != "" && !suppressed {
			good++
		}
		e.suppress(d, set)
		r.hits.Add(uuid.UUID(e.id), e.by...)
		e.file, e.line = number, line
		r.key = e.sortKey(r.key, r.started)
		r.payload = e.append(r.payload[:0])
		if err := r.writers[d].Add(r.key, r.payload); err != nil {
			return err
		}
	}
	// A single bad line is not an error. A file without any good line belongs to another
	// dataset or program.
	if lines > 1 && good == 0 {
		if from.dataset == "" {
			return fault.New(fault.BadRequest, "%s is not what it should be: none of its %d lines is a dead letter of a load or a delta", from.path, lines)
		}
		return fault.New(fault.BadRequest, "%s is not what it should be: none of its %d lines is a change of %s", from.path, lines, from.dataset)
	}
	return nil
}

// list writes the effective entries of a dataset, in the order of ids.
func (r *reading) list(ctx context.Context, d catalog.Dataset) error {
	if err := r.writers[d].Close(); err != nil {
		return err
	}
	if r.sorters[d].Len() == 0 {
		return nil
	}
	sorted, err := r.sorters[d].Iterate(ctx)
	if err != nil {
		return err
	}
	defer sorted.Close()
	w, err := extsort.CreateRun(r.folder.list(d))
	if err != nil {
		return err
	}
	var last recordID
	for n := 0; err == nil && sorted.Next(); n++ {
		id := recordID(sorted.Key()[:idSize])
		if n > 0 && id == last {
			r.state.count(d).Replaced++
			continue
		}
		last = id
		w.Add(id[:], sorted.Payload())
		if e, err := decodeKind(sorted.Payload()); err == nil && e == mergedEntry {
			r.state.Merges[d]++
		}
		if n%progressLines == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err = cmp.Or(err, sorted.Err()); err != nil {
		w.Abort()
		return unusable(err, r.folder.list(d))
	}
	if r.state.Lists[d], err = w.Close(); err != nil {
		return unusable(err, r.folder.list(d))
	}
	return nil
}

// count returns the counts of a dataset, "" for dead letters without one.
func (s *state) count(d catalog.Dataset) *Counts {
	if s.Counts[d] == nil {
		s.Counts[d] = &Counts{}
	}
	return s.Counts[d]
}
