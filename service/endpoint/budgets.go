package endpoint

// Budget limits what a route may use. The server enforces Places. Tests enforce Rows
// and Heap. The server does not start when a route has no budget.
type Budget struct {
	// Places is how many of each 64 places for requests in progress one caller may use
	// with this route, at least one.
	Places int
	// Rows is the maximum number of rows and documents that a request fetches from
	// Elasticsearch for each reserved credit, or for each call if the route costs
	// nothing.
	Rows int
	// Heap is the maximum growth of the server's heap, in MiB, under 200 concurrent
	// requests of the most expensive kind. It includes garbage that is not yet
	// collected.
	Heap int
}

// places is the number of places of one caller, given the number of all places.
func (b Budget) places(all int64) int64 { return max((all*int64(b.Places)+63)/64, 1) }

// Places of one caller, by kind of route.
const (
	// PlacesSearch is high: searches mostly wait for Elasticsearch, and all programs of
	// a workspace may share one key.
	PlacesSearch = 48
	// PlacesRecords is for routes that read only Postgres, and for writes.
	PlacesRecords = 16
	// PlacesGetBatch is low: an answer may have 7,600 records, a hundred with their related ones.
	PlacesGetBatch = 8
	// PlacesSearchBatch is low: a batch has as many records as ten searches.
	PlacesSearchBatch = 8
	// PlacesChanges is low: an answer may have 1,000 records.
	PlacesChanges = 8
	// PlacesOutsiders is for routes that every user of the token issuer may call.
	PlacesOutsiders = 1
)
