// Package guess writes a description of an unknown file, from the names of its columns and
// from its values. Comments say what is certain and what is not. It shows no cell of a
// column about persons.
package guess
