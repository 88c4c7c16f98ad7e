package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// ChangesRequest requests the changes of a dataset: docs/api.md, "Changes". The zero value
// requests a cursor from now on.
type ChangesRequest struct {
	// Cursor is Changes.Next of the previous page, Since a start time instead. The zero
	// time is none.
	Cursor string
	Since  time.Time
	// Limit of changes, 1 to 1,000; 0: 100.
	Limit int
	// Records requests the record of each upsert, for a credit each, Fields some of its
	// members.
	Records bool
	Fields  []string
	// Filters are those of Search. A changed record that does not match becomes a leave.
	Filters Filters
	// Wait is how long the service waits for a change if there is none, up to 30 s.
	Wait time.Duration
	// History requests the stored changes of a record instead, newest first and one by one.
	// CaughtUp then means that these are all.
	History string
}

// body is the body of the request.
func (q ChangesRequest) body() any {
	body := struct {
		Cursor  string   `json:"cursor,omitzero"`
		Since   any      `json:"since,omitempty"`
		Limit   int      `json:"limit,omitzero"`
		Records bool     `json:"records,omitzero"`
		Fields  []string `json:"fields,omitzero"`
		Filters Filters  `json:"filters,omitzero"`
		Wait    int      `json:"wait_s,omitzero"`
		History string   `json:"history,omitzero"`
	}{q.Cursor, nil, q.Limit, q.Records, q.Fields, q.Filters, int((q.Wait + time.Second - 1) / time.Second), q.History}
	if !q.Since.IsZero() {
		body.Since = scalar(q.Since)
	}
	return body
}

// RecordChange is a change of a record.
type RecordChange[R any] struct {
	ID string `json:"id"`
	Op Op     `json:"op"`
	// Into is the record into which the record of a merge was merged. That record may have
	// been merged since.
	Into string    `json:"into"`
	At   time.Time `json:"at"`
	// Changed are the changed fields of an upsert.
	Changed []string `json:"changed"`
	// Record is the present record of an upsert, if it was requested.
	Record *R `json:"record"`
}

// Changes is a page of changes.
type Changes[R any] struct {
	Changes []RecordChange[R]
	// Next is the cursor of the next page. CaughtUp means that nothing follows yet;
	// otherwise Lag is how long ago the last change of the page was published.
	Next     string
	CaughtUp bool
	Lag      time.Duration
	// Credits is the cost of the page, Window the state of the credits.
	Credits int
	Window  Window
}

// Changes returns the changes after a cursor or a time. Errors: ErrCursorTooOld: take a new
// cursor with the zero request, and then read all records.
func (d *Dataset[R]) Changes(ctx context.Context, q ChangesRequest) (*Changes[R], error) {
	r := request{method: http.MethodPost, path: d.path + "/changes", body: q.body()}
	a, err := call[[]RecordChange[R]](ctx, d.conn, r)
	if err != nil {
		return nil, err
	}
	m := a.Metadata
	return &Changes[R]{a.Data, m.Next, m.CaughtUp, time.Duration(m.Lag * float64(time.Second)), m.Credits, windowOf(a.header)}, nil
}

// followWait is how long a request of Follow waits if q.Wait is 0.
const followWait = 15 * time.Second

// Follow iterates over pages of changes from q.Cursor or q.Since on, the next one when a
// change is published. Empty pages show that there was none for a while. It ends with an
// error, including that of ctx; it can be continued from the cursor of the last page.
//
//	start, err := c.Projects.Changes(ctx, client.ChangesRequest{})
//	// … then read all records, and then:
//	for page, err := range c.Projects.Follow(ctx, client.ChangesRequest{Cursor: start.Next}) { … }
func (d *Dataset[R]) Follow(ctx context.Context, q ChangesRequest) iter.Seq2[*Changes[R], error] {
	return follow(q.Cursor, q.Wait, func(cursor string, wait time.Duration) (*Changes[R], string, bool, error) {
		if q.Cursor, q.Wait = cursor, wait; cursor != "" {
			q.Since = time.Time{}
		}
		page, err := d.Changes(ctx, q)
		if err != nil {
			return nil, "", false, err
		}
		return page, page.Next, page.CaughtUp, nil
	})
}

// follow iterates over the pages of read, which returns the cursor of the next page and
// whether nothing follows yet.
func follow[P any](
	cursor string, wait time.Duration,
	read func(cursor string, wait time.Duration) (page P, next string, caughtUp bool, err error),
) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for cursor, wait := cursor, cmp.Or(wait, followWait); ; {
			page, next, caughtUp, err := read(cursor, wait)
			if err == nil && !caughtUp && next == cursor {
				err = errors.New("atlas: the next changes have the cursor of these")
			}
			if err != nil {
				var none P
				yield(none, err)
				return
			}
			if !yield(page, nil) {
				return
			}
			cursor = next
		}
	}
}
