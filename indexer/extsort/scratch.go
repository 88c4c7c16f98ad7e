package indexer

import (
	"log/slog"
	"os"
	"path/filepath"

	"atlas/internal/durable"
	"atlas/internal/fault"
)

// workDir is a folder of temporary files that are of no use to another process.
// A lock that goes with the process tells a folder in use from one that a crash
// left.
type workDir struct {
	path string
	lock *os.File
}

const scratchPrefix = "atlas-scratch-"

func newWorkDir(parent string, log *slog.Logger) (*workDir, error) {
	clearWorkDirs(parent, log)
	path, err := os.MkdirTemp(parent, scratchPrefix)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "no temporary folder can be made in %s", parent)
	}
	lock, err := durable.Lock(filepath.Join(path, lockName), 0o600)
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, fault.Wrap(err, fault.Internal, "the temporary folder %s cannot be used", path)
	}
	return &workDir{path, lock}, nil
}

func (w *workDir) remove() {
	_ = os.RemoveAll(w.path)
	_ = w.lock.Close()
}

// clearWorkDirs removes what processes left that were killed.
func clearWorkDirs(parent string, log *slog.Logger) {
	left, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	for _, path := range left {
		// A folder without a lock is being made just now, or a crash left it empty.
		name := filepath.Join(path, lockName)
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
		_ = lock.Close()
	}
}
