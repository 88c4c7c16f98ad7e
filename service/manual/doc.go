// Package manual makes web pages of the documentation: of Markdown files, and of an
// OpenAPI document a reference that can send its requests. It knows no route and no
// document of Atlas; package api gives it both.
//
// Pages need no script but those of the reference, load nothing from other hosts, and are
// made once.
package manual
