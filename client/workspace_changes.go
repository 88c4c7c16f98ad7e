package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// WorkspaceChangesRequest requests the changes of the workspace: docs/api.md, "Changes of
// the workspace". The zero value requests a cursor from now on.
type WorkspaceChangesRequest struct {
	// Cursor is WorkspaceChanges.Next of the previous page, Since a start time instead.
	Cursor string
	Since  time.Time
	// Limit of changes, 1 to 1,000; 0: 100.
	Limit int
	// Wait is how long the service waits for a change if there is none, up to 30 s.
	Wait time.Duration
	// History requests the stored changes of an id instead, newest first and one by one.
	History string
}

// WorkspaceChange is a change in the workspace.
type WorkspaceChange struct {
	Op   Op         `json:"op"` // OpUpsert or OpDelete
	Kind ChangeKind `json:"kind"`
	// ID is that of the record, of the user of a member, of the workspace of a setting,
	// else of the object itself.
	ID string `json:"id"`
	// Dataset is that of an overlay, a membership or a View, ViewID that of a membership.
	Dataset DatasetName `json:"dataset"`
	ViewID  string      `json:"view_id"`
	At      time.Time   `json:"at"`
	By      Author      `json:"by"`
	// Changed are the changed fields of an upsert.
	Changed []string `json:"changed"`
}

// Author is who made a change: a user, an API key, or the operator of the service.
type Author struct {
	UserID   string `json:"user_id"`
	KeyID    string `json:"key_id"`
	Operator bool   `json:"operator"`
}

// WorkspaceChanges is a page of changes.
type WorkspaceChanges struct {
	Changes []WorkspaceChange
	// Next is the cursor of the next page. CaughtUp means that nothing follows yet;
	// otherwise Lag is how long ago the last change of the page was made.
	Next     string
	CaughtUp bool
	Lag      time.Duration
}

// Changes returns the changes of the workspace after a cursor or a time. Owners, admins and
// keys with workspace:write may call it. Errors: ErrCursorTooOld: take a new cursor with
// the zero request, and then read everything.
func (c *Client) Changes(ctx context.Context, q WorkspaceChangesRequest) (*WorkspaceChanges, error) {
	body := ChangesRequest{Cursor: q.Cursor, Since: q.Since, Limit: q.Limit, Wait: q.Wait, History: q.History}.body()
	a, err := call[[]WorkspaceChange](ctx, c.conn, request{method: http.MethodPost, path: "/workspace/changes", body: body})
	if err != nil {
		return nil, err
	}
	m := a.Metadata
	return &WorkspaceChanges{a.Data, m.Next, m.CaughtUp, time.Duration(m.Lag * float64(time.Second))}, nil
}

// Follow iterates over pages of changes of the workspace from q.Cursor or q.Since on, like
// Dataset.Follow for records.
func (c *Client) Follow(ctx context.Context, q WorkspaceChangesRequest) iter.Seq2[*WorkspaceChanges, error] {
	return follow(q.Cursor, q.Wait, func(cursor string, wait time.Duration) (*WorkspaceChanges, string, bool, error) {
		if q.Cursor, q.Wait = cursor, wait; cursor != "" {
			q.Since = time.Time{}
		}
		page, err := c.Changes(ctx, q)
		if err != nil {
			return nil, "", false, err
		}
		return page, page.Next, page.CaughtUp, nil
	})
}
