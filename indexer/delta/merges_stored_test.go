package delta_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/generation"
	"atlas/search/catalog"
	feedchanges "atlas/search/changes"
	"atlas/search/searchtest"
)

// mergedTwo is a world in which account 2 was merged into 1, with a follower that knows.
func mergedTwo(t *testing.T) (*world, *follower) {
	t.Helper()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(1, 2)}))
	fatal(t, err)
	f := w.follower(t)
	w.apply(t, w.publishedDelta(t, lines(mergeLine(account(2), account(1)))))
	f.catchUp(t)
	f.wantStored(t, "merged")
	return w, f
}

// wantStored fails unless account 2 is missing and known to be merged into 1, in the table of
// merges and in the feed.
func (f *follower) wantStored(t *testing.T, when string) {
	t.Helper()
	f.wantEqual(t, when)
	f.wantMerges(t, when)
	wantSame(t, when, map[string]string{account(2): account(1)}, f.into(t, 1, 2))
}

// comesBack is a delta that restores account 2.
func (w *world) comesBack(t *testing.T, name string) delta.Options {
	t.Helper()
	return w.publishedDelta(t, lines(`{"id":"`+account(2)+`","name":"`+name+`","updated_at":"2124-01-02"}`))
}

// A merge ends when its record exists again, not when a delta has only announced it.
func TestMergesOutliveADeltaThatIsNotWritten(t *testing.T) {
	t.Parallel()
	w, f := mergedTwo(t)
	o := w.comesBack(t, "Back")
	if _, err := w.interrupted(t, o, isBulk, false); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	fatal(t, w.feed(t).Settle(t.Context(), ""))
	f.catchUp(t)
	f.wantStored(t, "settled")
	if len(f.published) == 0 {
		t.Error("nothing was announced: the delta was interrupted too early")
	}
	w.apply(t, o) // is resumed
	f.catchUp(t)
	f.wantEqual(t, "gone on with")
	f.wantMerges(t, "gone on with")
	wantSame(t, "gone on with", map[string]string{}, f.into(t, 1, 2))
}

// Nor when Elasticsearch refuses the record that was announced.
func TestMergesOutliveARefusedRecord(t *testing.T) {
	t.Parallel()
	w, f := mergedTwo(t)
	o := w.comesBack(t, "Poison")
	o.Elastic = searchtest.NewClient(t, proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if !isBulk(r) {
			return body
		}
		return bytes.ReplaceAll(body, []byte(`"name":"Poison"`), []byte(`"name":{"of":"poison"}`))
	}, nil))
	if report := w.apply(t, o); len(report.Problems) != 1 {
		t.Fatalf("%+v", report)
	}
	f.catchUp(t)
	f.wantStored(t, "refused")
}

// Merges also outlive a switch by a program that does not know the feed: to a generation that
// has the record, and back to one whose load had no line of the merge.
func TestMergesOutliveASwitchAwayAndBack(t *testing.T) {
	t.Parallel()
	w, f := mergedTwo(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(1)}))
	fatal(t, err)
	f.catchUp(t)
	f.wantStored(t, "loaded without the merge")
	w.load(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(1, 2)})
	_, err = generation.Rollback(t.Context(), generation.Options{Elastic: w.elastic, Names: w.names}, "")
	fatal(t, err)
	fatal(t, w.feed(t).Repair(t.Context(), w.system))
	f.catchUp(t)
	f.wantStored(t, "away and back")
	for _, e := range f.published {
		if e.Op == feedchanges.Delete {
			t.Errorf("%s is published as deleted", e.ID)
		}
	}
}
