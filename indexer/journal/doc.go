// Package journal stores what a long job leaves out: the dead letters, a file that grows
// with the job and is cut to the length that a checkpoint names (docs/data.md, "Dead
// letters"). Loads and deltas share it.
//
// It does not decide what is left out, and writes no checkpoints: those are small files
// that internal/durable replaces.
package journal
