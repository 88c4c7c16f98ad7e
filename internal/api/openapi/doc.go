// Package openapi is the model of an OpenAPI 3.1 document: the objects that Atlas
// uses of it, as Go values that marshal to it in the order they were written in,
// and constructors for the schemas (JSON Schema 2020-12) in it.
//
// It knows no route and no field of Atlas: package api describes those. It
// serves writing documents, not reading them.
package openapi
