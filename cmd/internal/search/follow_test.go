package search

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]error{"y\n": nil, "yes\n": nil, "\n": errDeclined, "no\n": errDeclined, "": errDeclined} {
		if err := confirm(t.Context(), strings.NewReader(answer), io.Discard); !errors.Is(err, want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	// Ctrl-C ends the question.
	silent, answers := io.Pipe()
	defer answers.Close()
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	if err := confirm(interrupted, silent, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Postgres orders members and writes numbers in its own way.
func TestDigestOf(t *testing.T) {
	t.Parallel()
	digestsOf := func(texts ...string) (list []digest) {
		for _, text := range texts {
			d, err := digestOf(json.RawMessage(text))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, d)
		}
		return list
	}
	if d := digestsOf(`{"b":1e3,"a":[null,"é"]}`, `{"a": [null, "\u00e9"], "b": 1000}`, `{"a":[null,"é"],"b":1001}`); d[0] != d[1] ||
		d[0] == d[2] {
		t.Error(d)
	}
}

// A folder whose settling was interrupted is settled a second time, ignoring what was
// written after the last state.
func TestFolderSettlesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var state followState
	open := func() *folderCopy {
		t.Helper()
		state = followState{}
		c, err := openFolder(dir, "accounts", &state)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	id := func(n byte) recordID { return uuid.UUID{0: n % 2, 15: n} }
	record := func(n byte, name string) change {
		return change{id(n), json.RawMessage("{\"id\":\"" + id(n).String() + "\",\n\"name\":\"" + name + "\"}")}
	}
	c := open()
	write := func(phase string, changes ...change) {
		t.Helper()
		state.Phase = phase
		if err := c.write(t.Context(), changes, &state); err != nil {
			t.Fatal(err)
		}
	}
	settle := func() {
		t.Helper()
		state.Phase = followingOn
		if err := c.settle(t.Context(), &state); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want ...byte) {
		t.Helper()
		all, err := c.digests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b recordID) int { return int(a[15]) - int(b[15]) }) {
			got = append(got, id[15])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	write(reading, record(4, "a"), record(1, "a"))
	has()
	write(staged, record(2, "a"))
	settle()
	has(1, 2, 4)
	write(followingOn, change{id: id(4)}, record(3, "b"), record(2, "b"))
	kept, err := os.ReadFile(filepath.Join(dir, "accounts", ".state"))
	if err != nil {
		t.Fatal(err)
	}
	logged, err := os.ReadFile(filepath.Join(dir, "accounts", ".log"))
	if err != nil {
		t.Fatal(err)
	}
	settle()
	has(1, 2, 3)
	// As if it had been killed before it stored the state, within a further write.
	c.close()
	for name, content := range map[string]string{".state": string(kept), ".log": string(logged) + id(9).String()} {
		if err := os.WriteFile(filepath.Join(dir, "accounts", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c = open()
	defer c.close()
	settle()
	has(1, 2, 3)
	write(followingOn, change{id: id(1)}, change{id: id(3)})
	settle()
	has(2)
	if _, err := os.Stat(filepath.Join(dir, "accounts", "01.ndjson")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without records: %v", err)
	}
}
