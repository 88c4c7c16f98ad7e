// Package durable replaces files so that a crash leaves the old content or the new, and
// never a part of it, and locks files for as long as a process lives. It is for the small
// files with the progress of a long job. Files that grow are synced by their owners.
package durable
