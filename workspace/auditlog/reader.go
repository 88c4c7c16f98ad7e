package auditlog

import (
	"context"
	"encoding/binary"

	"atlas/internal/fault"
	"atlas/workspace"
)

// EventStore has the events and counts of workspaces. *postgres.Store implements it.
type EventStore interface {
	AuditEvents(ctx context.Context, in workspace.ID, q Query) ([]Event, error)
	Delivered(ctx context.Context, in workspace.ID, q DeliveredQuery) ([]Delivered, error)
}

// Cursors signs and opens the cursors that clients send back. *search.Cursors implements
// it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, cursor string) (data []byte, ok bool)
}

// Reader answers requests for the log of a workspace.
type Reader struct {
	Store   EventStore
	Cursors Cursors
}

// Page is a part of the log.
type Page struct {
	Events []Event
	// Next is the cursor of the next page, "" on the last one. With the oldest first there is
	// always one: later events follow.
	Next string
}

// place is the position of a cursor: the id of an event or, with the oldest first, its number
// and the beginning of its digest.
type place struct {
	at     int64
	digest [16]byte
}

func (p place) encode(oldest bool) []byte {
	data := binary.BigEndian.AppendUint64(nil, uint64(p.at)) // #nosec G115 -- the same bits
	if oldest {
		data = append(data, p.digest[:]...)
	}
	return data
}

func decodePlace(data []byte, oldest bool) (p place, ok bool) {
	if len(data) != len(p.encode(oldest)) {
		return p, false
	}
	p.at = int64(binary.BigEndian.Uint64(data)) // #nosec G115 -- the same bits
	copy(p.digest[:], data[8:])
	return p, true
}

// placeOf is the position of an event in the order of the chain.
func placeOf(number int64, digest Digest) place { return place{number, [16]byte(digest[:16])} }

// follow checks that the chain goes on after a position. It does not when the chain was
// restored from a backup, or retention deleted what follows. Error: CursorTooOld.
func (r *Reader) follow(ctx context.Context, in workspace.ID, p place) error {
	if p.at == 0 {
		return nil // from the beginning of the stored events
	}
	events, err := r.Store.AuditEvents(ctx, in, Query{Oldest: true, After: p.at - 1, Limit: 1})
	if err != nil {
		return err
	}
	for _, e := range events {
		// If retention deleted the event, the next one has its digest.
		if placeOf(e.Number, e.Digest) == p || placeOf(e.Number-1, e.Previous) == p {
			return nil
		}
	}
	return fault.New(fault.CursorTooOld,
		"the audit log does not go on where this cursor is: it was restored from a backup, or what followed is no longer stored; "+
			"leave cursor out to read all of it again")
}

// Read returns the page after a cursor, "" for the first. Errors: BadRequest for a cursor that
// is not of this log and order, CursorTooOld if the chain does not go on after it.
func (r *Reader) Read(ctx context.Context, in workspace.ID, q Query, cursor string) (Page, error) {
	purpose := "audit log of the workspace " + in.String()
	if q.Oldest {
		purpose += ", oldest first"
	}
	var from place
	if cursor != "" {
		data, ok := r.Cursors.Open(purpose, cursor)
		if ok {
			from, ok = decodePlace(data, q.Oldest)
		}
		if !ok {
			return Page{}, fault.New(fault.BadRequest,
				"cursor is not a cursor of this audit log in this order: send metadata.next as it was answered, or leave it out to begin")
		}
		if q.Oldest {
			if err := r.follow(ctx, in, from); err != nil {
				return Page{}, err
			}
		}
	}
	q.After = from.at
	limit := q.Limit
	q.Limit++
	events, err := r.Store.AuditEvents(ctx, in, q)
	if err != nil {
		return Page{}, err
	}
	more := len(events) > limit
	p := Page{Events: events[:min(limit, len(events))]}
	after := from
	if n := len(p.Events); n > 0 {
		last := p.Events[n-1]
		if after = (place{at: last.ID}); q.Oldest {
			after = placeOf(last.Number, last.Digest)
		}
	}
	if more || q.Oldest {
		p.Next = r.Cursors.Seal(purpose, after.encode(q.Oldest))
	}
	return p, nil
}

// Delivered returns the records delivered to principals, the latest hour first.
func (r *Reader) Delivered(ctx context.Context, in workspace.ID, q DeliveredQuery) ([]Delivered, error) {
	return r.Store.Delivered(ctx, in, q)
}
