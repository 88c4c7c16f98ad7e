// Package permit applies the description of a source to rows: a row becomes a permit with
// the fields of a project and the participants, or a reason why not. It writes nothing;
// package indexer/permits makes records of permits.
package permit
