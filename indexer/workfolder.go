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

// store is the work folder of a load that can be resumed: what was read and
// sorted, a manifest of what it is about, and a checkpoint of how far it is. A
// lock that goes with the process keeps a second one out. The folder may hold
// other files, which are left alone.
type workFolder struct {
	path string
	lock *os.File
}

// Files of a work folder. Nothing else in it is touched.
const (
	workPrefix     = "atlas-load-"
	lockName       = "lock"
	holderName     = "holder"
	manifestName   = "manifest.json"
	checkpointName = "checkpoint.json"
	lettersName    = "dead-letters.ndjson"
)

var temporaryFile = regexp.MustCompile(`^(accounts|contacts|projects|signals)(-(accounts|contacts|projects|signals))?-\d{5,}\.run$|^letters-\d+\.tmp$|^\.(manifest\.json|checkpoint\.json|holder)\.\d+$`)

// defaultWorkDir is where a load of a folder into a prefix works when nobody
// says otherwise: the same place each time, so that it is found again.
func defaultWorkDir(parent, dir, prefix string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.Wrap(err, fault.BadRequest, "the folder %s cannot be found", dir)
	}
	key := sha256.Sum256([]byte(dir + "\x00" + prefix))
	return filepath.Join(parent, workPrefix+hex.EncodeToString(key[:8])), nil
}

// DefaultTempDir is a folder of the user's that survives a restart of the
// machine where there is one.
func DefaultTempDir() string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "atlas")
	}
	return os.TempDir()
}

// openStore makes the folder, or takes it over from a process that ended. One
// that is in use is a BadRequest error.
func openWorkFolder(path string) (*workFolder, error) {
	unusable := func(err error) error {
		return fault.Wrap(err, fault.Internal, "the work folder %s cannot be used", path)
	}
	for {
		// Records may be about people: the folder is its owner's.
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

func (s *workFolder) close() { _ = s.lock.Close() }

func (s *workFolder) file(name string) string { return filepath.Join(s.path, name) }

// holder is a name for the lease that is the folder's own: whoever has the lock
// of the folder may take the lease over from the one who had it before.
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

// removeStray removes files of a load that the checkpoint does not name.
func (s *workFolder) removeOrphans(named map[string]bool) {
	entries, _ := os.ReadDir(s.path)
	for _, e := range entries {
		if temporaryFile.MatchString(e.Name()) && !named[e.Name()] {
			_ = os.Remove(s.file(e.Name()))
		}
	}
}

// clear removes what there is of a load. Its dead letters stay when they are
// wanted; the folder goes when nothing is left.
func (s *workFolder) clear(keepLetters bool) {
	// The checkpoint goes first: what it names is there as long as it is. The
	// holder's name stays, because the lease may be held under it.
	_ = os.Remove(s.file(checkpointName))
	_ = os.Remove(s.file(manifestName))
	s.removeOrphans(nil)
	if !keepLetters {
		_ = os.Remove(s.file(lettersName))
	}
}

// remove is clear and the end of the folder, if it is empty then.
func (s *workFolder) remove(keepLetters bool) {
	s.clear(keepLetters)
	_ = os.Remove(s.file(holderName))
	_ = os.Remove(s.file(lockName))
	_ = os.Remove(s.path)
}

// removeEmpty removes a folder that holds no load.
func (s *workFolder) removeEmpty() {
	if _, err := os.Stat(s.file(manifestName)); errors.Is(err, fs.ErrNotExist) {
		s.remove(true)
	}
}

// otherLoads calls f with the manifest of every load that was not finished and
// whose work folder is in a folder. Those at work are locked, and left out.
func otherLoads(parent, except string, f func(*workFolder, manifest)) {
	paths, _ := filepath.Glob(filepath.Join(parent, workPrefix+"*"))
	for _, path := range paths {
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
