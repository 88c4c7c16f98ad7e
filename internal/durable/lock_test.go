package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path, 0o600); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	// Who removes the file while holding it does not lock out the next.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Lock(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	third, err := Lock(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(third.Fd())) // as in a process that is being started
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied) //nolint:errcheck // a copy
	if err := Unlock(third); err != nil {
		t.Fatal(err)
	}
	fourth, err := Lock(path, 0o600)
	if err != nil {
		t.Fatal("after Unlock, while there is a copy:", err)
	}
	defer fourth.Close()
	if _, err := Lock(filepath.Join(path, "below a file"), 0o600); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	var got map[string]int
	if found, err := ReadJSON(path, &got); found || err != nil {
		t.Errorf("a missing file: %v, %v", found, err)
	}
	if err := ReplaceJSON(path, map[string]int{"b": 2, "a": 1}); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != `{"a":1,"b":2}` {
		t.Errorf("%s, %v", raw, err)
	}
	if found, err := ReadJSON(path, &got); !found || err != nil || got["b"] != 2 {
		t.Errorf("%v, %v, %v", found, err, got)
	}
	if err := os.WriteFile(path, []byte(`{"a":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := ReadJSON(path, &got); found || err == nil {
		t.Errorf("half a file: %v, %v", found, err)
	}
}
