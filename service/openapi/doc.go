// Package openapi is the model of an OpenAPI 3.1 document: the objects that Atlas
// uses of it, as Go values that marshal to it in the order they were written in.
//
// It knows no route and no field of Atlas: package api describes those. It
// writes documents and does not read them.
package openapi
