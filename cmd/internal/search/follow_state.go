package search

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// followState is how far a copy is. It is kept with the copy.
type followState struct {
	Version int             `json:"version"`
	Of      json.RawMessage `json:"of"` // what is followed, an exportOf
	Phase   string          `json:"phase"`
	// Cursor is the place in the feed that the copy is equal to. While the records are
	// read it is one from before the reading.
	Cursor string `json:"cursor"`
	// SearchAfter is the cursor of the next page of the reading.
	SearchAfter string    `json:"search_after,omitzero"`
	Rows        int       `json:"rows"`
	Changes     int       `json:"changes"`
	Credits     int       `json:"credits"` // sum over all runs
	Logged      int64     `json:"logged"`  // bytes of a folder's log that count
	UpdatedAt   time.Time `json:"updated_at"`
	// Foreign means that the copy has records, and there is no state.
	Foreign bool `json:"-"`
}

const followVersion = 1

// Phases of a followState, in order.
const (
	toBegin     = ""          // there is no cursor yet
	reading     = "reading"   // pages are staged
	staged      = "staged"    // all pages are staged, and the copy is as before
	followingOn = "following" // the copy is equal to the data at Cursor
)

// continues prepares the state for a run that follows of. A copy of something else is an
// error.
func (s *followState) continues(of json.RawMessage, place string, restart bool) error {
	switch {
	case s.Foreign && !restart:
		return fmt.Errorf("%s has records already, and no state that belongs to them; --restart replaces them", place)
	case restart || s.Phase == toBegin:
		*s = followState{Version: followVersion, Of: of}
	case s.Version != followVersion:
		return fmt.Errorf("%s has a state of another version; --restart replaces it", place)
	default:
		if other := otherExport(s.Of, of); other != "" {
			return fmt.Errorf("%s is another copy: %s; --restart begins a new one", place, other)
		}
	}
	return nil
}

func (s *followState) encode() ([]byte, error) {
	s.UpdatedAt = time.Now().UTC().Truncate(time.Second)
	return json.Marshal(s)
}

// followCopy is a place that holds a copy of records and a followState. Whoever has it
// open has locked it.
type followCopy interface {
	// write keeps changes and the state after them, both or neither. Changes of the
	// phases reading and staged are staged: the copy stays as it is. A write of the
	// phase reading with no Rows discards what was staged before.
	write(ctx context.Context, changes []change, next *followState) error
	// settle ends the phase staged, after which the copy has exactly the staged records,
	// or makes changes of the phase following visible that were only logged.
	settle(ctx context.Context, next *followState) error
	// digests returns a digest of each record of the copy.
	digests(ctx context.Context) (map[recordID]digest, error)
	close()
}

// change is a record as it is now; nil: it is gone.
type change struct {
	id     recordID
	record json.RawMessage
}
