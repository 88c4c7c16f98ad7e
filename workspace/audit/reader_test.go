package audit_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/audit"
)

// moving is a workspace with a new change right after each read of its last change.
type moving struct{ audit.Store }

func (moving) LastChange(context.Context, workspace.ID) (audit.Position, error) {
	return audit.Position{Transaction: 7}, nil
}

func (moving) WorkspaceChanges(context.Context, workspace.ID, audit.Position, int) (audit.Page, bool, error) {
	return audit.Page{Changes: []audit.Change{{Op: audit.Upsert}}, Next: audit.Position{Transaction: 8}, CaughtUp: true}, true, nil
}

// plain does not sign.
type plain struct{}

func (plain) Seal(_ string, data []byte) string            { return string(data) }
func (plain) Open(_, cursor string) (data []byte, ok bool) { return []byte(cursor), true }

// {} answers the position alone, and nothing is left out after it.
func TestBeginningNow(t *testing.T) {
	t.Parallel()
	r, in := &audit.Reader{Store: moving{}, Cursors: plain{}}, workspace.ID(uuid.New())
	ask := func(req query.FeedRequest) audit.Answer {
		t.Helper()
		after, err := r.Begin(t.Context(), in, req)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Read(t.Context(), in, query.WorkspaceChangesRequest{FeedRequest: req}, after)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	now := ask(query.FeedRequest{})
	if len(now.Changes) > 0 || now.Changes == nil || !now.CaughtUp {
		t.Errorf("%+v", now)
	}
	if then := ask(query.FeedRequest{Cursor: now.Next}); len(then.Changes) != 1 {
		t.Errorf("%+v", then)
	}
}
