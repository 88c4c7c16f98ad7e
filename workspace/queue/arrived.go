package queue

import (
	"context"
	"slices"
	"time"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
)

// Arrivals say which signals Arrived reads: signals of the types that arrived later than
// After, and not later than UpTo.
type Arrivals struct {
	Types       []string
	After, UpTo time.Time
	// Cursor is that of the previous page, "" for the first one.
	Cursor string
	// Limit is at most query.MaxLimit.
	Limit int
}

// ArrivedThrough returns an arrival up to which searches see every signal: whatever becomes
// visible later has a later arrival. So a reader that reads up to it, and then on from it,
// misses none. It does not move before the first load.
func (u *Queue) ArrivedThrough(ctx context.Context) (time.Time, error) {
	return u.Store.ArrivedThrough(ctx)
}

// Arrived reads signals that arrived for a workspace, by arrival and id, and costs no
// credits. Types that the workspace does not subscribe to, signals that arrived before its
// subscription, and dismissed ones are left out. next is the cursor of the next page, ""
// after the last one. Errors: fault.BadRequest for a cursor of another workspace,
// fault.Unavailable.
func (u *Queue) Arrived(ctx context.Context, in workspace.ID, a Arrivals) (signals []Signal, next string, err error) {
	state, err := u.Store.QueueState(ctx, in)
	if err != nil {
		return nil, "", err
	}
	for t, after := range state.After {
		if !slices.Contains(a.Types, t) {
			delete(state.After, t)
		} else if after.Before(a.After) {
			state.After[t] = a.After
		}
	}
	if len(state.After) == 0 {
		return nil, "", nil
	}
	page, err := u.Searcher.Search(ctx, query.Query{
		Dataset: catalog.Signals, Base: query.Base{Kind: catalog.QueueBase, Workspace: in.String()},
		Where: append(state.where(false), query.Range{Field: &query.Arrived, To: query.IntegerBound(a.UpTo.UnixMilli())}),
		Sort:  query.Sort{Field: query.Arrived}, Limit: a.Limit, After: a.Cursor,
	})
	for _, row := range page.Rows {
		s, err := read(row)
		if err != nil {
			return nil, "", err
		}
		signals = append(signals, s)
	}
	return signals, page.Next, err
}
