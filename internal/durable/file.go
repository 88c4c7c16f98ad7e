package durable

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace gives a file new content, as a whole or not at all, readable by its owner only.
// The content is on disk when Replace returns without an error.
//
// The content is first written to a hidden file of the same folder with a random name: a
// fixed name could be another file's.
func Replace(path string, content []byte) error {
	return ReplaceFrom(path, bytes.NewReader(content))
}

// ReplaceFrom is Replace with the content of a reader.
func ReplaceFrom(path string, content io.Reader) error {
	folder, name := filepath.Split(path)
	folder = filepath.Clean(folder)
	f, err := os.CreateTemp(folder, "."+name+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncFolder(folder)
}

// SyncFolder makes the names in a folder durable: of files that were created,
// renamed or removed.
func SyncFolder(path string) error {
	dir, err := os.Open(path) // #nosec G304 -- a folder of a file just written
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
