// Package architecture has no code of its own: its tests compare the imports of all
// packages with the table of docs/architecture.md, "Packages", and check the length of
// lines.
package architecture
