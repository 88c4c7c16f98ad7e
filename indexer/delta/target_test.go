package delta_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"atlas/indexer/delta"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// firms are lines of accounts, one of them bad.
func firms(numbers ...int) map[catalog.Dataset]string {
	all := []string{`{"id":"no id"}`}
	for _, n := range numbers {
		all = append(all, fmt.Sprintf(`{"id":"%s","name":"Firm %d","updated_at":"2024-01-01"}`, account(n), n))
	}
	return map[catalog.Dataset]string{catalog.Accounts: lines(all...)}
}

func (w *world) wantAccounts(t *testing.T, want int, when string) {
	t.Helper()
	if n := len(w.documents(t)[catalog.Accounts]); n != want {
		t.Errorf("%s there are %d accounts, want %d", when, n, want)
	}
}

func wantLetters(t *testing.T, path string, want int) {
	t.Helper()
	left, err := os.ReadFile(path)
	if err != nil || bytes.Count(left, []byte("\n")) != want {
		t.Errorf("%s: %v %s", path, err, left)
	}
}

// A path that dead letters cannot replace is refused before anything is done, and is not
// changed.
func TestDeadLettersReplaceOnlyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	write(t, target, "mine")
	fatal(t, os.Symlink(target, link))
	fatal(t, syscall.Mkfifo(pipe, 0o600))
	o := w.options(t, firms(1))
	inside := filepath.Join(dir, "inside")
	fatal(t, os.Symlink(filepath.Dir(o.Files[0].Path), inside))
	for _, path := range []string{
		link, pipe, dir, filepath.Join(dir, "missing", "letters.ndjson"), filepath.Join(target, "letters.ndjson"),
		o.Files[0].Path, filepath.Join(inside, "accounts.ndjson"),
	} {
		before, _ := os.Lstat(path)
		o.DeadLetters = path
		if _, err := delta.Apply(t.Context(), o); fault.CodeOf(err) != fault.BadRequest ||
			!strings.Contains(err.Error(), "the dead letters cannot be written to") {
			t.Errorf("%s: %v", path, err)
		}
		after, _ := os.Lstat(path)
		if before != nil && (after == nil || after.Mode() != before.Mode() || !os.SameFile(before, after)) {
			t.Errorf("%s became %v", path, after)
		}
	}
	w.wantClean(t)
	w.wantAccounts(t, 0, "after calls that were refused")
	// A file may be replaced, and no other file remains.
	o.DeadLetters = target
	w.apply(t, o)
	wantLetters(t, target, 1)
	if there, err := os.ReadDir(dir); err != nil || len(there) != 4 {
		t.Errorf("%v %v", there, err)
	}
}

// If the path for dead letters is gone when a delta is resumed, neither the same delta with
// another path nor another delta is blocked.
func TestDeadLettersBlockNoDelta(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	gone := func(files map[catalog.Dataset]string) delta.Options {
		o := w.options(t, files)
		o.DeadLetters = filepath.Join(t.TempDir(), "letters.ndjson")
		w.begun(t, o)
		fatal(t, os.Mkdir(o.DeadLetters, 0o700))
		return o
	}
	o := gone(firms(1))
	if _, err := delta.Apply(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Error(err)
	}
	o.DeadLetters = filepath.Join(t.TempDir(), "other.ndjson")
	if report := w.apply(t, o); !report.Resumed || report.DeadLetters != o.DeadLetters {
		t.Errorf("%+v", report)
	}
	wantLetters(t, o.DeadLetters, 1)

	o = gone(firms(2))
	o.DeadLetters = ""
	report := w.apply(t, o)
	if !report.Resumed || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "is in the work folder") {
		t.Errorf("%+v", report)
	}
	wantLetters(t, report.DeadLetters, 1)

	gone(firms(3))
	report = w.apply(t, w.options(t, firms(4)))
	if report.Resumed || len(report.Notes) != 2 || !strings.Contains(report.Notes[1], "finished first") {
		t.Errorf("%+v", report)
	}
	w.wantAccounts(t, 4, "after all of them")

	// An abandoned delta starts over, even with the same files.
	o = gone(firms(5))
	o.DeadLetters, o.Abandon = "", true
	if report = w.apply(t, o); report.Resumed || report.LeftOut() != 1 {
		t.Errorf("%+v", report)
	}
	w.wantAccounts(t, 5, "after one that was given up and applied")
}

// Two deltas with the same path do not lose each other's letters.
func TestDeadLettersOfTheDeltaBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	one := w.options(t, firms(1))
	one.DeadLetters = filepath.Join(t.TempDir(), "letters.ndjson")
	w.begun(t, one)
	two := w.options(t, firms(2))
	two.DeadLetters = one.DeadLetters
	report := w.apply(t, two)
	letters, err := filepath.Glob(filepath.Join(w.work, "dead-letters", "*.ndjson"))
	if err != nil || len(letters) != 1 || !strings.Contains(strings.Join(report.Notes, "\n"), letters[0]) {
		t.Fatalf("%v %v %+v", letters, err, report)
	}
	wantLetters(t, letters[0], 1)
	wantLetters(t, two.DeadLetters, 1)
}

// A load in between does not lose a delta that was interrupted, whichever call
// comes next.
func TestInterruptedDeltaOutlivesALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	w.begun(t, w.options(t, firms(1)))
	w.load(t, nil)
	report := w.apply(t, w.options(t, firms(2)))
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "starts over") || !strings.Contains(notes, "finished first") {
		t.Errorf("%q", notes)
	}
	w.wantAccounts(t, 2, "after both")
}

// A dead letter that is rejected any number of times is complete in each new file. A file
// without a single dead letter is refused.
func TestDeadLettersLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	corrected := filepath.Join(t.TempDir(), "mended.ndjson")
	write(t, corrected, lines(
		`{"dataset":"accounts","file":"a","line":1,"problems":[],"record":{"id":"`+account(1)+`","name":"Slip"}`,
		`{"dataset":"acounts","file":"a","line":2,"problems":[],"record":{"id":"`+account(2)+`","name":"Misnamed"}}`,
		`{"dataset":"accounts","file":"a","line":3,"problems":[],"record":{"id":"`+account(3)+`"}}`))
	retry := func(path string) delta.Report {
		o := w.options(t, nil)
		o.Corrected = []string{path}
		o.DeadLetters = filepath.Join(t.TempDir(), "again.ndjson")
		return w.apply(t, o)
	}
	report := retry(corrected)
	for range 2 {
		if report = retry(report.DeadLetters); report.LeftOut() != 3 {
			t.Fatalf("%+v", report)
		}
	}
	left, err := os.ReadFile(report.DeadLetters)
	fatal(t, err)
	for from, to := range map[string]string{
		`\"Slip\"}`: `\"Slip\"}}`, `"acounts"`: `"accounts"`,
		`"record":{"id":"` + account(3) + `"`: `"record":{"id":"` + account(3) + `","name":"Nameless"`,
	} {
		if bytes.Count(left, []byte(from)) != 1 {
			t.Errorf("%s is not in %s", from, left)
		}
		left = bytes.Replace(left, []byte(from), []byte(to), 1)
	}
	write(t, corrected, string(left))
	if report := retry(corrected); report.LeftOut() != 0 || report.Changed() != 3 {
		t.Errorf("%+v from %s", report, left)
	}

	write(t, corrected, firms(7, 8)[catalog.Accounts])
	o := w.options(t, nil)
	o.Corrected = []string{corrected}
	if _, err := delta.Apply(t.Context(), o); fault.CodeOf(err) != fault.BadRequest ||
		!strings.Contains(err.Error(), "none of its 3 lines is a dead letter") {
		t.Error(err)
	}
}

// The name of a key cannot be more than a terminal can bear.
func TestProblemsAreFitToBeShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	report := w.apply(t, w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(
		`{"id":"`+account(1)+`","deleted":true,"`+strings.Repeat("k", 5_000)+`":1}`,
		`{"id":"`+account(1)+`","deleted":true,"\u001b[2J":1}`, firms(1)[catalog.Accounts])}))
	for _, p := range report.Problems {
		if len(p.Field) > 250 || strings.Contains(p.Field, "\x1b") {
			t.Errorf("%.300q", p.Field)
		}
	}
}
