// Package openapi is the model of an OpenAPI 3.1 document: the objects that Atlas uses of it,
// as Go values that marshal in the order in which they were written.
//
// It knows no route and no field of Atlas: package api describes those. It writes documents
// and does not read them.
package openapi
