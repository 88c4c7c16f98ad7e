// Package permit applies the description of a source to rows: a row becomes a permit with
// the fields of a project and those who take part, or a reason why it does not. It writes
// nothing; package indexer/permits makes records of permits.
package permit
