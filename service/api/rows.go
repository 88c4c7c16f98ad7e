package api

import (
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Rows fetched by a search with a page of one record.
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
