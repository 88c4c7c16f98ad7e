package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/document"
)

// What follows the length in a checkpoint is cut off; a file that is shorter is an
// error.
func TestDeadLettersContinueAtACheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dead-letters.ndjson")
	add := func(size int64, lines ...int64) int64 {
		t.Helper()
		l, err := OpenDeadLetters(path, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if err := l.Add(NewDeadLetter(
				catalog.Accounts, "accounts.ndjson", line, []document.Problem{{Reason: "wrong"}}, []byte("no JSON"),
			)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		size = l.Size()
		if info, err := os.Stat(path); err != nil || info.Size() != size {
			t.Errorf("%v, %v, want %d bytes after Sync", info, err, size)
		}
		if err := l.AddAll(strings.NewReader(`{"dataset":"accounts","file":"a","line":9,"problems":[]}` + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return size
	}
	at := add(0, 3, 1)
	at = add(at, 2)
	l, err := OpenDeadLetters(path, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	problems, err := ReadProblems(path)
	var lines []int64
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if err != nil || !slices.Equal(lines, []int64{1, 2, 3}) {
		t.Errorf("%v, %v", lines, err)
	}
	if _, err := OpenDeadLetters(path, at+1); !errors.Is(err, ErrCut) {
		t.Errorf("a file that was cut: %v", err)
	}
	var none *DeadLetters
	if err := errors.Join(none.Add(DeadLetter{}), none.Sync(), none.Truncate(0), none.Close()); err != nil || none.Size() != 0 {
		t.Error(err)
	}
}
