package delta

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"atlas/indexer/journal"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// checkDeadLettersPath refuses an unusable path for dead letters before any work is done. The
// path may be that of an existing file, but not of an input, a device, a pipe, a link or a
// folder.
func checkDeadLettersPath(path string, inputs []inputStamp) error {
	if err := replaceable(path); err != nil {
		return fault.Wrap(err, fault.BadRequest, "the dead letters cannot be written to %s", path)
	}
	there, err := os.Lstat(path)
	for _, in := range inputs {
		given, statErr := os.Stat(in.Path)
		if in.Path == path || err == nil && statErr == nil && os.SameFile(there, given) {
			return fault.New(fault.BadRequest, "the dead letters cannot be written to %s, which is to be read", path)
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".dead-letters-*")
	if err != nil {
		return fault.Wrap(err, fault.BadRequest, "the dead letters cannot be written to %s", path)
	}
	_ = temp.Close()
	_ = os.Remove(temp.Name())
	return nil
}

var errNoFile = errors.New("it is there and is no file, but a device, a pipe, a link or a folder")

// replaceable returns nil if a file can be renamed to a path.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNoFile
	default:
		return nil
	}
}

// openDeadLetters continues the file of dead letters after its first size bytes.
func (a *apply) openDeadLetters(size int64) (err error) {
	if a.deadLetters, err = journal.OpenDeadLetters(a.folder.deadLetters(), size); err != nil {
		return unusable(err, a.folder.deadLetters())
	}
	return nil
}

// syncDeadLetters syncs the file to disk and stores its length in the state.
func (a *apply) syncDeadLetters() error {
	if err := a.deadLetters.Sync(); err != nil {
		return unusable(err, a.folder.deadLetters())
	}
	a.state.DeadLetterBytes = a.deadLetters.Size()
	return nil
}

// copyDeadLetters copies the dead letters to the requested path, atomically.
func (a *apply) copyDeadLetters(path string) error {
	if err := replaceable(path); err != nil {
		return err
	}
	file, err := os.Open(a.folder.deadLetters())
	if err != nil {
		return err
	}
	defer file.Close()
	return durable.ReplaceFrom(path, file)
}

// redirect sets where an interrupted delta writes its dead letters: to the path of this call if
// it is the same delta. The dead letters of another delta must not replace those of this call
// or one of its inputs.
func (a *apply) redirect(before *state) {
	switch to := before.DeadLettersTo; {
	case equalInputs(before.Inputs, a.inputs):
		if a.DeadLetters != "" {
			before.DeadLettersTo = a.DeadLetters
		}
	case to == a.DeadLetters || slices.ContainsFunc(a.inputs, func(in inputStamp) bool { return in.Path == to }):
		before.DeadLettersTo = ""
	}
}
