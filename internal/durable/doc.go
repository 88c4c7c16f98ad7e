// Package durable replaces files so that a crash leaves the old content or the
// new, and never a part of it. It is for the small files that say how far a long
// work is; what is appended to is its owner's to synchronise.
package durable
