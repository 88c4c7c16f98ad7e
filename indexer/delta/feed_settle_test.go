package delta_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/generation"
	"atlas/search/catalog"
	feedchanges "atlas/search/changes"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
)

// followerOfTwo follows two accounts that are served.
func (w *world) followerOfTwo(t *testing.T) *follower {
	t.Helper()
	_, err := indexer.Load(
		t.Context(),
		w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: lines(
			`{"id":"`+account(1)+`","name":"One"}`, `{"id":"`+account(2)+`","name":"Two"}`,
		)}),
	)
	fatal(t, err)
	return w.follower(t)
}

// After a delta was killed and not resumed, the published changes are those that exist.
func TestFeedOfAKilledDelta(t *testing.T) {
	t.Parallel()
	for name, carriedOut := range map[string]bool{"before a write": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := w.followerOfTwo(t)
			o := w.publishedDelta(t, lines(`{"id":"`+account(1)+`","deleted":true}`, `{"id":"`+account(3)+`","name":"Three"}`))
			if _, err := w.interrupted(t, o, isBulk, carriedOut); !errors.Is(err, errStopped) {
				t.Fatal(err)
			}
			f.catchUp(t)
			if len(f.published) > 0 {
				t.Errorf("published before it is settled: %v", f.published)
			}
			fatal(t, w.feed(t).Settle(t.Context(), ""))
			f.catchUp(t)
			f.wantEqual(t, "settled")
			_, err := delta.Apply(t.Context(), o)
			fatal(t, err)
			f.catchUp(t)
			f.wantEqual(t, "gone on with")
		})
	}
}

// A delta continues after another process has settled its changes, because it lost its
// lease: its later writes are published when it is reapplied.
func TestFeedOfADeltaThatWritesLate(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"and is stopped": true, "and goes on": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := w.followerOfTwo(t)
			o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(
				`{"id":"`+account(1)+`","name":"Uno"}`, `{"id":"`+account(2)+`","deleted":true}`,
				`{"id":"`+account(3)+`","name":"Three"}`, `{"id":"`+account(4)+`","name":"Four"}`,
			)})
			o.Feed, o.Page = w.feed(t), 3
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			var settled sync.Once
			o.Elastic = searchtest.NewClient(t, proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
				if isBulk(r) {
					settled.Do(func() {
						if err := w.feed(t).Settle(t.Context(), ""); err != nil {
							t.Error(err)
						}
						f.catchUp(t)
					})
				}
				return body
			}, func(r *http.Request) {
				if isBulk(r) && stopped {
					stop(errStopped)
				}
			}))
			if _, err := delta.Apply(ctx, o); err == nil {
				t.Error("the delta does not notice")
			}
			o.Elastic = w.elastic
			_, err := delta.Apply(t.Context(), o)
			fatal(t, err)
			f.catchUp(t)
			f.wantEqual(t, "applied again")
		})
	}
}

// Searches use another generation without an announcement: the writer had lost its lease and
// switched late, or does not know the feed.
func TestFeedNoticesAnotherGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := map[catalog.Dataset]string{
		catalog.Accounts: lines(`{"id":"`+account(1)+`","name":"One"}`, `{"id":"`+account(2)+`","name":"Two"}`),
	}
	w.load(t, files)
	early, known, err := w.databases.OpenApp(t, postgres.Options{MaxConns: 2}).FeedAt(t.Context(), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err, early, known)
	}
	fatal(t, w.feed(t).Settle(t.Context(), ""))
	f := w.follower(t)
	if _, known, err := f.store.FeedAt(t.Context(), time.Now().Add(-time.Hour)); known || err != nil {
		t.Errorf("a time before the feed is known: %v", err)
	}
	files[catalog.Accounts] = lines(`{"id":"`+account(1)+`","name":"Uno"}`, `{"id":"`+account(3)+`","name":"Three"}`)
	w.load(t, files)
	fatal(t, w.feed(t).Settle(t.Context(), ""))
	f.catchUp(t)
	f.wantEqual(t, "after a load that published nothing")

	// The feed is settled between the announcement of a switch and the switch.
	files[catalog.Accounts] = lines(`{"id":"`+account(1)+`","name":"Un"}`, `{"id":"`+account(4)+`","name":"Four"}`)
	o := w.loadOptions(t, files)
	o.Elastic = searchtest.NewClient(t, proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if strings.HasSuffix(r.URL.Path, "/_aliases") && r.Method == http.MethodPost {
			if err := w.feed(t).Settle(t.Context(), ""); err != nil {
				t.Error(err)
			}
		}
		return body
	}, nil))
	_, err = indexer.Load(t.Context(), o)
	fatal(t, err)
	fatal(t, w.feed(t).Settle(t.Context(), ""))
	f.catchUp(t)
	f.wantEqual(t, "after a late switch")
	if f.restarts > 0 {
		t.Error("the feed started over")
	}
}

// A writer that lost the lease does not take over the changes of another delta.
func TestFeedHasOneWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.system.BeginChanges(t.Context(), "one", nil, true))
	fatal(
		t,
		w.system.AppendChanges(
			t.Context(),
			"one",
			[]feedchanges.Change{{Dataset: catalog.Accounts, ID: uuid.New(), Op: feedchanges.Upsert}},
		),
	)
	origin := ""
	for _, err := range []error{
		w.system.BeginChanges(t.Context(), "two", nil, true), w.system.BeginChanges(t.Context(), "two", &origin, false),
		w.system.AppendChanges(t.Context(), "two", nil),
	} {
		if err == nil {
			t.Error("another writer is let in")
		}
	}
	if list, err := w.system.UnpublishedChanges(t.Context(), catalog.Accounts, 0, 10); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

// A backend is restored while a delta runs.
func TestFeedNoticesARestoredBackendWhilePublishing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, nil))
	fatal(t, err)
	w.apply(t, w.publishedDelta(t, lines(`{"id":"`+account(1)+`","name":"One"}`)))
	f := w.follower(t)
	o := w.publishedDelta(t, lines(`{"id":"`+account(2)+`","name":"Two"}`))
	o.Elastic = searchtest.NewClient(t, proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if isBulk(r) { // restored: account 1 does not exist, nor does the stored publication
			fatal(t, w.elastic.DeleteIndices(t.Context(), w.names.Feed()))
		}
		return body
	}, nil))
	w.apply(t, o)
	f.catchUp(t)
	if f.restarts != 1 {
		t.Errorf("%d restarts, want 1", f.restarts)
	}
}

// A program that does not know the feed switches to another generation and back between two
// checks. What may have been read meanwhile is published once more.
func TestFeedNoticesASwitchAwayAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.followerOfTwo(t)
	w.apply(t, w.publishedDelta(t, lines(`{"id":"`+account(1)+`","name":"Uno"}`)))
	w.load(t, map[catalog.Dataset]string{catalog.Accounts: lines(`{"id":"` + account(1) + `","name":"Another"}`)})
	f.catchUp(t) // reads the other generation
	_, err := generation.Rollback(t.Context(), generation.Options{Elastic: w.elastic, Names: w.names}, "")
	fatal(t, err)
	fatal(t, w.feed(t).Repair(t.Context(), w.system))
	f.catchUp(t)
	f.wantEqual(t, "away and back")
	fatal(t, w.feed(t).Repair(t.Context(), w.system))
	if f.catchUp(t); len(f.published) > 0 || f.restarts > 0 {
		t.Errorf("published again: %v, %d restarts", f.published, f.restarts)
	}
}
