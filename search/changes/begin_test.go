package changes_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/query"
)

// moving is a feed that publishes a change right after each look for its end.
type moving struct{ quiet }

func (m *moving) ChangesAfter(context.Context, catalog.Dataset, changes.Position, int) (changes.Page, bool, error) {
	later := changes.Entry{Change: changes.Change{Dataset: catalog.Accounts, ID: uuid.New(), Op: changes.Upsert}, Seq: m.at.Seq + 1}
	return changes.Page{
		Entries: []changes.Entry{later}, Next: changes.Position{Publication: m.at.Publication, Seq: later.Seq},
		CaughtUp: true,
	}, true, nil
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
		req.Dataset, req.Limit = catalog.Accounts, 10
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

// FeedAt has nothing published since any time.
func (m *moving) FeedAt(_ context.Context, at time.Time) (changes.Position, bool, error) {
	return changes.Position{Seq: 1}, at.Year() > 1, nil
}

// Each date is a place to begin, also the first day there is, which .NET sends for no date:
// it is never taken for a request from now on.
func TestBeginningAtTheFirstDay(t *testing.T) {
	t.Parallel()
	r := &changes.Reader{Store: &moving{quiet{at: changes.Position{Publication: uuid.New(), Seq: 7}}}, Cursors: plain{}}
	for _, day := range []string{"0001-01-01", "0001-01-01T00:00:00Z", "0001-01-02"} {
		body, _ := input.Decode([]byte(`{"since":"` + day + `"}`))
		req, err := query.ChangesRule(catalog.Accounts).Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Begin(t.Context(), req); fault.CodeOf(err) != fault.CursorTooOld || !req.Begins() {
			t.Errorf("%s: %v", day, err)
		}
	}
}
