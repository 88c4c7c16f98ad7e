package delta

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer"
	"atlas/indexer/generation"
	"atlas/indexer/ndjson"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/document"
	"atlas/search/query"
)

// Live tells what the served generation has. *search.Engine does.
type Live interface {
	// Lookup returns the public records of ids as they are now, whatever
	// searches see; ids that the dataset has not are missing.
	Lookup(ctx context.Context, d query.Dataset, ids []string) (map[string]jsontext.Value, error)
	// Children finds the related records of records as the last refresh has
	// them. Every id has an entry.
	Children(ctx context.Context, d query.Dataset, ids []string) (map[string]document.Children, error)
}

// Tombstones remember for some days which records were deleted, each with the
// updated_at of its deletion. *postgres.System does.
type Tombstones interface {
	NoteDeleted(ctx context.Context, d query.Dataset, deleted map[string]time.Time) error
	Deleted(ctx context.Context, d query.Dataset, ids []string) (map[string]time.Time, error)
	ForgetDeleted(ctx context.Context) error
}

// Listener hears which global records changed, after searches see the changes,
// so that what is kept of them elsewhere can follow. It may hear of a record
// several times, and of one that did not change.
type Listener interface {
	Changed(ctx context.Context, d query.Dataset, ids []string) error
}

// File is a file of changes of a dataset.
type File struct {
	Dataset query.Dataset
	Path    string
}

// Folder lists the files of a folder's datasets, under the names that a load
// reads. Not one: fault.BadRequest.
func Folder(dir string) ([]File, error) {
	var files []File
	for _, d := range ndjson.Datasets {
		path, err := ndjson.Find(dir, d)
		if err != nil {
			return nil, err
		}
		if path != "" {
			files = append(files, File{query.Dataset(d), path})
		}
	}
	if len(files) == 0 {
		return nil, fault.New(fault.BadRequest, "%s holds no dataset file: none of %s, as .ndjson, .ndjson.gz or .ndjson.zst", dir, ndjson.Datasets)
	}
	return files, nil
}

// Options say what to apply and where to. Files or Mended, Elastic, Live
// and WorkDir are required.
type Options struct {
	// Files are read in this order, which decides between lines with the same id
	// and the same updated_at: the last one counts.
	Files []File
	// Mended are files of dead letters: lines that were left out of a load or a
	// delta and were mended since. They are read after Files.
	Corrected []string
	Elastic   *elastic.Client
	Names     mappings.Names
	Live      Live
	// Tombstones remember deletions; nil: nothing does.
	Tombstones Tombstones
	// Lease keeps other writers out. Nil: the caller does.
	Lease generation.Lease
	// Listener is told of what changed. Nil: nobody is.
	Listener Listener
	// WorkDir keeps the delta while it is being applied, so that one that was
	// killed can go on. It belongs to one installation, and outlives deltas.
	WorkDir string
	// DeadLetters is the path of an NDJSON file for every line and record that was
	// left out, with the reason; "": a file in WorkDir, when there is something to
	// write. It is replaced when it is there, and has to be a file. Of a delta that
	// goes on it is what counts, and not what an earlier call said.
	DeadLetters string
	// Abandon gives up a delta that was begun and not finished, here or elsewhere.
	Abandon bool
	// Retry is how long a backend that is away or busy is borne.
	Retry elastic.Retry
	// Page is how many records are looked up at once; 0 means 500.
	Page int
	// Progress, when set, is called now and then.
	Progress func(indexer.Progress)
	// Log hears what is worth knowing meanwhile; nil: nothing.
	Log *slog.Logger
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

// The phases of a delta after indexer.Reading, in their order.
const (
	// Applying: Done and Total are records, those that follow included as far
	// as they are known.
	Applying indexer.Phase = "apply"
	// Telling: who keeps copies is told. No Total.
	Notifying indexer.Phase = "tell"
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Elastic == nil || o.Live == nil:
		return o, fault.New(fault.Internal, "a delta needs an Elasticsearch client and what the served generation has")
	case o.WorkDir == "":
		return o, fault.New(fault.BadRequest, "a delta needs a work folder")
	case len(o.Files)+len(o.Corrected) == 0:
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
