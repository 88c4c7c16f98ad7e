package search

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

// cursorFile is the state of an export or an enrichment. It is replaced after each page,
// once the page is on disk. So the output has at least Bytes bytes, which are exactly Rows
// rows. Any further bytes are an incomplete page, which the next run removes.
type cursorFile struct {
	Version int             `json:"version"`
	Of      json.RawMessage `json:"of"` // the exported target: an exportOf, or an enrichmentOf
	// SearchAfter is the cursor of the next page; "" before the first.
	SearchAfter string    `json:"search_after"`
	Bytes       int64     `json:"bytes"`
	Rows        int       `json:"rows"`
	Credits     int       `json:"credits"` // sum over all runs
	Columns     []string  `json:"columns,omitzero"`
	Done        bool      `json:"done"`
	Converted   bool      `json:"converted,omitzero"` // the rows are in the Parquet file
	UpdatedAt   time.Time `json:"updated_at"`
	// Of an enrichment: how many inputs were sent and not written yet, and how many rows
	// have each status.
	Asking   int            `json:"asking,omitzero"`
	Statuses map[string]int `json:"statuses,omitzero"`
}

// cursorFileVersion 2 added the service.
const cursorFileVersion = 2

// exportFile is the output of an export or an enrichment, and its cursor file.
type exportFile struct {
	kind      string // for messages: "export"
	out       *os.File
	to        io.Writer // instead of out: the standard output, which has no state
	pack      func([]byte) ([]byte, error)
	statePath string
	state     cursorFile
	before    []byte // the cursor file of the previous run
	fresh     bool   // state belongs only to this run
	ready     bool   // the output ends at the position of state
}

// openOutput opens the output, which is toStdout for -, and reads the cursor file or, to
// start over, makes a state without rows. It changes neither file. commit does so with the
// first page, and asking changes the cursor file before: until then the files that
// --restart replaces are unchanged. It locks the output: a second export to the same file
// fails.
func openOutput(kind string, toStdout io.Writer, path, statePath string, of json.RawMessage, restart bool) (_ *exportFile, err error) {
	if path == stdout {
		return &exportFile{kind: kind, to: toStdout}, nil
	}
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- the user of the command names the file
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
		return nil, fmt.Errorf("%s is no regular file, so the %s to it could not go on", path, kind)
	}
	if err := syscall.Flock(int(out.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another %s writes %s: %w", kind, path, err)
	}
	e := &exportFile{kind: kind, out: out, statePath: statePath}
	known, err := e.readState()
	if err != nil && !restart {
		return nil, err
	}
	if !known && info.Size() > 0 && !restart {
		return nil, fmt.Errorf("%s is there already, and no cursor file %s that belongs to it; --restart replaces it", path, statePath)
	}
	// An export without rows yet, for instance after a rejected request, does not block
	// another one.
	if begun := e.state.Bytes > 0 || e.state.Done || e.state.Asking > 0; restart || !begun {
		e.state, e.fresh = cursorFile{Version: cursorFileVersion, Of: of, UpdatedAt: time.Now().UTC().Truncate(time.Second)}, true
	}
	if other := otherExport(e.state.Of, of); other != "" {
		return nil, fmt.Errorf("%s belongs to another %s: %s; --restart begins a new one", statePath, kind, other)
	}
	if info.Size() < e.state.Bytes && !restart {
		return nil, fmt.Errorf("%s has %d bytes, and should have %d by %s: it is not what was written; --restart begins anew", path, info.Size(), e.state.Bytes, statePath)
	}
	return e, nil
}

// cut truncates the output to the position of the cursor file.
func (e *exportFile) cut() error {
	if e.ready {
		return nil
	}
	if e.fresh {
		// The cursor file is written first: it marks later content of the output as this
		// export's.
		if err := e.writeState(e.state); err != nil {
			return err
		}
	}
	if err := e.out.Truncate(e.state.Bytes); err != nil {
		return err
	}
	_, err := e.out.Seek(e.state.Bytes, io.SeekStart)
	e.ready = err == nil
	return err
}

// readState reports whether there is a cursor file.
func (e *exportFile) readState() (bool, error) {
	raw, err := os.ReadFile(e.statePath)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.before = raw
	if err := json.Unmarshal(raw, &e.state); err != nil || e.state.Version != cursorFileVersion {
		return false, fmt.Errorf("%s is no cursor file of this version; --restart replaces it", e.statePath)
	}
	return true, nil
}

// compact removes the whitespace of JSON.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it is valid JSON
	return b.String()
}

// commit appends the bytes of a page, then advances the cursor.
func (e *exportFile) commit(b []byte, next cursorFile) error {
	// A compressed file without rows is one empty member.
	if e.pack != nil && (len(b) > 0 || next.Done && e.state.Bytes == 0) {
		var err error
		if b, err = e.pack(b); err != nil {
			return err
		}
	}
	if e.to != nil {
		next.Bytes = e.state.Bytes + int64(len(b))
		e.state = next
		_, err := e.to.Write(b)
		return err
	}
	if err := e.cut(); err != nil {
		return err
	}
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

// asking records how many inputs will be sent, before they are sent.
func (e *exportFile) asking(inputs int) error {
	if e.to != nil || e.state.Asking == inputs {
		return nil
	}
	if inputs == 0 && e.fresh && !e.ready && e.before != nil {
		e.state.Asking = 0
		return durable.Replace(e.statePath, e.before) // as before --restart, like the output
	}
	next := e.state
	next.Asking = inputs
	if err := e.writeState(next); err != nil {
		return err
	}
	e.state = next
	return nil
}

// writeState replaces the cursor file atomically.
func (e *exportFile) writeState(s cursorFile) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(e.statePath, append(raw, '\n'))
}

func (e *exportFile) close() {
	if e.out != nil {
		_ = durable.Unlock(e.out)
	}
}
