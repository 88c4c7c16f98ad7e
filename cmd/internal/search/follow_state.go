package search

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// followState is the progress of a copy. It is stored with the copy.
type followState struct {
	Version int             `json:"version"`
	Of      json.RawMessage `json:"of"` // the target, an exportOf
	Phase   string          `json:"phase"`
	// Cursor is the position in the feed that the copy corresponds to. While the records
	// are read it is a position from before.
	Cursor string `json:"cursor"`
	// SearchAfter is the cursor of the next page of records.
	SearchAfter string    `json:"search_after,omitzero"`
	Rows        int       `json:"rows"`
	Changes     int       `json:"changes"`
	Credits     int       `json:"credits"` // sum over all runs
	Logged      int64     `json:"logged"`  // bytes of a folder's log that are valid
	UpdatedAt   time.Time `json:"updated_at"`
	// Foreign means that the copy has records but no state.
	Foreign bool `json:"-"`
}

const followVersion = 1

// Phases of a followState, in order.
const (
	toBegin     = ""          // there is no cursor yet
	reading     = "reading"   // pages are staged
	staged      = "staged"    // all pages are staged, and the copy is unchanged
	followingOn = "following" // the copy equals the data at Cursor
)

// continues prepares the state for a run that follows of. A copy of another target is an
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

// followCopy is a place with a copy of records and a followState. It is locked while it is
// open.
type followCopy interface {
	// write stores changes and the state after them, both or neither. Changes of the phases
	// reading and staged are staged: the copy does not change. A write of the phase reading
	// with no Rows discards staged changes.
	write(ctx context.Context, changes []change, next *followState) error
	// settle ends the phase staged, after which the copy has exactly the staged records, or
	// applies changes of the phase following that were only logged.
	settle(ctx context.Context, next *followState) error
	// digests returns a digest of each record of the copy.
	digests(ctx context.Context) (map[recordID]digest, error)
	close()
}

// change is a present record; nil: it was deleted.
type change struct {
	id     recordID
	record json.RawMessage
}
