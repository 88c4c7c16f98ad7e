package history

import (
	"fmt"
	"sync"
)

// Versions is the history of the versions that loads and deltas give to global records.
// The versions of a record are consecutive numbers. It is safe for concurrent use.
type Versions struct {
	lock   sync.Mutex
	writes map[string][]versionWrite
	seen   int
	wrong  []string
}

type versionWrite struct {
	version      int
	began, ended int64 // ended: 0 while it is being written
}

// NewVersions returns a history in which each record has version 0.
func NewVersions() *Versions { return &Versions{writes: map[string][]versionWrite{}} }

// Begin records that the write of a version begins.
func (v *Versions) Begin(record string, version int, now int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.writes[record] = append(v.writes[record], versionWrite{version: version, began: now})
}

// End records that all begun versions of a record are written.
func (v *Versions) End(record string, now int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	for i := range v.writes[record] {
		if w := &v.writes[record][i]; w.ended == 0 {
			w.ended = now
		}
	}
}

// Saw records that an answer shows a version. Its write must have begun before the
// answer. If fresh is set, as for the Data API, it must be at least the version that
// was written when the request began.
func (v *Versions) Saw(record string, version int, s Span, fresh bool) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.seen++
	least, most := 0, 0
	for _, w := range v.writes[record] {
		if w.began < s.Return {
			most = max(most, w.version)
		}
		if fresh && w.ended > 0 && w.ended < s.Call {
			least = max(least, w.version)
		}
	}
	if version < least || version > most {
		v.wrong = append(v.wrong, fmt.Sprintf("client %d saw version %d of %s from %.3f to %.3f s, it was between %d and %d",
			s.Client, version, record, seconds(s.Call), seconds(s.Return), least, most))
	}
}

// Judge returns all violations, and the number of answers that were checked.
func (v *Versions) Judge() (seen int, wrong []string) {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.seen, v.wrong
}
