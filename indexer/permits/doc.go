// Package permits turns files of building permits into the four dataset files: a permit
// becomes a project, each firm in it an account, its dates signals. The description of a
// source says what its files mean (package source); next week's file becomes a delta.
//
// It also makes the sample that comes with Atlas (README.md beside this file): the permits
// of Calgary, with made-up contacts, firms and projects.
package permits
