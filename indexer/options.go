package indexer

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/changes"
)

// Phase is a part of a load.
type Phase string

// The phases of a load, in their order.
const (
	Reading  Phase = "read"   // files are read, checked and sorted; Done and Total are bytes
	Indexing Phase = "index"  // documents are built and written; Done and Total are records
	Ending   Phase = "finish" // indices are refreshed, counted and switched; no Total
)

// Progress is the progress of a load.
type Progress struct {
	Phase       Phase
	Done, Total int64
	// Given is the part of Done that other processes had completed before this one resumed
	// the load.
	Given int64
	// Records is how many records this process has processed in the phase.
	Records int64
	// Elapsed is the time since this process began the phase.
	Elapsed time.Duration

	// The following count all phases of this process: acknowledged documents, the bytes of
	// their requests, requests that were retried in whole or in part, lines and documents
	// that were left out. BatchBytes is the current size of a request.
	Documents, Bytes, Retries, DeadLetters, BatchBytes int64
}

// Left estimates the rest of the phase from its speed so far. Zero means unknown.
func (p Progress) Left() time.Duration {
	if p.Total <= 0 || p.Done <= p.Given {
		return 0
	}
	return time.Duration(float64(p.Elapsed) * float64(p.Total-p.Done) / float64(p.Done-p.Given))
}

// Options configure Load. Dir and Elastic are required.
type Options struct {
	// Dir is the folder with the dataset files.
	Dir     string
	Elastic *elastic.Client
	Names   mappings.Names
	// Settings apply to the new indices once they are served. While a load fills
	// them, Elasticsearch does not refresh them, and on a single node they have no
	// replicas.
	Settings mappings.Settings
	// Unreplicated fills the new indices without replicas, on any number of nodes. That is
	// faster, but the loss of a node ends the load.
	Unreplicated bool
	// Lease excludes other writers. Nil means that the caller does.
	Lease generation.Lease
	// Listener is notified of the switch. Nil means none.
	Listener generation.Listener
	// Feed publishes how the new generation differs from the previous one. Nil means that
	// nothing is published.
	Feed Feed
	// Suppressions are the records to leave out. Nil means none.
	Suppressions Suppressions
	// AllowMissing loads a dataset without a file as an empty one. Without it the
	// load refuses a missing file.
	AllowMissing bool
	// DeadLetters is the path of an NDJSON file with every line and document that was left
	// out, and the reason. "" means dead-letters.ndjson in the work folder, where it
	// remains if it is not empty.
	DeadLetters string
	// WorkDir is the folder for sorted records (about twice the size of the unpacked
	// input) and checkpoints. Load resumes the load that it finds there. "" means a
	// folder in TempDir for each pair of Dir and Names.Prefix. A finished load
	// removes it.
	WorkDir string
	// TempDir contains that folder. "" means the user's cache folder.
	TempDir string
	// Restart drops an unfinished load of WorkDir instead of resuming it.
	Restart bool
	// CheckpointRecords is the number of records between two checkpoints. A resumed load
	// repeats the work after the last one. 0 means 100,000.
	CheckpointRecords int64
	// MinShare is the minimum size of each new index, as a share of the served
	// records. A load does not switch searches to a smaller one. 0 allows any size.
	MinShare float64
	// Force ignores MinShare.
	Force bool
	// Workers is the number of goroutines that read lines and build documents. 0
	// means one for each processor.
	Workers int
	// Senders is the number of concurrent `_bulk` requests. 0 means 2.
	Senders int
	// BatchBytes is the size of a `_bulk` request, exceeded by less than a document.
	// 0 means 4 MiB.
	BatchBytes int
	// SortMemory is the memory for sorting, in bytes. 0 means 64 MiB.
	SortMemory int
	// Retry bounds how long Elasticsearch may be unavailable or busy.
	Retry elastic.Retry
	// Progress, when set, is called a few times a second, from one goroutine at
	// a time.
	Progress func(Progress)
	// Log gets events of the load. Nil means no log.
	Log *slog.Logger
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

// Feed is a generation.Feed that also stores merges of records. *feed.Feed implements it.
type Feed interface {
	generation.Feed
	// Merges returns the targets of those records that have a published merge.
	Merges(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
	// NoteMerges stores merges of a generation that is not served yet. The first call for a
	// dataset sets first.
	NoteMerges(ctx context.Context, generation string, d catalog.Dataset, merges []changes.Change, first bool) error
	// UseDigests says how to read the ids and digests of the documents of a generation that
	// was just loaded; open returns nil if they are not known.
	UseDigests(generation string, open func(context.Context, catalog.Dataset) (*extsort.Iterator, error))
}

// maxBatchDocs bounds a `_bulk` request of small documents.
const maxBatchDocs = 5_000

func (o Options) withDefaults() (Options, error) {
	if o.Elastic == nil {
		return o, fault.New(fault.Internal, "a load needs an Elasticsearch client")
	}
	info, err := os.Stat(o.Dir)
	switch {
	case err != nil:
		return o, fault.Wrap(err, fault.BadRequest, "the folder %s cannot be read", o.Dir)
	case !info.IsDir():
		return o, fault.New(fault.BadRequest, "%s is not a folder", o.Dir)
	}
	if o.TempDir == "" {
		o.TempDir = DefaultTempDir()
	}
	if o.WorkDir == "" {
		if o.WorkDir, err = defaultWorkDir(o.TempDir, o.Dir, o.Names.Prefix); err != nil {
			return o, err
		}
	}
	if o.DeadLetters == "" {
		o.DeadLetters = filepath.Join(o.WorkDir, deadLettersName)
	} else if o.DeadLetters, err = filepath.Abs(o.DeadLetters); err != nil {
		return o, fault.Wrap(err, fault.BadRequest, "the dead letters cannot be written to %s", o.DeadLetters)
	}
	if o.CheckpointRecords <= 0 {
		o.CheckpointRecords = 100_000
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Senders <= 0 {
		o.Senders = 2
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 4 << 20
	}
	if o.SortMemory <= 0 {
		o.SortMemory = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retry.Pace == nil {
		o.Retry.Pace = elastic.NewPace(o.BatchBytes)
	}
	if o.Retry.Notify == nil {
		o.Retry.Notify = func(err error, pause time.Duration) {
			o.Log.Warn("elasticsearch cannot take it now, trying again", "error", err, "pause", pause.Round(time.Millisecond).String())
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
