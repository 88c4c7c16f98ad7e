// Package architecture has no code of its own: its test holds the imports of
// all packages against the table of docs/architecture.md, "Packages".
package architecture
