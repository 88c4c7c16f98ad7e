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
	// Oldest lists the events in the order of the chain, without those that are not chained
	// yet; After is then the number of the event before the page. Otherwise the newest event is
	// first, and After is the id of the event before the page; 0 begins with the newest.
	Oldest bool
	After  int64
	Limit  int
}

// MaxEvents is how many events a page may have.
const MaxEvents = 200
