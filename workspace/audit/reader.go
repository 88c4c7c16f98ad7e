package audit

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
)

// Store has the changes. *postgres.Store implements it.
type Store interface {
	// LastChange is the position after all changes.
	LastChange(ctx context.Context, in workspace.ID) (Position, error)
	// ChangesSince is the position after all changes up to a time; known is false if
	// changes after it have been deleted.
	ChangesSince(ctx context.Context, in workspace.ID, at time.Time) (p Position, known bool, err error)
	// WorkspaceChanges is the page after a position; known is false if the position is no
	// longer valid.
	WorkspaceChanges(ctx context.Context, in workspace.ID, after Position, limit int) (page Page, known bool, err error)
	// WorkspaceHistory returns the stored changes of an id, the latest first.
	WorkspaceHistory(ctx context.Context, in workspace.ID, id uuid.UUID, limit int) ([]Change, error)
	// RecordHistory returns the stored changes of a record's overlay and memberships, the
	// latest first.
	RecordHistory(ctx context.Context, in workspace.ID, d catalog.Dataset, id uuid.UUID, limit, offset int) ([]Change, error)
}

// Cursors signs and opens the cursors that clients send back. *search.Cursors implements
// it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, cursor string) (data []byte, ok bool)
}

// Reader answers requests for the changes of a workspace.
type Reader struct {
	Store   Store
	Cursors Cursors
}

// Answer is the answer to a request.
type Answer struct {
	Changes  []Change
	Next     string
	CaughtUp bool
	// Lag is how long ago the last change before Next was made; 0 if there is no later one.
	Lag time.Duration
}

var errTooOld = fault.New(
	fault.CursorTooOld,
	"not all changes of the workspace since then are retained: ask for changes with {} to get a new cursor, then read everything again",
)

// Begin returns the position of a request. Errors: BadRequest for a cursor that is not of
// the workspace's changes, CursorTooOld.
func (r *Reader) Begin(ctx context.Context, in workspace.ID, req query.FeedRequest) (Position, error) {
	switch {
	case req.Cursor != "":
		return r.open(in, req.Cursor)
	case req.Since != nil:
		p, known, err := r.Store.ChangesSince(ctx, in, *req.Since)
		if err == nil && !known {
			err = errTooOld
		}
		return p, err
	}
	return r.Store.LastChange(ctx, in)
}

// waitEvery is the polling interval of Wait.
const waitEvery = 500 * time.Millisecond

// Wait waits until a change is published after the position, the request's waiting time
// ends, or stop returns true.
func (r *Reader) Wait(ctx context.Context, in workspace.ID, req query.FeedRequest, after Position, stop func() bool) error {
	for until := time.Now().Add(req.Wait); !stop(); {
		last, err := r.Store.LastChange(ctx, in)
		if err != nil || last != after {
			return err
		}
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		if err := timer.Sleep(ctx, min(left, waitEvery)); err != nil {
			return err
		}
	}
	return nil
}

// Read answers a request from a position on. A request without a start gets only the
// position, even if something was published meanwhile.
func (r *Reader) Read(ctx context.Context, in workspace.ID, req query.WorkspaceChangesRequest, after Position) (Answer, error) {
	if !req.Begins() {
		return Answer{Changes: []Change{}, Next: r.seal(in, after), CaughtUp: true}, nil
	}
	page, known, err := r.Store.WorkspaceChanges(ctx, in, after, req.Limit)
	if err == nil && !known {
		err = errTooOld
	}
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Changes: page.Changes, Next: r.seal(in, page.Next), CaughtUp: page.CaughtUp}
	if !page.CaughtUp {
		a.Lag = max(0, time.Since(page.Next.At))
	}
	return a, nil
}

// History returns the stored changes of an id, the latest first, and a cursor from now on.
// CaughtUp means that these are all.
func (r *Reader) History(ctx context.Context, in workspace.ID, id uuid.UUID, limit int) (Answer, error) {
	last, err := r.Store.LastChange(ctx, in)
	if err != nil {
		return Answer{}, err
	}
	changes, err := r.Store.WorkspaceHistory(ctx, in, id, limit+1)
	all := len(changes) <= limit
	return Answer{Changes: changes[:min(limit, len(changes))], Next: r.seal(in, last), CaughtUp: all}, err
}

// RecordHistory returns the stored changes of a record's overlay and memberships, the
// latest first.
func (r *Reader) RecordHistory(
	ctx context.Context, in workspace.ID, d catalog.Dataset, id uuid.UUID, limit, offset int,
) ([]Change, error) {
	return r.Store.RecordHistory(ctx, in, d, id, limit, offset)
}

// A cursor is the three parts of a position.
const cursorSize = 3 * 8

func purpose(in workspace.ID) string { return "changes of the workspace " + in.String() }

func (r *Reader) seal(in workspace.ID, p Position) string {
	b := binary.BigEndian.AppendUint64(nil, p.Transaction)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Seq))                                            // #nosec G115 -- the same bits
	return r.Cursors.Seal(purpose(in), binary.BigEndian.AppendUint64(b, uint64(p.At.UnixMicro()))) // #nosec G115 -- the same bits
}

func (r *Reader) open(in workspace.ID, cursor string) (Position, error) {
	data, ok := r.Cursors.Open(purpose(in), cursor)
	if !ok || len(data) != cursorSize {
		return Position{}, fault.New(
			fault.BadRequest,
			"cursor is not a cursor of the changes of this workspace: send metadata.next as it was answered, or leave it out to begin now",
		)
	}
	part := func(i int) int64 { return int64(binary.BigEndian.Uint64(data[8*i:])) } // #nosec G115 -- the same bits
	return Position{binary.BigEndian.Uint64(data), part(1), time.UnixMicro(part(2)).UTC()}, nil
}
