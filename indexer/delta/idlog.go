package delta

import (
	"bytes"
	"os"

	"github.com/google/uuid"
)

func (id recordID) String() string { return uuid.UUID(id).String() }

// after reports whether the id sorts after another one.
func (id recordID) after(other recordID) bool { return bytes.Compare(id[:], other[:]) > 0 }

// idLog is an append-only file of ids. Opening it cuts off an id that was written in part.
// Extra ids are harmless.
type idLog struct {
	file *os.File
	buf  []byte
	size int64
	// seen are recently added ids: many consecutive records name the same parents.
	seen map[recordID]struct{}
}

// maxSeen bounds seen, to about 3 MB.
const maxSeen = 1 << 16

func openIDLog(path string) (*idLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, unusable(err, path)
	}
	info, err := file.Stat()
	size := int64(0)
	if err == nil {
		size = info.Size() / idSize * idSize
		err = file.Truncate(size)
	}
	if err != nil {
		_ = file.Close()
		return nil, unusable(err, path)
	}
	return &idLog{file: file, size: size, seen: map[recordID]struct{}{}}, nil
}

// add adds an id, unless it was added recently.
func (l *idLog) add(id recordID) {
	if _, recent := l.seen[id]; recent {
		return
	}
	if len(l.seen) >= maxSeen {
		clear(l.seen)
	}
	l.seen[id] = struct{}{}
	l.buf = append(l.buf, id[:]...)
}

// sync writes all added ids to disk.
func (l *idLog) sync() error {
	if len(l.buf) == 0 {
		return nil
	}
	_, err := l.file.WriteAt(l.buf, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return unusable(err, l.file.Name())
	}
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// each calls f with pages of the ids, in the order they were added.
func (l *idLog) each(page int, f func([]recordID) error) error {
	raw := make([]byte, page*idSize)
	for at := int64(0); at < l.size; {
		n := min(int64(len(raw)), l.size-at)
		if _, err := l.file.ReadAt(raw[:n], at); err != nil {
			return unusable(err, l.file.Name())
		}
		at += n
		ids := make([]recordID, n/idSize)
		for i := range ids {
			copy(ids[i][:], raw[i*idSize:])
		}
		if err := f(ids); err != nil {
			return err
		}
	}
	return nil
}

// clear removes all ids.
func (l *idLog) clear() error {
	l.buf, l.size = nil, 0
	clear(l.seen)
	if err := l.file.Truncate(0); err != nil {
		return unusable(err, l.file.Name())
	}
	return nil
}

func (l *idLog) close() { _ = l.file.Close() }
