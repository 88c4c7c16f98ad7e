package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"atlas/internal/durable"
)

// exportState is the cursor file: how far an export is. It is replaced as a
// whole after each page, once the page's bytes are on disk. So the output holds
// at least Bytes bytes, which are exactly Rows rows; what follows them is a page
// that a run did not finish, and is cut off by the next.
type exportState struct {
	Version int             `json:"version"`
	Of      json.RawMessage `json:"of"` // what is exported, see exportOf
	// SearchAfter is the cursor of the next page; "" before the first.
	SearchAfter string    `json:"search_after"`
	Bytes       int64     `json:"bytes"`
	Rows        int       `json:"rows"`
	Credits     int       `json:"credits"` // of all runs
	Columns     []string  `json:"columns,omitzero"`
	Done        bool      `json:"done"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// exportStateVersion is of the cursor file; 1 did not know the service.
const exportStateVersion = 2

// exportFile is the output of an export and its cursor file.
type exportFile struct {
	out       *os.File
	statePath string
	state     exportState
}

// openExport opens the output where the cursor file says that it ends, or both
// anew. The output is locked: of two exports to one file the second is refused.
func openExport(path, statePath string, of json.RawMessage, restart bool) (_ *exportFile, err error) {
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = out.Close()
		}
	}()
	info, err := out.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, so an export to it could not go on", path)
	}
	if err := syscall.Flock(int(out.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another export writes %s: %w", path, err)
	}
	e := &exportFile{out: out, statePath: statePath}
	known, err := e.readState()
	if err != nil && !restart {
		return nil, err
	}
	if !known && info.Size() > 0 && !restart {
		return nil, fmt.Errorf("%s is there already, and no cursor file %s that belongs to it; --restart replaces it", path, statePath)
	}
	// One that has come to nothing yet, a request that was refused for instance,
	// holds up no other.
	if begun := e.state.Bytes > 0 || e.state.Done; restart || !begun {
		// The cursor file first: from then on whatever is in the output is known to
		// be a beginning.
		e.state = exportState{Version: exportStateVersion, Of: of, UpdatedAt: time.Now().UTC().Truncate(time.Second)}
		if err := e.writeState(e.state); err != nil {
			return nil, err
		}
	}
	if other := otherExport(e.state.Of, of); other != "" {
		return nil, fmt.Errorf("%s belongs to another export: %s; --restart begins a new one", statePath, other)
	}
	if info.Size() < e.state.Bytes && !restart {
		return nil, fmt.Errorf("%s has %d bytes, and should have %d by %s: it is not what the export wrote; --restart begins anew", path, info.Size(), e.state.Bytes, statePath)
	}
	if err := out.Truncate(e.state.Bytes); err != nil {
		return nil, err
	}
	_, err = out.Seek(e.state.Bytes, io.SeekStart)
	return e, err
}

// readState tells whether there is a cursor file.
func (e *exportFile) readState() (bool, error) {
	raw, err := os.ReadFile(e.statePath)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, &e.state); err != nil || e.state.Version != exportStateVersion {
		return false, fmt.Errorf("%s is no cursor file of this version; --restart replaces it", e.statePath)
	}
	return true, nil
}

// compact is JSON without the spaces that the cursor file has for people.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it was read as JSON
	return b.String()
}

// commit appends a page's bytes and then moves the cursor past them.
func (e *exportFile) commit(b []byte, next exportState) error {
	if _, err := e.out.Write(b); err != nil {
		return err
	}
	if err := e.out.Sync(); err != nil {
		return err
	}
	next.Bytes = e.state.Bytes + int64(len(b))
	if err := e.writeState(next); err != nil {
		return err
	}
	e.state = next
	return nil
}

// writeState replaces the cursor file in one step that a crash cannot halve.
func (e *exportFile) writeState(s exportState) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(e.statePath, append(raw, '\n'))
}

func (e *exportFile) close() { _ = e.out.Close() }
