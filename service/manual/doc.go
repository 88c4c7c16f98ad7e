// Package manual makes web pages of the documentation from Markdown files, and from an
// OpenAPI document a reference that can send its requests. It knows no route and no document
// of Atlas; package api passes both.
//
// Only the reference needs a script. Pages load nothing from other hosts, and are made once.
package manual
