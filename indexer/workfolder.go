package indexer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/google/uuid"

	"atlas/indexer/generation"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// workFolder stores a load that can be resumed: sorted files, the manifest that identifies
// it and the checkpoint with its progress. A lock excludes a second process. Other files in
// the folder are left alone.
type workFolder struct {
	path string
	lock *os.File
}

// The files of a work folder.
const (
	workPrefix      = "atlas-load-"
	lockName        = "lock"
	holderName      = "holder"
	manifestName    = "manifest.json"
	checkpointName  = "checkpoint.json"
	deadLettersName = "dead-letters.ndjson"
)

// temporaryFile matches the temporary files of a load: files of any sorter, whose names
// begin with a dataset, collected dead letters, and partial replacements of files.
var temporaryFile = regexp.MustCompile(`^(accounts|contacts|projects|signals)(-[a-z]+)*-\d{5,}\.run$|^letters-\d+\.tmp$|^\.(manifest\.json|checkpoint\.json|holder)\.\d+$`)

// defaultWorkDir is the default work folder for a folder of records and a prefix.
// It is the same each time, so that a load finds the previous one.
func defaultWorkDir(parent, dir, prefix string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.Wrap(err, fault.BadRequest, "the folder %s cannot be found", dir)
	}
	key := sha256.Sum256([]byte(dir + "\x00" + prefix))
	return filepath.Join(parent, workPrefix+hex.EncodeToString(key[:8])), nil
}

// DefaultTempDir is the user's cache folder, which survives a restart of the
// machine, or else the system's folder of temporary files.
func DefaultTempDir() string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "atlas")
	}
	return os.TempDir()
}

// openWorkFolder creates the folder, or takes it over from a process that ended.
// Error: fault.BadRequest for a folder in use.
func openWorkFolder(path string) (*workFolder, error) {
	unusable := func(err error) error {
		return fault.Wrap(err, fault.Internal, "the work folder %s cannot be used", path)
	}
	for {
		// Records can be about people, so only the owner reads the folder.
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, unusable(err)
		}
		if info, err := os.Stat(path); err != nil {
			return nil, unusable(err)
		} else if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Geteuid() && os.Geteuid() != 0 {
			return nil, unusable(errors.New("it is another user's"))
		}
		lock, err := durable.Lock(filepath.Join(path, lockName), 0o600)
		switch {
		case err == nil:
			return &workFolder{path, lock}, nil
		case errors.Is(err, fs.ErrNotExist):
			continue // its last user has just removed the folder
		case errors.Is(err, durable.ErrLocked):
			return nil, fault.New(fault.BadRequest, "the work folder %s is in use by another load", path)
		default:
			return nil, unusable(err)
		}
	}
}

func (s *workFolder) close() { _ = durable.Unlock(s.lock) }

func (s *workFolder) file(name string) string { return filepath.Join(s.path, name) }

// holder is the name under which loads of this folder hold the lease: the process
// that has locked the folder may take over the lease of the previous one.
func (s *workFolder) holder() (string, error) {
	if raw, err := os.ReadFile(s.file(holderName)); err == nil && len(raw) > 0 {
		return string(raw), nil
	}
	holder := generation.Host() + ", load in " + s.path + " " + uuid.NewString()
	return holder, s.saved(holderName, durable.Replace(s.file(holderName), []byte(holder)))
}

// save replaces a file with a value.
func (s *workFolder) save(name string, value any) error {
	return s.saved(name, durable.ReplaceJSON(s.file(name), value))
}

func (s *workFolder) saved(name string, err error) error {
	if err != nil {
		return fault.Wrap(err, fault.Internal, "%s cannot be written", s.file(name))
	}
	return nil
}

// read reads what save wrote. It returns false when there is no file.
func (s *workFolder) read(name string, into any) (bool, error) {
	found, err := durable.ReadJSON(s.file(name), into)
	if err != nil {
		return false, fault.Wrap(err, fault.BadRequest,
			"%s cannot be read; load anew (--restart) to do without it", s.file(name))
	}
	return found, nil
}

// removeOrphans removes files of a load that the checkpoint does not name.
func (s *workFolder) removeOrphans(named map[string]bool) {
	entries, _ := os.ReadDir(s.path)
	for _, e := range entries {
		if temporaryFile.MatchString(e.Name()) && !named[e.Name()] {
			_ = os.Remove(s.file(e.Name()))
		}
	}
}

// clear removes the files of a load, and its dead letters unless keepDeadLetters is
// set.
func (s *workFolder) clear(keepDeadLetters bool) {
	// The checkpoint goes first: the files that it names exist as long as it does.
	// The holder's name stays, because the lease may be held under it.
	_ = os.Remove(s.file(checkpointName))
	_ = os.Remove(s.file(manifestName))
	s.removeOrphans(nil)
	if !keepDeadLetters {
		_ = os.Remove(s.file(deadLettersName))
	}
}

// remove clears the folder, and removes it if it is then empty.
func (s *workFolder) remove(keepDeadLetters bool) {
	s.clear(keepDeadLetters)
	_ = os.Remove(s.file(holderName))
	_ = os.Remove(s.file(lockName))
	_ = os.Remove(s.path)
}

// removeEmpty removes a folder without a load.
func (s *workFolder) removeEmpty() {
	if _, err := os.Stat(s.file(manifestName)); errors.Is(err, fs.ErrNotExist) {
		s.remove(true)
	}
}

// otherLoads calls f with the manifest of every unfinished load whose work folder
// is in parent. Running loads have their folder locked, and are left out.
func otherLoads(parent, except string, f func(*workFolder, manifest)) {
	for _, path := range WorkFolders(parent) {
		if path == except {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, manifestName)); err != nil {
			continue
		}
		s, err := openWorkFolder(path)
		if err != nil {
			continue
		}
		var m manifest
		if found, err := s.read(manifestName, &m); found && err == nil {
			f(s, m)
		}
		s.close()
	}
}
