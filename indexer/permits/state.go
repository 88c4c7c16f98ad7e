package permits

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"atlas/indexer/ndjson"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// stateVersion is the version of the format of states.
const stateVersion = 1

// stateHead is the first line of a state: JSON lines, packed with zstd. After it come the
// firms, then the permits in the order of the ids of their projects. A state has the
// content of the records, and no cell of a column about persons.
type stateHead struct {
	Version int    `json:"atlas_permits_state"`
	Source  string `json:"source"`
	AsOf    string `json:"as_of"`
	Firms   int    `json:"firms"`
}

// storedFirm is a firm of a state.
type storedFirm struct {
	Key string `json:"key"`
	ID  string `json:"id"`
	// Link is the account of the firm, "" for its own, and Why what decided it.
	Link string `json:"link,omitempty"`
	Why  string `json:"why,omitempty"`
	// Account is the line of its own account as it was last written, without a merge; nil
	// if it never had one. Merged means that the account was merged into Link.
	Account jsontext.Value `json:"account,omitempty"`
	Merged  bool           `json:"merged,omitempty"`
	Name    string         `json:"name"`
	Phone   string         `json:"phone,omitempty"`
	City    string         `json:"city,omitempty"`
	State   string         `json:"state,omitempty"`
	Country string         `json:"country,omitempty"`
	Types   []string       `json:"types"`
	Created time.Time      `json:"created,omitzero"`
	Updated time.Time      `json:"updated,omitzero"`
}

// storedPermit is a permit of a state. Its lines name firms by their own ids, whatever they
// are linked to.
type storedPermit struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	// GC is the firm that is its general contractor.
	GC      string           `json:"gc,omitempty"`
	Project jsontext.Value   `json:"project"`
	Signals []jsontext.Value `json:"signals,omitempty"`
}

// state reads a state. It is nil without one.
type state struct {
	path  string
	asOf  time.Time
	file  *os.File
	plain *zstd.Decoder
	from  *jsontext.Decoder
	count int
	// ahead is the permit that was read ahead.
	ahead *storedPermit
	end   bool
}

func openState(path, source string) (*state, error) {
	file, err := os.Open(path) // #nosec G304 -- a file that who runs the command names
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.Wrap(err, fault.NotFound, "%s does not exist; write the first state with --state", path)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be opened", path)
	}
	s := &state{path: path, file: file}
	plain, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		s.close()
		return nil, s.damaged(err)
	}
	s.plain, s.from = plain, jsontext.NewDecoder(bufio.NewReaderSize(plain, 1<<20))
	var head stateHead
	if err := json.UnmarshalDecode(s.from, &head); err != nil || head.Version == 0 {
		s.close()
		return nil, fault.New(fault.BadRequest, "%s is not a state of atlas index permits", path)
	}
	if head.Version != stateVersion || head.Source != source {
		s.close()
		return nil, fault.New(
			fault.BadRequest, "%s is a state of the source %s in version %d; this needs %s in version %d", path,
			head.Source, head.Version, source, stateVersion,
		)
	}
	s.count = head.Firms
	if head.AsOf != "" {
		if s.asOf, err = time.Parse(time.DateOnly, head.AsOf); err != nil {
			s.close()
			return nil, s.damaged(err)
		}
	}
	return s, nil
}

func (s *state) damaged(err error) error {
	return fault.Wrap(err, fault.BadRequest, "%s is damaged", s.path)
}

func (s *state) close() {
	if s == nil {
		return
	}
	if s.plain != nil {
		s.plain.Close()
	}
	_ = s.file.Close()
}

// firms adds the firms of the state to those of a source.
func (s *state) firms(into *firms) error {
	for range s.count {
		k := &storedFirm{}
		if err := json.UnmarshalDecode(s.from, k); err != nil {
			return s.damaged(err)
		}
		into.add(&firm{
			id: k.ID, key: k.Key, name: k.Name, types: k.Types, phone: k.Phone, city: k.City, state: k.State, country: k.Country,
			created: k.Created, updated: k.Updated, link: k.Link, why: k.Why, stored: k,
		})
	}
	return nil
}

// until returns the next permit whose id is not after the given one, nil if there is none. ""
// stands for the end.
func (s *state) until(id string) (*storedPermit, error) {
	if s == nil {
		return nil, nil
	}
	if s.ahead == nil && !s.end {
		k := &storedPermit{}
		switch err := json.UnmarshalDecode(s.from, k); {
		case errors.Is(err, io.EOF):
			s.end = true
		case err != nil:
			return nil, s.damaged(err)
		default:
			s.ahead = k
		}
	}
	if s.ahead == nil || id != "" && s.ahead.ID > id {
		return nil, nil
	}
	k := s.ahead
	s.ahead = nil
	return k, nil
}

// stateWriter writes a state. The nil stateWriter drops everything.
type stateWriter struct {
	path   string
	file   *os.File
	packed *zstd.Encoder
	behind *behind
	buf    *bufio.Writer
	object ndjson.Object
}

func newStateWriter(path string, head stateHead) (*stateWriter, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "%s cannot be written", path)
	}
	w := &stateWriter{path: path, file: file}
	// One goroutine and a fixed level, so that equal states are equal files.
	w.packed, err = zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		w.abort()
		return nil, notWritten(err, path)
	}
	w.behind = newBehind(w.packed)
	w.buf = bufio.NewWriterSize(w.behind, 256<<10)
	return w, w.add(head)
}

func (w *stateWriter) add(v any) error {
	if w == nil {
		return nil
	}
	line, err := json.Marshal(v, json.Deterministic(true))
	if err == nil {
		_, err = w.buf.Write(append(line, '\n'))
	}
	if err != nil {
		return notWritten(err, w.path)
	}
	return nil
}

// addPermit is add of a permit, whose lines are JSON already.
func (w *stateWriter) addPermit(k *storedPermit) error {
	if w == nil {
		return nil
	}
	o := &w.object
	o.Reset()
	o.Text("id", k.ID)
	o.Text("key", k.Key)
	o.Text("gc", k.GC)
	o.JSON("project", k.Project)
	if len(k.Signals) > 0 {
		o.JSON("signals", slices.Concat([]byte("["), bytes.Join(asBytes(k.Signals), []byte(",")), []byte("]")))
	}
	if _, err := w.buf.Write(append(o.Line(), '\n')); err != nil {
		return notWritten(err, w.path)
	}
	return nil
}

func asBytes(values []jsontext.Value) [][]byte {
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// finish makes the file durable, under its temporary name.
func (w *stateWriter) finish() error {
	if w == nil {
		return nil
	}
	if err := errors.Join(w.buf.Flush(), w.behind.close(), w.packed.Close(), w.file.Sync(), w.file.Chmod(0o600)); err != nil {
		return notWritten(err, w.path)
	}
	return nil
}

// publish renames the file to its final name.
func (w *stateWriter) publish() error {
	if w == nil {
		return nil
	}
	if err := errors.Join(w.file.Close(), os.Rename(w.file.Name(), w.path), durable.SyncFolder(filepath.Dir(w.path))); err != nil {
		return notWritten(err, w.path)
	}
	return nil
}

// abort removes the file. After publish it does nothing.
func (w *stateWriter) abort() {
	if w == nil {
		return
	}
	if w.behind != nil {
		_ = w.behind.close()
	}
	if w.packed != nil {
		_ = w.packed.Close()
	}
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

// updatedKey begins the last member of the lines of projects, signals and accounts.
var updatedKey = []byte(`"updated_at":"`)

// dated splits a line into its content and its time of last change, zero if it has none.
func dated(line []byte) (content []byte, updated time.Time) {
	at := bytes.LastIndex(line, updatedKey)
	if at < 0 {
		return line, time.Time{}
	}
	text, _, _ := bytes.Cut(line[at+len(updatedKey):], []byte(`"`))
	updated, _ = time.Parse(time.RFC3339, string(text))
	return line[:at], updated
}

// redated is the line with another time of last change.
func redated(line []byte, updated time.Time) []byte {
	content, was := dated(line)
	if was.Equal(updated) || updated.IsZero() {
		return line
	}
	var b []byte
	if was.IsZero() {
		b = append(b, bytes.TrimSuffix(content, []byte("}"))...)
		b = append(b, ',')
	} else {
		b = append(b, content...)
	}
	b = append(b, updatedKey...)
	b = updated.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"', '}')
}
