package verify

import (
	"context"
	"encoding/binary"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/search/document"
)

// The expected documents are sorted by id: the key is id and line, the payload the
// digest and the public record.

const (
	idSize          = 16
	expectedKeySize = idSize + 8
)

func expected(key, payload []byte, doc indexer.Document) (_, _ []byte) {
	id := document.IDBytes(doc.ID)
	key = binary.BigEndian.AppendUint64(append(key[:0], id[:]...), uint64(doc.Line)) // #nosec G115 -- the same 64 bits, read back as written
	digest, _ := document.Digest(doc.JSON)
	payload = binary.BigEndian.AppendUint64(payload[:0], uint64(digest)) // #nosec G115 -- the same 64 bits, read back as written
	return key, append(payload, document.Public(doc.JSON)...)
}

// window is a range of ids with the source's records. The index is searched for the same
// range, so that each search reads only what is compared.
type window struct {
	after, upto string // ids; "" is open
	bytes       []byte
	source      []sourceRecord
	found       findings
	done        chan struct{} // closed when found is complete
}

type sourceRecord struct {
	id     string
	line   int64
	digest int64
	public struct{ start, end int } // in window.bytes
}

// findings are the result of comparing a window.
type findings struct {
	matching, missing, extra, different int64
	differences                         []Difference
}

// A window is full with this many records or bytes.
const (
	windowRecords = 1_000
	windowBytes   = 4 << 20
)

// compare merges a dataset's expected documents with its index.
func (v *verification) compare(ctx context.Context, row *DatasetReport, sorted *extsort.Sorter) (err error) {
	digests, err := v.hasDigests(ctx, row.Index)
	if err != nil {
		return err
	}
	if !digests {
		v.report.Notes = append(v.report.Notes, row.Index+" has no digests, so that what only searches see of it was not compared; the next load gives it digests")
	}
	if digests {
		if digests, err = v.foldsAlike(ctx, row.Index); err != nil {
			return err
		}
		if !digests {
			v.report.Notes = append(v.report.Notes, row.Index+" was folded by another version of Atlas, so that what only searches see of it was not compared; the next load folds it anew")
		}
	}
	entries, err := sorted.Iterate(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	group, inner := errgroup.WithContext(ctx)
	work, order := make(chan *window), make(chan *window, v.workers())
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return cutWindows(inner, entries, work, order)
	})
	for range v.workers() {
		group.Go(func() error {
			for w := range work {
				if err := v.compareWindow(inner, row, w, digests); err != nil {
					return err
				}
				close(w.done)
			}
			return nil
		})
	}
	group.Go(func() error { return v.collect(inner, row, order) })
	if err := group.Wait(); err != nil {
		return err
	}
	return v.countIndex(ctx, row)
}

// cutWindows sends the source in windows that cover all possible ids.
func cutWindows(ctx context.Context, entries *extsort.Iterator, work, order chan<- *window) error {
	w := &window{done: make(chan struct{})}
	send := func() error {
		for _, to := range []chan<- *window{order, work} {
			select {
			case to <- w:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
	for entries.Next() {
		if len(w.source) >= windowRecords || len(w.bytes) >= windowBytes {
			w.upto = w.source[len(w.source)-1].id
			if err := send(); err != nil {
				return err
			}
			w = &window{after: w.upto, done: make(chan struct{})}
		}
		key, payload := entries.Key(), entries.Payload()
		start := len(w.bytes)
		w.bytes = append(w.bytes, payload[8:]...)
		w.source = append(w.source, sourceRecord{
			id: uuid.UUID(key[:idSize]).String(), line: int64(binary.BigEndian.Uint64(key[idSize:])), // #nosec G115 -- the same 64 bits, read back as written
			digest: int64(binary.BigEndian.Uint64(payload)), public: struct{ start, end int }{start, len(w.bytes)}, // #nosec G115 -- the same 64 bits, read back as written
		})
	}
	if err := entries.Err(); err != nil {
		return err
	}
	return send()
}

// collect sums up the windows in their order.
func (v *verification) collect(ctx context.Context, row *DatasetReport, order <-chan *window) error {
	listed := 0
	for w := range order {
		select {
		case <-w.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		row.Matching += w.found.matching
		row.Missing += w.found.missing
		row.Extra += w.found.extra
		row.Different += w.found.different
		for _, difference := range w.found.differences {
			if err := v.add(difference, &listed); err != nil {
				return err
			}
		}
		v.meter.Add(int64(len(w.source)))
	}
	return nil
}

func (v *verification) add(difference Difference, listed *int) error {
	if *listed++; *listed <= MaxDifferences {
		v.report.Differences = append(v.report.Differences, difference)
	}
	if v.Each == nil {
		return nil
	}
	return v.Each(difference)
}

// compareWindow merges a window's records with the documents of the same range.
func (v *verification) compareWindow(ctx context.Context, row *DatasetReport, w *window, digests bool) error {
	rest := w.source
	missing := func(s sourceRecord) {
		w.found.missing++
		w.found.differences = append(w.found.differences, Difference{
			Dataset: row.Dataset, Kind: Missing, ID: s.id, File: row.File, Line: s.line,
		})
	}
	last := ""
	err := v.eachDocument(ctx, row.Index, w.after, w.upto, func(doc indexed) {
		for len(rest) > 0 && rest[0].id < doc.id {
			missing(rest[0])
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].id != doc.id || doc.id == last {
			w.found.extra++
			w.found.differences = append(w.found.differences, Difference{Dataset: row.Dataset, Kind: Extra, ID: doc.id})
			return
		}
		s := rest[0]
		rest, last = rest[1:], doc.id
		fields := differentFields(row.Dataset, w.bytes[s.public.start:s.public.end], s.digest, doc, digests)
		if len(fields) == 0 {
			w.found.matching++
			return
		}
		w.found.different++
		w.found.differences = append(w.found.differences, Difference{
			Dataset: row.Dataset, Kind: Different, ID: doc.id, File: row.File, Line: s.line, Fields: fields,
		})
	})
	for _, s := range rest {
		missing(s)
	}
	return err
}
