package delta

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/indexer/ndjson"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Live reads the served generation. *search.Engine implements it.
type Live interface {
	// Lookup returns the present public records by id, also those that searches do not see yet.
	// Ids that the dataset lacks are missing.
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
	// Children returns the related records of each id as of the last refresh. Every id has an
	// entry.
	Children(ctx context.Context, d catalog.Dataset, ids []string) (map[string]document.Children, error)
	// ProjectsOf calls take, page by page, with the ids of the projects that name one of the
	// accounts, as of the last refresh. It may repeat an id.
	ProjectsOf(ctx context.Context, accounts []string, take func(ids []string) error) error
}

// Tombstones store the ids of deleted records and the updated_at of the deletions for some
// days. *postgres.System implements it.
type Tombstones interface {
	NoteDeleted(ctx context.Context, d catalog.Dataset, deleted map[string]time.Time) error
	Deleted(ctx context.Context, d catalog.Dataset, ids []string) (map[string]time.Time, error)
	ForgetDeleted(ctx context.Context) error
}

// Listener learns which global records changed, after searches see the changes, so that copies
// can follow. It may get a record several times, and unchanged records.
type Listener interface {
	Changed(ctx context.Context, d catalog.Dataset, ids []string) error
}

// File is a file of changes of a dataset.
type File struct {
	Dataset catalog.Dataset
	Path    string
}

// Folder returns the dataset files of a folder, under the names that a load reads. Error:
// fault.BadRequest if there are none.
func Folder(dir string) ([]File, error) {
	var files []File
	for _, d := range ndjson.Datasets {
		path, err := ndjson.Find(dir, d)
		if err != nil {
			return nil, err
		}
		if path != "" {
			files = append(files, File{catalog.Dataset(d), path})
		}
	}
	if len(files) == 0 {
		return nil, fault.New(
			fault.BadRequest, "%s holds no dataset file: none of %s, as .ndjson, .ndjson.gz or .ndjson.zst%s", dir,
			strings.Join(ndjson.Datasets[:], ", "), ndjson.Instead(dir),
		)
	}
	return files, nil
}

// Options configure Apply. Files or Corrected, Elastic, Live and WorkDir are required.
type Options struct {
	// Files are read in this order. Of lines with the same id and updated_at the last one
	// wins.
	Files []File
	// Corrected are files of dead letters, of a load or a delta, in which the records were
	// corrected. They are read after Files.
	Corrected []string
	Elastic   *elastic.Client
	Names     mappings.Names
	Live      Live
	// Tombstones store deletions. Nil means that none are stored.
	Tombstones Tombstones
	// Lease excludes other writers. Nil means that the caller does.
	Lease generation.Lease
	// Listener is notified of changed records. Nil means none.
	Listener Listener
	// Feed publishes the changes of the delta. Nil means that they are not published.
	Feed *feed.Feed
	// Suppressions are the records to leave out. Nil means none.
	Suppressions Suppressions
	// Erase deletes records instead of applying files, also those that an interrupted attempt
	// left. Nil applies Files.
	Erase *Erase
	// WorkDir has the state of the delta, so that it can be resumed. Each installation has one
	// for all its deltas.
	WorkDir string
	// DeadLetters is the path of an NDJSON file for every line and record that was left out,
	// with the reason; an existing file is replaced. "" is a file in WorkDir, written if
	// anything was left out. A resumed delta takes the path of the last call.
	DeadLetters string
	// Abandon abandons an unfinished delta, of this work folder or another.
	Abandon bool
	// Retry bounds how long a backend may be unavailable or busy.
	Retry elastic.Retry
	// Page is how many records are looked up at once. 0 means 500.
	Page int
	// Progress, if set, is called periodically.
	Progress func(indexer.Progress)
	// Log gets events of the delta. Nil means no log.
	Log *slog.Logger
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

// The phases of a delta after indexer.Reading, in their order.
const (
	// Applying counts records as Done and Total, with the dependent ones that are known so far.
	Applying indexer.Phase = "apply"
	// Publishing: the changes are published. No Total.
	Publishing indexer.Phase = "publish"
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Elastic == nil || o.Live == nil:
		return o, fault.New(fault.Internal, "a delta needs an Elasticsearch client and what the served generation has")
	case o.WorkDir == "":
		return o, fault.New(fault.BadRequest, "a delta needs a work folder")
	case len(o.Files)+len(o.Corrected) == 0 && o.Erase == nil:
		return o, fault.New(fault.BadRequest, "a delta needs a file")
	}
	for _, path := range []*string{&o.WorkDir, &o.DeadLetters} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fault.Wrap(err, fault.Internal, "%s cannot be found", *path)
		}
		*path = absolute
	}
	if err := os.MkdirAll(o.WorkDir, 0o700); err != nil {
		return o, fault.Wrap(err, fault.BadRequest, "the work folder %s cannot be made", o.WorkDir)
	}
	if o.Page <= 0 {
		o.Page = 500
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retry.Notify == nil {
		o.Retry.Notify = func(err error, pause time.Duration) {
			o.Log.Warn("a backend cannot take it now, trying again", "error", err, "pause", pause.Round(time.Millisecond).String())
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(indexer.Progress) {}
	}
	return o, nil
}
