package indexer

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"atlas/internal/durable"
	"atlas/mappings"
	"atlas/search/catalog"
)

// UnfinishedLoad is the progress of a load at its last checkpoint.
type UnfinishedLoad struct {
	// WorkDir is the folder to resume it from. Holder is the name under which its process
	// holds the lease.
	WorkDir string `json:"work_dir"`
	Holder  string `json:"-"`
	// Generation is filled from the files in Dir.
	Generation string    `json:"generation"`
	Dir        string    `json:"dir"`
	Started    time.Time `json:"started"`
	// Done and Total count records in the phase Indexing. In the phase Reading,
	// Done counts lines and there is no Total.
	Phase Phase `json:"phase"`
	Done  int64 `json:"done"`
	Total int64 `json:"total,omitzero"`
	// Resumed counts the processes that resumed it. Seconds is the time of all of them.
	Resumed int     `json:"resumed"`
	Seconds float64 `json:"seconds"`
}

// WorkFolders lists the work folders of loads in a folder of temporary files.
func WorkFolders(tempDir string) []string {
	paths, _ := filepath.Glob(filepath.Join(tempDir, workPrefix+"*"))
	return paths
}

// UnfinishedLoads lists the loads into an installation's indices that have a work
// folder on this machine: in tempDir ("" means the user's cache folder, as for a
// load) or in workDirs. It only reads, so it does not disturb running loads. It
// leaves out a load whose files are being replaced.
func UnfinishedLoads(names mappings.Names, tempDir string, workDirs ...string) []UnfinishedLoad {
	found := WorkFolders(cmp.Or(tempDir, DefaultTempDir()))
	loads := []UnfinishedLoad{}
	for _, path := range slices.Concat(found, workDirs) {
		var m manifest
		if ok, _ := durable.ReadJSON(filepath.Join(path, manifestName), &m); !ok || m.Prefix != names.Prefix {
			continue
		}
		l := UnfinishedLoad{WorkDir: path, Generation: m.Generation, Started: m.Started.UTC(), Phase: Reading}
		for _, in := range m.Inputs {
			if in.Path != "" {
				l.Dir = filepath.Dir(in.Path)
			}
		}
		holder, _ := os.ReadFile(filepath.Join(path, holderName)) // #nosec G304 -- a file of the work folder
		l.Holder = string(holder)
		s := newState()
		if ok, _ := durable.ReadJSON(filepath.Join(path, checkpointName), s); ok {
			l.progress(s)
		}
		loads = append(loads, l)
	}
	return loads
}

func (l *UnfinishedLoad) progress(s *state) {
	l.Resumed, l.Seconds = s.Resumed, s.Seconds
	read, indexed, lines := true, true, int64(0)
	for _, d := range catalog.Datasets {
		at := s.Datasets[d]
		if at == nil {
			return
		}
		read, indexed = read && at.Read, indexed && at.Indexed
		lines += at.Lines
		l.Done += at.Documents + at.Refused + at.Replaced + at.Merged + at.BadMerges + at.Suppressed
		for _, run := range at.Runs {
			l.Total += run.Entries
		}
	}
	switch {
	case !read:
		l.Phase, l.Done, l.Total = Reading, lines, 0
	case !indexed:
		l.Phase = Indexing
	default:
		l.Phase = Ending
	}
}

// InUse reports whether a process has locked the folder. It takes the lock for a
// moment, so call it only for a load that may be running. A lock that cannot be
// opened counts as in use.
func (l UnfinishedLoad) InUse() bool {
	lock, err := os.Open(filepath.Join(l.WorkDir, lockName))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer durable.Unlock(lock) //nolint:errcheck // a lock
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
