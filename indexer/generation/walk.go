package generation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/internal/fault"
)

// Walk reads the ids of an index, and a field of type long or members of the records, in
// the order of ids and in constant memory.
type Walk struct {
	Elastic *elastic.Client
	Retry   elastic.Retry
	Index   string
	Field   string   // of type long; "": none
	Members []string // of the public record; nil: none
	// Window is how many records are read at once; 0 means 5,000.
	Window int
}

// Record is a record that a Walk read.
type Record struct {
	ID    uuid.UUID
	Value int64
	Known bool // the record has a value
	// Source has the members that the record has.
	Source jsontext.Value
}

// Records are records in the order of ids, read ahead of the caller of Next.
type Records struct {
	pages chan []Record
	page  []Record
	err   error // set before pages is closed
}

// Start begins to read at an id. The caller must read to the end, or end ctx.
func (w Walk) Start(ctx context.Context, from uuid.UUID) *Records {
	return ReadAhead(ctx, func(take func([]Record) error) error { return w.each(ctx, from, take) })
}

// ReadAhead returns the records that each passes to take in pages.
func ReadAhead(ctx context.Context, each func(take func([]Record) error) error) *Records {
	r := &Records{pages: make(chan []Record, 1)}
	go func() {
		defer close(r.pages)
		r.err = each(func(page []Record) error {
			select {
			case r.pages <- page:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return r
}

// Next returns the next record, false at the end and after an error.
func (r *Records) Next() (Record, bool) {
	for len(r.page) == 0 {
		var more bool
		if r.page, more = <-r.pages; !more {
			return Record{}, false
		}
	}
	next := r.page[0]
	r.page = r.page[1:]
	return next, true
}

// Err returns the error that ended the records early. It may be called after Next
// returned false.
func (r *Records) Err() error { return r.err }

// each passes the records to take. It searches for ranges of ids, so that a search reads
// only what it returns. The size of the ranges follows the density of the ids.
func (w Walk) each(ctx context.Context, first uuid.UUID, take func([]Record) error) error {
	most := cmp.Or(w.Window, 5_000)
	from := span{binary.BigEndian.Uint64(first[:8]), binary.BigEndian.Uint64(first[8:])}
	width := span{high: 1 << 52} // of 2^128, for some 4,000 windows
	for {
		upto, last := from.plus(width)
		var hits []elastic.Hit[any]
		bounds := map[string]any{"gte": from.id()}
		if !last {
			bounds["lt"] = upto.id()
		}
		err := w.Retry.Do(ctx, func(ctx context.Context) (err error) {
			hits, err = elastic.Hits[any](ctx, w.Elastic, w.Index, w.search(bounds, most+1))
			return err
		})
		if err != nil {
			return err
		}
		if len(hits) > most { // too many: hits is incomplete
			width = width.half()
			continue
		}
		page := make([]Record, len(hits))
		for i, hit := range hits {
			id := hit.Keyword("id")
			if page[i].ID, err = uuid.Parse(id); err != nil {
				return fault.Wrap(err, fault.Internal, "%s has the record %q, which is no UUID", w.Index, id)
			}
			page[i].Value, page[i].Known = hit.Long(w.Field)
			page[i].Source = hit.Source
		}
		slices.SortFunc(page, func(a, b Record) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		if len(page) > 0 {
			if err := take(page); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		from = upto
		if len(hits) < most/2 {
			width = width.double()
		}
	}
}

// search is the body of a search for the records in a range of ids.
func (w Walk) search(ids map[string]any, most int) map[string]any {
	search := map[string]any{
		"query": map[string]any{"range": map[string]any{"id": ids}}, "size": most, "sort": []string{"_doc"},
		"track_total_hits": false,
	}
	fields := []string{"id"}
	if w.Field != "" {
		fields = append(fields, w.Field)
	}
	search["docvalue_fields"] = fields
	if w.Members != nil {
		search["_source"] = w.Members
	} else {
		// Only doc values of a document are loaded: its _id is stored with its source.
		search["stored_fields"] = "_none_"
	}
	return search
}

// span is a number of 128 bits: an id, or a number of ids.
type span struct{ high, low uint64 }

func (s span) id() string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], s.high)
	binary.BigEndian.PutUint64(id[8:], s.low)
	return id.String()
}

// plus adds, and reports whether the sum is beyond all ids.
func (s span) plus(o span) (sum span, beyond bool) {
	low, carry := bits.Add64(s.low, o.low, 0)
	high, carry := bits.Add64(s.high, o.high, carry)
	return span{high, low}, carry > 0
}

func (s span) double() span {
	if s.high>>63 > 0 {
		return s
	}
	return span{s.high<<1 | s.low>>63, s.low << 1}
}

// half is at least 1.
func (s span) half() span {
	if s.high == 0 && s.low <= 1 {
		return s
	}
	return span{s.high >> 1, s.low>>1 | s.high<<63}
}
