package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"atlas/internal/durable"
)

// folderCopy is a copy in files. Changes go to a log first: changing a file means replacing
// it, so many changes are collected for each file.
type folderCopy struct {
	dir  string
	lock *os.File
	log  *os.File // a line is an id, a space, and the record or nothing
}

func openFolder(parent, dataset string, state *followState) (_ *folderCopy, err error) {
	c := &folderCopy{dir: filepath.Join(parent, dataset)}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if c.lock, err = durable.Lock(c.path(".lock"), 0o600); errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("another atlas follow writes %s", c.dir)
	} else if err != nil {
		return nil, err
	}
	if c.log, err = os.OpenFile(c.path(".log"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	known, err := durable.ReadJSON(c.path(".state"), state)
	if err == nil && !known {
		var parts []string
		parts, err = filepath.Glob(c.path("*.ndjson"))
		state.Foreign = len(parts) > 0
	}
	return c, err
}

func (c *folderCopy) path(name string) string { return filepath.Join(c.dir, name) }

func (c *folderCopy) close() {
	_ = c.log.Close()
	_ = durable.Unlock(c.lock)
}

func (c *folderCopy) write(_ context.Context, changes []change, next *followState) error {
	var b []byte
	for _, change := range changes {
		b = append(append(b, change.id.String()...), ' ')
		if change.record != nil {
			b = append(b, compactLine(change.record)...)
		}
		b = append(b, '\n')
	}
	if _, err := c.log.WriteAt(b, next.Logged); err != nil {
		return err
	}
	if err := c.log.Sync(); err != nil {
		return err
	}
	next.Logged += int64(len(b))
	return c.storeState(next)
}

func (c *folderCopy) storeState(state *followState) error {
	raw, err := state.encode()
	if err != nil {
		return err
	}
	return durable.Replace(c.path(".state"), raw)
}

// logged is the position of the last record of an id in the log; length 0 means that it was
// deleted.
type logged struct {
	at     int64
	length int
}

// settle may be repeated after an interruption: the log is valid until the state says
// otherwise.
func (c *folderCopy) settle(_ context.Context, next *followState) error {
	var old followState
	if _, err := durable.ReadJSON(c.path(".state"), &old); err != nil {
		return err
	}
	var parts [256]map[recordID]logged
	lines := bufio.NewReaderSize(io.NewSectionReader(c.log, 0, old.Logged), 1<<20)
	for at := int64(0); at < old.Logged; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		id, err := uuid.ParseBytes(line[:min(36, len(line))])
		if err != nil {
			return fmt.Errorf("%s is damaged at byte %d; --restart replaces it", c.path(".log"), at)
		}
		if parts[id[0]] == nil {
			parts[id[0]] = map[recordID]logged{}
		}
		parts[id[0]][id] = logged{at + 37, len(line) - 38}
		at += int64(len(line))
	}
	all := old.Phase == staged
	for i, part := range parts {
		if all || part != nil {
			if err := c.merge(partName(i), part, all); err != nil {
				return err
			}
		}
	}
	next.Logged = 0
	if err := c.storeState(next); err != nil {
		return err
	}
	return c.log.Truncate(0)
}

func partName(i int) string { return fmt.Sprintf("%02x.ndjson", i) }

// merge replaces a file by its content and the logged changes, or only by the latter. It
// does not touch a file that does not change.
func (c *folderCopy) merge(name string, part map[recordID]logged, all bool) error {
	old, err := os.ReadFile(c.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := map[recordID][]byte{}
	if !all {
		if err := eachLine(c.path(name), old, func(id recordID, line []byte) error { lines[id] = line; return nil }); err != nil {
			return err
		}
	}
	for id, l := range part {
		if l.length == 0 {
			delete(lines, id)
			continue
		}
		lines[id] = make([]byte, l.length)
		if _, err := c.log.ReadAt(lines[id], l.at); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	for _, id := range slices.SortedFunc(maps.Keys(lines), func(a, b recordID) int { return bytes.Compare(a[:], b[:]) }) {
		b.Write(lines[id])
		b.WriteByte('\n')
	}
	switch {
	case bytes.Equal(b.Bytes(), old):
		return nil
	case b.Len() == 0:
		return errors.Join(os.Remove(c.path(name)), durable.SyncFolder(c.dir))
	}
	return durable.Replace(c.path(name), b.Bytes())
}

// damagedError is the error of a file of a copy with content other than records.
type damagedError struct {
	path string
	line int
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("line %d of %s is not a record", e.line, e.path)
}

// eachLine reads the file at path. Errors: damagedError.
func eachLine(path string, file []byte, do func(recordID, []byte) error) error {
	n := 0
	for line := range bytes.Lines(file) {
		n++
		line = bytes.TrimSuffix(line, []byte("\n"))
		id, err := idOf(json.RawMessage(line))
		if err != nil {
			return &damagedError{path, n}
		}
		if err := do(id, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *folderCopy) digests(context.Context) (map[recordID]digest, error) {
	all := map[recordID]digest{}
	for i := range 256 {
		file, err := os.ReadFile(c.path(partName(i)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = eachLine(c.path(partName(i)), file, func(id recordID, line []byte) (err error) {
				all[id], err = digestOf(line)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
