package extsort

import (
	"log/slog"
	"os"
	"path/filepath"

	"atlas/internal/durable"
	"atlas/internal/fault"
)

// Scratch is a folder of temporary files that no other process needs. It is locked while
// its process lives: without a lock it is left from a crash.
type Scratch struct {
	Path string
	lock *os.File
}

const scratchPrefix = "atlas-scratch-"

// NewScratch makes a folder in parent, creates parent if needed, and removes the folders
// there that crashes left.
func NewScratch(parent string, log *slog.Logger) (*Scratch, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "no temporary folder can be made in %s", parent)
	}
	removeAbandoned(parent, log)
	path, err := os.MkdirTemp(parent, scratchPrefix)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "no temporary folder can be made in %s", parent)
	}
	lock, err := durable.Lock(filepath.Join(path, "lock"), 0o600)
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, fault.Wrap(err, fault.Internal, "the temporary folder %s cannot be used", path)
	}
	return &Scratch{path, lock}, nil
}

// Remove removes the folder.
func (s *Scratch) Remove() {
	_ = os.RemoveAll(s.Path)
	_ = durable.Unlock(s.lock)
}

// ScratchFolders lists the folders of Scratches in parent.
func ScratchFolders(parent string) []string {
	paths, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	return paths
}

// removeAbandoned removes the folders of processes that were killed.
func removeAbandoned(parent string, log *slog.Logger) {
	for _, path := range ScratchFolders(parent) {
		// A folder without a lock is just being created, or a crash left it empty.
		name := filepath.Join(path, "lock")
		if _, err := os.Stat(name); err != nil {
			continue
		}
		lock, err := durable.Lock(name, 0o600)
		if err != nil {
			continue
		}
		if err := os.RemoveAll(path); err == nil {
			log.Info("removed temporary files of a process that was killed", "folder", path)
		}
		_ = durable.Unlock(lock)
	}
}
