package client

import (
	"context"
	"iter"
	"net/http"
)

// QueueSearch is a search of the queue of signals. Its Sort must be nil: the newest
// arrival comes first.
type QueueSearch struct {
	Search
	// InBook selects only signals whose account or project is in the book.
	InBook bool `json:"in_book,omitzero"`
	// Dismissed selects only the dismissed signals.
	Dismissed bool `json:"dismissed,omitzero"`
}

// QueuePage is a page of the queue. Unread counts the signals of the whole queue that are
// not dismissed.
type QueuePage struct {
	Page[Signal]
	Unread int
}

// Queue is the workspace's queue of signals: signals of the subscribed types that arrived
// after their subscription began.
type Queue struct{ conn *conn }

const queuePath = "/workspace/signal-queue"

// Search returns one page. Each signal costs a credit.
func (u *Queue) Search(ctx context.Context, q QueueSearch) (*QueuePage, error) {
	a, err := call[[]Signal](ctx, u.conn, request{method: http.MethodPost, path: queuePath + "/search", body: q})
	page := pageOf(a.Data, a.Metadata, a.header)
	if page == nil {
		return nil, err
	}
	return &QueuePage{*page, a.Metadata.Unread}, err
}

// Cost counts the matches of a search exactly, and returns the price of its page. It costs
// nothing; with the zero QueueSearch, Count is the number of unread signals. Errors:
// ErrTooManyRequests.
func (u *Queue) Cost(ctx context.Context, q QueueSearch) (Cost, error) {
	body := struct {
		QueueSearch
		DryRun bool `json:"dry_run"`
	}{q, true}
	return data[Cost](ctx, u.conn, request{method: http.MethodPost, path: queuePath + "/search", body: body})
}

// All iterates over the signals from q.SearchAfter, or the newest arrival, to the last one,
// and fetches each page on demand, like Source.Pages. An error ends the iteration.
func (u *Queue) All(ctx context.Context, q QueueSearch) iter.Seq2[Signal, error] {
	return recordsOf(walkPages(ctx, q.Search, func(ctx context.Context, at Search) (*Page[Signal], error) {
		q := q
		q.Search = at
		page, err := u.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		return &page.Page, nil
	}))
}

// Dismiss dismisses 1 to 100 signals of the queue, for the whole workspace. Items fail
// with ErrNotFound and ErrLimitReached.
func (u *Queue) Dismiss(ctx context.Context, ids []string) (Batch[Nothing], error) {
	return u.batch(ctx, "/dismiss/batch", ids)
}

// Restore returns 1 to 100 dismissed signals to the queue. Others are ignored.
func (u *Queue) Restore(ctx context.Context, ids []string) (Batch[Nothing], error) {
	return u.batch(ctx, "/restore/batch", ids)
}

func (u *Queue) batch(ctx context.Context, path string, ids []string) (Batch[Nothing], error) {
	return batch[Nothing](ctx, u.conn, request{method: http.MethodPost, path: queuePath + path, body: map[string][]string{"ids": ids}})
}
