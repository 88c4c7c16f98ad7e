// Package guess writes a description of a file that nobody has seen: from the names of its
// columns and from its values. What it is sure of and what it is not stands in comments. It
// shows no cell of a column of persons.
package guess
