//go:build faults

package faults

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// fate is the change of a record during the walks.
type fate uint8

const (
	// steady: unchanged in every folder, and in no delta.
	steady fate = iota
	// edited: a field that no walk sorts by changes. It must be returned exactly once
	// too.
	edited
	// moved: the sort values change.
	moved
	// fleeting: deleted and restored.
	fleeting
	// newcomer: inserted by a folder or a delta.
	newcomer
)

// sure reports whether a walk must give the record exactly once.
func (f fate) sure() bool { return f <= edited }

// moving is a generated dataset with its changes: versions of the folder for loads, and
// deltas. Everything follows from the seed.
type moving struct {
	seed  uint64
	dir   string // of the generated folder
	fates map[catalog.Dataset]map[uuid.UUID]fate
}

// newcomerEach: a record is inserted for one of this many records.
const newcomerEach = 200

// deltaParts is the number of deltas that together change every changing record.
const deltaParts = 25

// readMoving reads the ids of a generated folder.
func readMoving(t testing.TB, dir string, seed uint64) *moving {
	t.Helper()
	m := &moving{seed: seed, dir: dir, fates: map[catalog.Dataset]map[uuid.UUID]fate{}}
	for _, d := range catalog.Datasets {
		m.fates[d] = map[uuid.UUID]fate{}
		err := m.lines(d, func(id uuid.UUID, _ []byte) error {
			m.fates[d][id] = m.fateOf(id)
			if m.draw(id)%newcomerEach == 0 {
				m.fates[d][newID(id)] = newcomer
			}
			return nil
		})
		rig.Check(t, err)
	}
	return m
}

// draw is a random number for a record and seed.
func (m *moving) draw(id uuid.UUID) uint64 {
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64(nil, m.seed))
	h.Write(id[:])
	n := h.Sum64()
	return n ^ n>>29
}

func (m *moving) fateOf(id uuid.UUID) fate {
	switch n := m.draw(id) / newcomerEach % 100; {
	case n < 2:
		return moved
	case n < 4:
		return fleeting
	case n < 8:
		return edited
	}
	return steady
}

// newID is the id of the record that may be inserted for another.
func newID(beside uuid.UUID) uuid.UUID { return uuid.NewSHA1(beside, []byte("beside")) }

// idOf is the id of a line or a record, which is its first member.
func idOf(line []byte) (uuid.UUID, error) {
	const start = `{"id":"`
	if len(line) < len(start)+36 || !bytes.HasPrefix(line, []byte(start)) {
		return uuid.UUID{}, fmt.Errorf("no id at the start of %.60s", line)
	}
	return uuid.ParseBytes(line[len(start) : len(start)+36])
}

func (m *moving) lines(d catalog.Dataset, each func(id uuid.UUID, line []byte) error) error {
	f, err := os.Open(filepath.Join(m.dir, string(d)+".ndjson"))
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), 4<<20)
	for lines.Scan() {
		id, err := idOf(lines.Bytes())
		if err == nil {
			err = each(id, lines.Bytes())
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// write writes one file for each dataset to dir, with the lines that put returns for
// each generated record.
func (m *moving) write(dir string, put func(d catalog.Dataset, id uuid.UUID, line []byte) ([][]byte, error)) (lines int, err error) {
	for _, d := range catalog.Datasets {
		f, err := os.Create(filepath.Join(dir, string(d)+".ndjson"))
		if err != nil {
			return lines, err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		err = m.lines(d, func(id uuid.UUID, line []byte) error {
			all, err := put(d, id, line)
			for _, b := range all {
				lines++
				_, _ = w.Write(b) // Flush returns the error
				_ = w.WriteByte('\n')
			}
			return err
		})
		if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// folder writes the folder with a version for a load.
func (m *moving) folder(dir string, version int) error {
	_, err := m.write(dir, func(d catalog.Dataset, id uuid.UUID, line []byte) (all [][]byte, err error) {
		n := m.draw(id)
		switch f := m.fates[d][id]; {
		case f == fleeting && (n>>40+uint64(version))%2 == 0:
		case f == moved || f == edited:
			var to []byte
			to, err = m.changed(f, id, line, version, version)
			all = append(all, to)
		default:
			all = append(all, line)
		}
		if n%newcomerEach == 0 && (n>>41+uint64(version))%2 == 0 {
			all = append(all, withID(line, newID(id)))
		}
		return all, err
	})
	return err
}

// delta writes the delta with number part, which is change number at.
func (m *moving) delta(dir string, part, at int) (lines int, err error) {
	return m.write(dir, func(d catalog.Dataset, id uuid.UUID, line []byte) (all [][]byte, err error) {
		n, f := m.draw(id), m.fates[d][id]
		if n>>20%deltaParts != uint64(part%deltaParts) || f == steady && n%newcomerEach != 0 {
			return nil, nil
		}
		gone := (n>>42+uint64(at))%2 == 0
		to, err := m.changed(f, id, line, 100+at, at)
		if err != nil {
			return nil, err
		}
		switch {
		case f == steady:
		case f == fleeting && gone:
			all = append(all, deletion(id, at))
		default:
			all = append(all, to)
		}
		switch {
		case n%newcomerEach != 0:
		case gone:
			all = append(all, deletion(newID(id), at))
		default:
			all = append(all, withID(to, newID(id)))
		}
		return all, nil
	})
}

// changedAt is later than any date of a generated record.
func changedAt(at int) string {
	return time.Date(2026, 8, 1, 0, at, 0, 0, time.UTC).Format(catalog.TimeLayout)
}

func deletion(id uuid.UUID, at int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"deleted":true,"updated_at":%q}`, id, changedAt(at))
}

func withID(line []byte, id uuid.UUID) []byte {
	line = bytes.Clone(line)
	copy(line[len(`{"id":"`):], id.String())
	return line
}

// editable is a text field of each dataset that no walk sorts by.
var editable = map[catalog.Dataset]string{
	catalog.Accounts: "description", catalog.Contacts: "title", catalog.Projects: "description", catalog.Signals: "summary",
}

// changed returns a record's line after a change, whose values depend on turn.
func (m *moving) changed(f fate, id uuid.UUID, line []byte, turn, at int) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	set := func(name, value string) {
		if _, there := members[name]; there {
			members[name] = json.RawMessage(fmt.Sprintf("%q", value))
		}
	}
	for _, name := range editable {
		set(name, fmt.Sprintf("changed the %d. time", turn))
	}
	set("updated_at", changedAt(at))
	if f == moved {
		n := m.draw(uuid.NewSHA1(id, fmt.Append(nil, turn)))
		for _, name := range []string{"created_at", "detected_at", "occurred_at"} {
			set(name, time.Date(2010, 1, 1, 0, 0, int(n%500_000_000), 0, time.UTC).Format(catalog.TimeLayout))
		}
		set("name", fmt.Sprintf("%c moved %d", 'A'+rune(n%26), n>>8))
	}
	delete(members, "id")
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"id":%q,`, id), rest[1:]...), nil
}
