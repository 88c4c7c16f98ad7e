package auditlog

import (
	"time"

	"github.com/google/uuid"
)

// Query selects events of a chain.
type Query struct {
	// Actions are the selected actions, such as api_key.created, or kinds, such as api_key;
	// none: all.
	Actions []string
	// Principal is who acted, Object what the event is about; zero: all.
	Principal, Object uuid.UUID
	// Since and Until bound the time, Until exclusively; zero: no bound.
	Since, Until time.Time
	// Oldest selects the order of the chain, without unchained events; After is then the
	// number after which to begin. Otherwise the newest come first, and After is the id
	// before which to begin, 0 for the newest.
	Oldest bool
	After  int64
	Limit  int
}

// MaxEvents is how many events a page may have.
const MaxEvents = 200
