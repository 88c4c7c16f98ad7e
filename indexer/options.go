package indexer

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
)

// Phase is a part of a load.
type Phase string

// The phases of a load, in their order.
const (
	Reading  Phase = "read"   // files are read, checked and sorted; Done and Total are bytes
	Indexing Phase = "index"  // documents are built and written; Done and Total are records
	Ending   Phase = "finish" // indices are refreshed, counted and switched; no Total
)

// Progress is how far a load is.
type Progress struct {
	Phase       Phase
	Done, Total int64
	// Given is how much of Done another process had done, before this one
	// resumed the load.
	Given int64
	// Records is how many records this process has dealt with in the phase.
	Records int64
	// Elapsed is the time since this process began with the phase.
	Elapsed time.Duration

	// The following are of all phases, and of this process: documents that were
	// acknowledged, bytes of requests for them, requests of which all or some
	// had to be sent again, lines and documents that were left out, and how
	// large a request is by now.
	Documents, Bytes, Retries, DeadLetters, BatchBytes int64
}

// Left is the time that the rest of the phase takes at its speed so far; zero
// when that is not known.
func (p Progress) Left() time.Duration {
	if p.Total <= 0 || p.Done <= p.Given {
		return 0
	}
	return time.Duration(float64(p.Elapsed) * float64(p.Total-p.Done) / float64(p.Done-p.Given))
}

// Options say what to load and where to. Dir and Elastic are required.
type Options struct {
	// Dir is the folder with the dataset files.
	Dir     string
	Elastic *elastic.Client
	Names   mappings.Names
	// Settings are those of the new indices once they are served. While they
	// are filled they are not refreshed, and on a single node have no replicas.
	Settings mappings.Settings
	// Unreplicated keeps no copies of the new indices while they are filled,
	// also where there is more than one node to hold them. That is faster, and
	// the loss of a node ends the load.
	Unreplicated bool
	// Lease keeps other writers out. Nil: the caller does.
	Lease generation.Lease
	// Listener is told of the switch. Nil: nobody is.
	Listener generation.Listener
	// AllowMissing lets a dataset without a file be loaded as an empty one;
	// otherwise it refuses the load.
	AllowMissing bool
	// DeadLetters is the path of an NDJSON file for every line and document that
	// was left out, with the reason; "" means dead-letters.ndjson in the work
	// folder, which stays there when something was left out.
	DeadLetters string
	// WorkDir is the folder for what is read and sorted, about twice the size of
	// the unpacked input, and for the checkpoints: Load goes on with the load that
	// it finds there. "" means a folder of its own in TempDir for each pair of Dir
	// and Names.Prefix. When the load is finished it is removed.
	WorkDir string
	// TempDir is where that folder is; "" means the user's folder for caches.
	TempDir string
	// Restart drops an unfinished load of WorkDir instead of going on with it.
	Restart bool
	// CheckpointRecords is how many records there are between two checkpoints; a
	// load that is resumed does again what came after the last one. 0 means
	// 100,000.
	CheckpointRecords int64
	// MinShare is how large the new generation of each dataset must be, as a share
	// of the records that are served, for searches to be switched to it. 0 means
	// that it may be of any size.
	MinShare float64
	// Force switches whatever MinShare says.
	Force bool
	// Workers is how many goroutines read lines and build documents; 0 means
	// one for each processor.
	Workers int
	// Senders is how many `_bulk` requests are under way at once; 0 means 2.
	Senders int
	// BatchBytes is how large a `_bulk` request gets, give or take a document;
	// 0 means 4 MiB.
	BatchBytes int
	// SortMemory is what sorting holds in memory, in bytes; 0 means 64 MiB.
	SortMemory int
	// Retry is how long an Elasticsearch that is away or busy is borne.
	Retry elastic.Retry
	// Progress, when set, is called a few times a second, from one goroutine at
	// a time.
	Progress func(Progress)
	// Log hears what is worth knowing while the load goes on; nil: nothing.
	Log *slog.Logger
	// Now is the clock; nil means the system's.
	Now func() time.Time
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
		o.DeadLetters = filepath.Join(o.WorkDir, lettersName)
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
