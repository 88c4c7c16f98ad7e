// Package searchtest tests searches on a real Elasticsearch: it reads fixture files
// of records and cases, builds the documents of the records with their children,
// loads them into indices of the test, and checks that a search returns what a
// case wants, in one page and paged to the end.
//
// One fixture serves all kinds of searches (Data search, book, saved View, HTTP):
// each has its own Search function. The package is for tests only.
package searchtest
