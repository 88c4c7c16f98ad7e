package search

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

type (
	recordID = uuid.UUID
	digest   = [16]byte
)

// following is one run of atlas follow.
type following struct {
	budget
	source  *client.Dataset[json.RawMessage]
	request client.Search // all records, in order
	target  target
	copy    followCopy
	state   followState
	shown   *exportProgress
	once    bool
	// wait is how long a verification that finds a difference waits for changes that are
	// made but not published yet.
	wait time.Duration
	// agree says what reading all records costs, and may ask for confirmation.
	agree func(context.Context) error
}

const (
	// changesPage is how many changes a request asks for.
	changesPage = 1_000
	// changesWait is how long a request waits for a change.
	changesWait = 15 * time.Second
	// longestLog is the size of a folder's log, in bytes, above which it is settled
	// although more changes follow.
	longestLog = 64 << 20
)

// run continues from the state to the end of the changes, and with once returns then. The
// cursor of the feed is taken before the first page: a record that changes while the
// records are read comes after the cursor.
func (f *following) run(ctx context.Context) error {
	if f.state.Phase == toBegin {
		if err := f.agree(ctx); err != nil {
			return err
		}
		start, err := f.source.Changes(ctx, client.ChangesRequest{})
		if err != nil {
			return err
		}
		f.state.Phase, f.state.Cursor = reading, start.Next
		if err := f.copy.write(ctx, nil, &f.state); err != nil {
			return err
		}
	}
	f.shown.begin(f.state.Rows)
	for f.state.Phase == reading {
		if err := f.read(ctx); err != nil {
			return err
		}
	}
	if f.state.Phase == staged {
		f.state.Phase = followingOn
		if err := f.copy.settle(ctx, &f.state); err != nil {
			return err
		}
	}
	return f.follow(ctx, 0, nil)
}

// read stages one page.
func (f *following) read(ctx context.Context) error {
	page, err := f.search(ctx, target{source: &f.source.Source, each: 1, most: client.MaxPage}, f.request, f.state.SearchAfter)
	if err != nil {
		return err
	}
	changes := make([]change, len(page.Records))
	for i, record := range page.Records {
		if changes[i].id, err = idOf(record); err != nil {
			return err
		}
		changes[i].record = record
	}
	next := f.state
	next.Rows += len(page.Records)
	next.Credits += page.Credits
	if next.SearchAfter = page.Next; page.Next == "" {
		next.Phase = staged
	}
	if err := f.copy.write(ctx, changes, &next); err != nil {
		return err
	}
	f.state = next
	f.shown.page(f.state.Rows, f.spent, page.Window)
	return nil
}

// follow applies changes. The first request waits for a change if there is none. seen, when
// not nil, is called with each.
func (f *following) follow(ctx context.Context, wait time.Duration, seen func(recordID)) error {
	q := client.ChangesRequest{Records: true, Filters: f.request.Filters, Wait: wait}
	for reported := false; ; {
		caughtUp, err := f.next(ctx, q, seen)
		if f.state.Logged > 0 && (err != nil || caughtUp || f.state.Logged > longestLog) {
			if err := f.copy.settle(ctx, &f.state); err != nil {
				return err
			}
		}
		if err != nil || caughtUp && f.once {
			return err
		}
		if caughtUp && !reported {
			f.shown.note("equal to the data after " + cli.Grouped(f.state.Rows) + " rows; following its changes until it is interrupted")
			reported = true
		}
		if q.Wait = 0; caughtUp {
			q.Wait = changesWait
		}
	}
}

// next applies a page of changes and reports whether it was the last for now.
func (f *following) next(ctx context.Context, q client.ChangesRequest, seen func(recordID)) (bool, error) {
	var err error
	if q.Limit, err = f.limit(changesPage, 1); err != nil {
		return false, err
	}
	q.Cursor = f.state.Cursor
	page, err := f.source.Changes(ctx, q)
	if err != nil {
		return false, err
	}
	f.charge(page.Credits, page.Window)
	changes := make([]change, len(page.Changes))
	for i, c := range page.Changes {
		if changes[i].id, err = uuid.Parse(c.ID); err != nil {
			return false, fmt.Errorf("the service reported a change of %q: %w", c.ID, err)
		}
		if c.Op == client.OpUpsert && c.Record != nil {
			changes[i].record = *c.Record
		}
		if seen != nil {
			seen(changes[i].id)
		}
	}
	if page.Next == f.state.Cursor {
		if !page.CaughtUp {
			return false, errors.New("the service answered the same cursor again")
		}
		return true, nil
	}
	next := f.state
	next.Cursor = page.Next
	next.Changes += len(changes)
	next.Credits += page.Credits
	if err := f.copy.write(ctx, changes, &next); err != nil {
		return false, err
	}
	f.state = next // only what is stored, because it may be settled after an error
	if len(changes) > 0 {
		f.shown.changes(f.state.Rows, f.state.Changes, f.spent, f.window)
	}
	return page.CaughtUp, nil
}

func idOf(record json.RawMessage) (recordID, error) {
	var members struct{ ID recordID }
	if err := json.Unmarshal(record, &members); err != nil || members.ID == uuid.Nil {
		return uuid.Nil, fmt.Errorf("a record has no id: %.100s", record)
	}
	return members.ID, nil
}

// digestOf is equal for equal records, whatever the order of their members and the form of
// their numbers: Postgres changes both.
func digestOf(record json.RawMessage) (digest, error) {
	var value any
	if err := json.Unmarshal(record, &value); err != nil {
		return digest{}, err
	}
	canonical, err := json.Marshal(value)
	sum := sha256.Sum256(canonical)
	return digest(sum[:16]), err
}
