package history

import (
	"fmt"
	"sync"
)

// Versions is the history of the versions that loads and deltas give global
// records: they count up, one after the other. It is safe for concurrent use.
type Versions struct {
	lock   sync.Mutex
	writes map[string][]versionWrite
	seen   int
	wrong  []string
}

type versionWrite struct {
	version      int
	began, ended int64 // ended: 0 until it has
}

// NewVersions begins a history, in which each record has version 0.
func NewVersions() *Versions { return &Versions{writes: map[string][]versionWrite{}} }

// Begin says that a version is going to be written.
func (v *Versions) Begin(record string, version int, now int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.writes[record] = append(v.writes[record], versionWrite{version: version, began: now})
}

// End says that all that was begun of a record has been written.
func (v *Versions) End(record string, now int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	for i := range v.writes[record] {
		if w := &v.writes[record][i]; w.ended == 0 {
			w.ended = now
		}
	}
}

// Saw takes a version that an answer shows: it was begun before the answer was
// there. One that is fresh, as the Data API's are, is no older than what had
// been written when the request began.
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

// Judge returns what is impossible, and how many answers were judged.
func (v *Versions) Judge() (seen int, wrong []string) {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.seen, v.wrong
}
