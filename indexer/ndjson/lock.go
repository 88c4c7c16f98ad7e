package ndjson

import (
	"errors"
	"os"
	"syscall"

	"atlas/internal/fault"
)

// createLocked opens the file for writing and locks it, so that two processes
// with the same output folder do not write into one file. The lock goes with
// the process.
func createLocked(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) // #nosec G302 G304 -- holds nothing; others that may read the folder see the lock; a file that who runs the command names
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "%s cannot be created", path)
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			_ = file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fault.New(fault.BadRequest, "%s is being written by another process", path)
			}
			return nil, fault.Wrap(err, fault.Internal, "%s cannot be locked", path)
		}
		// Between opening and locking, the writer before us may have given the
		// file its final name: what is locked now would be its finished file.
		opened, err := file.Stat()
		if err == nil {
			var named os.FileInfo
			if named, err = os.Stat(path); err == nil && os.SameFile(opened, named) {
				err = file.Truncate(0)
				if err == nil {
					return file, nil
				}
			} else if err == nil || os.IsNotExist(err) {
				_ = file.Close()
				continue
			}
		}
		_ = file.Close()
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be created", path)
	}
}
