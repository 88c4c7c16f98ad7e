package changes_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"atlas/search/changes"
	"atlas/search/query"
)

// moving is a feed that tells a change right after each look for its end.
type moving struct{ quiet }

func (m *moving) ChangesAfter(context.Context, query.Dataset, changes.Position, int) (changes.Page, bool, error) {
	later := changes.Entry{Change: changes.Change{Dataset: query.Accounts, ID: uuid.New(), Op: changes.Upsert}, Seq: m.at.Seq + 1}
	return changes.Page{Entries: []changes.Entry{later}, Next: changes.Position{Publication: m.at.Publication, Seq: later.Seq}, CaughtUp: true}, true, nil
}

// plain does not sign.
type plain struct{}

func (plain) Seal(_ string, data []byte) string            { return string(data) }
func (plain) Open(_, cursor string) (data []byte, ok bool) { return []byte(cursor), true }

// {} answers where the feed was, with no changes, and nothing is left out after it.
func TestBeginningNow(t *testing.T) {
	t.Parallel()
	r := &changes.Reader{Store: &moving{quiet{at: changes.Position{Publication: uuid.New(), Seq: 7}}}, Cursors: plain{}}
	ask := func(req query.ChangesRequest) changes.Answer {
		t.Helper()
		req.Dataset, req.Limit = query.Accounts, 10
		after, err := r.Begin(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Read(t.Context(), req, after)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	now := ask(query.ChangesRequest{})
	if len(now.Items) > 0 || now.Items == nil || !now.CaughtUp {
		t.Errorf("%+v", now)
	}
	if then := ask(query.ChangesRequest{FeedRequest: query.FeedRequest{Cursor: now.Next}}); len(then.Items) != 1 {
		t.Errorf("%+v", then)
	}
}
