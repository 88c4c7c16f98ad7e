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

// Cursors signs what clients send back. *search.Cursors implements it.
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
	// Next is the cursor of what follows, "" on the last page. In the order of the chain
	// there is always one: what is chained later follows.
	Next string
}

// Read returns the page after a cursor, "" for the first. Error: BadRequest for a cursor that
// is not of this log in this order.
func (r *Reader) Read(ctx context.Context, in workspace.ID, q Query, cursor string) (Page, error) {
	purpose := "audit log of the workspace " + in.String()
	if q.Oldest {
		purpose += ", oldest first"
	}
	if cursor != "" {
		data, ok := r.Cursors.Open(purpose, cursor)
		if !ok || len(data) != 8 {
			return Page{}, fault.New(fault.BadRequest,
				"cursor is not a cursor of this audit log in this order: send metadata.next as it was answered, or leave it out to begin")
		}
		q.After = int64(binary.BigEndian.Uint64(data)) // #nosec G115 -- the same bits
	}
	limit := q.Limit
	q.Limit++
	events, err := r.Store.AuditEvents(ctx, in, q)
	if err != nil {
		return Page{}, err
	}
	more := len(events) > limit
	p := Page{Events: events[:min(limit, len(events))]}
	after := q.After
	if n := len(p.Events); n > 0 {
		if after = p.Events[n-1].ID; q.Oldest {
			after = p.Events[n-1].Number
		}
	}
	if more || q.Oldest {
		p.Next = r.Cursors.Seal(purpose, binary.BigEndian.AppendUint64(nil, uint64(after))) // #nosec G115 -- the same bits
	}
	return p, nil
}

// Delivered returns what principals got, the latest hour first.
func (r *Reader) Delivered(ctx context.Context, in workspace.ID, q DeliveredQuery) ([]Delivered, error) {
	return r.Store.Delivered(ctx, in, q)
}
