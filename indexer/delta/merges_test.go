package delta_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/generation"
	"atlas/indexer/journal"
	"atlas/search/catalog"
	feedchanges "atlas/search/changes"
)

func mergeLine(old, into string) string {
	return fmt.Sprintf(`{"id":%q,"merged_into":%q}`, old, into)
}

func firm(n int) string { return fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, account(n), n) }

// accountsOf are lines of accounts.
func accountsOf(numbers ...int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, firm(n))
	}
	return lines(all...)
}

// publishedMerges are the merges that were published since the follower's last read.
func (f *follower) publishedMerges() map[string]string {
	published := map[string]string{}
	for _, e := range f.published {
		if e.Op == feedchanges.Merge {
			published[e.ID.String()] = e.Into.String()
		}
	}
	return published
}

// into are the final targets of accounts.
func (f *follower) into(t *testing.T, numbers ...int) map[string]string {
	t.Helper()
	var ids []uuid.UUID
	for _, n := range numbers {
		ids = append(ids, uuid.MustParse(account(n)))
	}
	into, err := f.store.MergedInto(t.Context(), catalog.Accounts, ids)
	fatal(t, err)
	all := map[string]string{}
	for id, to := range into {
		all[id.String()] = to.String()
	}
	return all
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// leftOut are the reasons why accounts were left out, from a file of dead letters.
func leftOut(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if path == "" {
		return all
	}
	raw, err := os.ReadFile(path)
	fatal(t, err)
	for line := range strings.Lines(string(raw)) {
		var letter journal.DeadLetter
		fatal(t, json.Unmarshal([]byte(line), &letter))
		var record struct{ ID string }
		fatal(t, json.Unmarshal(letter.Record, &record))
		reason := letter.Problems[0].Reason
		switch {
		case strings.Contains(reason, "circle"):
			reason = "circle"
		case strings.Contains(reason, "no such record"):
			reason = "gone"
		}
		all[record.ID] = reason
	}
	return all
}

// mergeLines are lines of a delta or a load after accounts 1 to 20 exist, with their merges
// and rejected lines.
var mergeLines = []string{
	mergeLine(account(1), account(2)),
	// A chain, including a published merge: 20 was merged into 19 before.
	mergeLine(account(3), account(4)), mergeLine(account(4), account(5)), mergeLine(account(6), account(20)),
	// The target is new, and comes later.
	mergeLine(account(7), account(31)), firm(31),
	`{"id":"` + account(8) + `","merged_into":"` + account(2) + `","name":"Its last name","updated_at":"2124-01-01"}`,
	// A circle, and a merge into it.
	mergeLine(account(9), account(10)), mergeLine(account(10), account(9)), mergeLine(account(11), account(9)),
	mergeLine(account(12), account(12)),
	mergeLine(account(13), account(40)),
	mergeLine(account(14), "x"),
	`{"id":"` + account(15) + `","merged_into":"` + account(2) + `","colour":"red"}`,
	// A record that never existed.
	mergeLine(account(41), account(2)),
	// The line that counts is a record.
	`{"id":"` + account(16) + `","merged_into":"` + account(2) + `","updated_at":"2001-01-01"}`,
	`{"id":"` + account(16) + `","name":"Firm 16","merged_into":null}`,
}

var (
	mergesMade = map[string]string{
		account(1): account(2), account(3): account(4), account(4): account(5), account(6): account(20), account(7): account(31),
		account(8): account(2), account(41): account(2),
	}
	mergesAtTheEnd = map[string]string{
		account(1): account(2), account(3): account(5), account(4): account(5), account(6): account(19), account(7): account(31),
		account(8): account(2), account(41): account(2), account(20): account(19),
	}
	mergesLeftOut = map[string]string{
		account(9): "circle", account(10): "circle", account(11): "circle", account(12): "is the record itself",
		account(13): "gone", account(14): "is not a UUID", account(15): "unknown key",
	}
)

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func TestMergesOfADelta(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(upTo(20)...)}))
	fatal(t, err)
	w.apply(t, w.publishedDelta(t, lines(mergeLine(account(20), account(19)))))
	f := w.follower(t)
	o := w.publishedDelta(t, lines(mergeLines...))
	o.Page = 3
	report := w.apply(t, o)
	f.catchUp(t)
	f.wantEqual(t, "after the delta")
	wantSame(t, "published", mergesMade, f.publishedMerges())
	wantSame(t, "stored", mergesAtTheEnd, f.into(t, upTo(41)...))
	wantSame(t, "left out", mergesLeftOut, leftOut(t, report.DeadLetters))
	counts := report.Datasets[slices.IndexFunc(report.Datasets, func(d delta.DatasetReport) bool { return d.Dataset == catalog.Accounts })]
	wantSame(t, "counts", delta.Counts{Lines: 17, Rejected: 7, Replaced: 1, Created: 1, Unchanged: 1, Merged: 7}, counts.Counts)
	if int(counts.Merged) != len(mergesMade) {
		t.Errorf("%d merges", counts.Merged)
	}

	w.apply(t, o)
	f.catchUp(t)
	wantSame(t, "published again", 0, len(f.published))
	// A re-added record ends its merge, and records merged into it lead to it.
	w.apply(
		t,
		w.publishedDelta(
			t,
			lines(
				`{"id":"`+account(4)+`","name":"Back","updated_at":"2124-01-02"}`,
				`{"id":"`+account(1)+`","name":"Back","updated_at":"2124-01-02"}`,
			),
		),
	)
	f.catchUp(t)
	f.wantEqual(t, "with records that are back")
	wantSame(t, "stored", map[string]string{account(3): account(4)}, f.into(t, 1, 3, 4))
	w.apply(t, w.publishedDelta(t, lines(`{"id":"`+account(1)+`","deleted":true}`, `{"id":"`+account(3)+`","deleted":true}`)))
	f.catchUp(t)
	wantSame(t, "after deletions", map[string]string{account(3): account(4)}, f.into(t, 1, 3, 4))
	// A dead letter can be applied when its target exists.
	corrected := w.options(t, nil)
	corrected.Feed, corrected.Corrected = w.feed(t), []string{report.DeadLetters}
	w.apply(t, w.publishedDelta(t, accountsOf(40)))
	w.apply(t, corrected)
	wantSame(t, "corrected", map[string]string{account(13): account(40)}, f.into(t, 13))
}

func TestMergesOfALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(upTo(20)...)}))
	fatal(t, err)
	w.apply(t, w.publishedDelta(t, lines(mergeLine(account(20), account(19)))))
	f := w.follower(t)
	// Rejected lines have no other lines in the file: those records do not exist.
	o := w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(2, 5, 17, 18, 19) + lines(mergeLines...)})
	o.DeadLetters, o.Workers, o.CheckpointRecords, o.SortMemory = t.TempDir()+"/letters", 2, 3, 4<<10
	report, err := indexer.Load(t.Context(), o)
	fatal(t, err)
	f.catchUp(t)
	f.wantEqual(t, "after the load")
	wantSame(t, "published", mergesMade, f.publishedMerges())
	wantSame(t, "stored", mergesAtTheEnd, f.into(t, upTo(41)...))
	wantSame(t, "left out", mergesLeftOut, leftOut(t, report.DeadLetters))
	for _, d := range report.Datasets {
		if d.Dataset != catalog.Accounts {
			continue
		}
		want := indexer.DatasetReport{
			Dataset: d.Dataset, File: d.File, Lines: 22, Rejected: 7, Replaced: 1, Merged: 7, Records: 7, Documents: 7,
			Seconds: d.Seconds, ReadSeconds: d.ReadSeconds, IndexSeconds: d.IndexSeconds,
		}
		wantSame(t, "counts", want, d)
	}

	// The first generation has the records, and the second knows their merges.
	switching := generation.Options{Elastic: w.elastic, Names: w.names, Retry: retry, Feed: w.feed(t)}
	_, err = generation.Rollback(t.Context(), switching, "")
	fatal(t, err)
	f.catchUp(t)
	f.wantEqual(t, "rolled back")
	wantSame(t, "rolled back", map[string]string{account(20): account(19), account(41): account(2)}, f.into(t, upTo(41)...))
	_, err = generation.Rollback(t.Context(), switching, report.Generation)
	fatal(t, err)
	f.catchUp(t)
	f.wantEqual(t, "and forth")
	wantSame(t, "and forth", mergesAtTheEnd, f.into(t, upTo(41)...))

	// A load without lines of the merged records leaves the merges as they are. A load that has
	// such a record ends its merge.
	_, err = indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(2, 3, 5, 19, 31)}))
	fatal(t, err)
	f.catchUp(t)
	f.wantEqual(t, "loaded without merges")
	want := maps.Clone(mergesAtTheEnd)
	delete(want, account(3))
	wantSame(t, "loaded without merges", want, f.into(t, upTo(41)...))
	if f.restarts > 0 {
		t.Error("the feed started over")
	}
}

// A first load, or one whose previous generation no longer exists, publishes no changes.
// The merges of its records are known.
func TestMergesOfAFirstLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(
		t.Context(),
		w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(1) + lines(mergeLine(account(2), account(1)))}),
	)
	fatal(t, err)
	wantSame(t, "stored", map[string]string{account(2): account(1)}, w.follower(t).into(t, 1, 2))
}

// Whichever request a delta or a load with merges is stopped at, the same call completes it
// with the same outcome.
func TestMergesWhereverInterrupted(t *testing.T) {
	t.Parallel()
	for _, loads := range []bool{false, true} {
		requests := interruptMerges(t, loads, -1, false, false)
		for range 4 {
			stopAt, after, settles := 1+rand.Int64N(requests), rand.IntN(2) == 0, rand.IntN(2) == 0
			t.Run(fmt.Sprintf("load %v, request %d, after it %v, settled %v", loads, stopAt, after, settles), func(t *testing.T) {
				t.Parallel()
				interruptMerges(t, loads, stopAt, after, settles)
			})
		}
	}
}

// interruptMerges stops a load or a delta before or after a request, possibly lets another
// process settle the feed, and resumes it. It returns how many requests the first call
// made.
func interruptMerges(t *testing.T, loads bool, stopAt int64, after, settles bool) (requests int64) {
	t.Helper()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(upTo(20)...)}))
	fatal(t, err)
	w.apply(t, w.publishedDelta(t, lines(mergeLine(account(20), account(19)))))
	f := w.follower(t)
	var n atomic.Int64
	stop := func(*http.Request) bool { return n.Add(1) == stopAt }
	between := func(err error) {
		if requests = n.Load(); err != nil && !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		if settles {
			fatal(t, w.feed(t).Settle(t.Context(), ""))
			f.catchUp(t)
			f.wantEqual(t, "settled")
		}
	}
	path := ""
	if loads {
		o := w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(2, 5, 17, 18, 19) + lines(mergeLines...)})
		o.CheckpointRecords, o.DeadLetters = 3, t.TempDir()+"/letters"
		err := w.interruptedLoad(t, o, stop)
		if between(err); err != nil {
			_, err = indexer.Load(t.Context(), o)
			fatal(t, err)
		}
		path = o.DeadLetters
	} else {
		o := w.publishedDelta(t, lines(mergeLines...))
		o.Page = 3
		report, err := w.interrupted(t, o, stop, after)
		if between(err); err != nil {
			report = w.apply(t, o)
		}
		path = report.DeadLetters
	}
	f.catchUp(t)
	f.wantEqual(t, "in the end")
	wantSame(t, "stored", mergesAtTheEnd, f.into(t, upTo(41)...))
	wantSame(t, "left out", mergesLeftOut, leftOut(t, path))
	return requests
}

// drawnMerges are random lines of merges by dataset.
func drawnMerges(r *rand.Rand) map[catalog.Dataset]string {
	files := map[catalog.Dataset]string{}
	for _, d := range catalog.Datasets {
		of := map[catalog.Dataset]func(int) string{
			catalog.Accounts: account, catalog.Contacts: contact, catalog.Projects: project, catalog.Signals: signal,
		}[d]
		for range r.IntN(4) {
			if old, into := r.IntN(8), r.IntN(8); old != into {
				files[d] += mergeLine(of(old), of(into)) + "\n"
			}
		}
	}
	return files
}

// withMerges adds random lines of merges to files.
func withMerges(r *rand.Rand, files map[catalog.Dataset]string) map[catalog.Dataset]string {
	for d, merges := range drawnMerges(r) {
		files[d] += merges
	}
	return files
}

// wantMerges fails unless the table of merges equals the published ones, and no merged
// record is served.
func (f *follower) wantMerges(t *testing.T, when string) {
	t.Helper()
	stored := map[catalog.Dataset]map[string]string{}
	for _, d := range catalog.Datasets {
		var ids []uuid.UUID
		for n := range 8 {
			ids = append(
				ids,
				uuid.MustParse(
					map[catalog.Dataset]func(int) string{
						catalog.Accounts: account, catalog.Contacts: contact, catalog.Projects: project,
						catalog.Signals: signal,
					}[d](n),
				),
			)
		}
		merges, err := f.system.Merges(t.Context(), d, ids)
		fatal(t, err)
		for id, into := range merges {
			if stored[d] == nil {
				stored[d] = map[string]string{}
			}
			stored[d][id.String()] = into.String()
			if f.copy[d][id.String()] != "" {
				t.Errorf("%s: %s is served and became %s", when, id, into)
			}
		}
		ends, err := f.store.MergedInto(t.Context(), d, ids)
		fatal(t, err)
		for id, end := range ends {
			if _, further := merges[end]; further || end == id {
				t.Errorf("%s: %s is said to have become %s, which is not the end", when, id, end)
			}
		}
	}
	for d, merges := range f.merged {
		if len(merges) == 0 {
			delete(f.merged, d)
		}
	}
	if diff := gocmp.Diff(stored, f.merged); diff != "" {
		t.Fatalf("%s: merges (-stored +published):\n%s", when, diff)
	}
}
