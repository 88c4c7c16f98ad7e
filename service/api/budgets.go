package api

import (
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

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
	// placesSearch is high: searches mostly wait for Elasticsearch, and all programs of
	// a workspace may share one key.
	placesSearch = 48
	// placesRecords is for routes that read only Postgres, and for writes.
	placesRecords = 16
	// placesGetBatch is low: an answer may have 7,600 records, a hundred with their
	// related ones.
	placesGetBatch = 8
	// placesSearchBatch is low: a batch has as many records as ten searches.
	placesSearchBatch = 8
	// placesChanges is low: an answer may have 1,000 records.
	placesChanges = 8
	// placesOutsiders is for routes that every user of the token issuer may call.
	placesOutsiders = 1
)

// Rows of a search with a page of one record.
const (
	// rowsSearch: a page fetches one row more, to detect a next page. Past row 10,000 a
	// separate search fetches the rows without a value.
	rowsSearch = 4
	// rowsMerged: a merged search reads ids and sort values of both searches up to the
	// offset, and then the page.
	rowsMerged = 2*(10_000+2) + rowsSearch
	// rowsMatched is the number of candidates that an upsert reads to resolve `match`,
	// plus the record.
	rowsMatched = search.MaxMatches + 1
	// rowsNamed is the number of accounts whose names facets show.
	rowsNamed = query.MaxFacets * query.MaxFacetValues
)

// rowsGet is the number of rows of a get: the record and its related ones.
func rowsGet(d catalog.Dataset) int {
	rows := 1
	for _, related := range query.Includes(d) {
		if related.One {
			rows++
		} else {
			rows += query.MaxIncluded
		}
	}
	return rows
}

// rowsSuggest is the number of records whose names are suggested: those of accounts and projects.
func rowsSuggest(d catalog.Dataset) int {
	if d == catalog.Accounts || d == catalog.Projects {
		return query.MaxSuggestions
	}
	return 0
}
