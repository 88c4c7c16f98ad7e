package auditlog

import (
	"time"

	"github.com/google/uuid"
)

// Query selects events of a chain.
type Query struct {
	// Actions are those asked for, such as api_key.created, or a kind, such as api_key; none:
	// all.
	Actions []string
	// Principal is who acted, Object what the event is of; zero: all.
	Principal, Object uuid.UUID
	// Since and Until bound the time, Until without it; zero: no bound.
	Since, Until time.Time
	// Oldest asks for the order of the chain, without what is not chained yet; After then is
	// the number after which to begin. Otherwise the newest come first, and After is the id
	// before which to begin, 0 for the newest.
	Oldest bool
	After  int64
	Limit  int
}

// MaxEvents is how many events a page may have.
const MaxEvents = 200
