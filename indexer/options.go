package indexer

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
)

// Lease lets one writer of global records work at a time, across processes and
// machines.
type Lease interface {
	// WithLease runs work while who holds the lease of that name, and ends the
	// context of work, with a cause, when the lease is lost. A lease that
	// another one holds is an error that says who, and work is not run. After a
	// crash the lease is free again within ttl.
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

// LeaseName is the lease of everything that writes global records.
const LeaseName = "writing global records"

const leaseTTL = 30 * time.Second

// Listener hears that global records changed, so that what is kept of them
// elsewhere can follow. It is told after searches see the change, never before.
type Listener interface {
	// Switched says that all records may have changed: searches go to a new
	// generation. An error does not undo the switch; Load returns it.
	Switched(ctx context.Context, generation string) error
}

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
	// Records is how many records the phase has dealt with.
	Records int64
	// Elapsed is the time since the phase began.
	Elapsed time.Duration
}

// Options say what to load and where to. Dir and Elastic are required.
type Options struct {
	// Dir is the folder with the dataset files.
	Dir     string
	Elastic *elastic.Client
	Names   mappings.Names
	// Settings are those of the new indices once they are served. While they
	// are filled they have no replicas and are not refreshed.
	Settings mappings.Settings
	// Lease keeps other writers out. Nil: the caller does.
	Lease Lease
	// Listener is told of the switch. Nil: nobody is.
	Listener Listener
	// AllowMissing lets a dataset without a file be loaded as an empty one;
	// otherwise it refuses the load.
	AllowMissing bool
	// Rejects is the path of an NDJSON file for every line and document that
	// was left out, with the reason; "" writes none.
	Rejects string
	// TempDir takes the temporary files, about twice the size of the unpacked
	// input; "" means the system's.
	TempDir string
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
		o.TempDir = os.TempDir()
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
	if o.Retry.Notify == nil {
		o.Retry.Notify = func(err error, pause time.Duration) {
			o.Log.Warn("elasticsearch cannot take it now, trying again", "error", err, "pause", pause)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
