package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrLocked is the error of a file that another process has locked.
var ErrLocked = errors.New("another process has locked it")

// Lock opens or creates a file and locks it. The lock ends with Unlock, and
// with the process. It does not wait: for a locked file it returns ErrLocked.
func Lock(path string, mode fs.FileMode) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode) // #nosec G304 -- the caller chooses the path
		if err != nil {
			return nil, err
		}
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			var opened, named fs.FileInfo
			if opened, err = file.Stat(); err == nil {
				if named, err = os.Stat(path); err == nil && os.SameFile(opened, named) {
					return file, nil
				}
			}
		}
		_ = file.Close()
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, ErrLocked
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		// Between opening and locking, the previous holder removed or renamed the file.
	}
}

// Unlock ends the lock and closes the file. To close it alone is not enough: a process that is
// being started has a copy of the file until its program begins.
func Unlock(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}
