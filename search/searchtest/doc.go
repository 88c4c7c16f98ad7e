// Package searchtest lets tests search a small world on the real
// Elasticsearch: it reads fixture files of records and cases, builds the
// documents of the records with their children, loads them into indices of the
// test's own, and holds a search to a case, in one page and paged to the end.
//
// One fixture serves every entrance (Data search, book, saved View, HTTP): each
// brings its own Search function. The package is for tests only.
package searchtest
