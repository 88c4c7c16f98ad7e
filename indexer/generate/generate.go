package generate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

// Reference is the current time of the generated data. No generated time is later.
var Reference = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// MaxRecords bounds a dataset, so that arithmetic on numbers of records cannot
// overflow.
const MaxRecords = 1_000_000_000

// Options configures Generate.
type Options struct {
	// Records is the total of all four datasets: 12 % accounts, 22 % contacts, 26 %
	// projects, the rest signals.
	Records int64
	// Seed selects the data. The same options give identical files on machines of one
	// architecture.
	Seed uint64
	// Dir is the output folder. It is created if it does not exist, and existing files
	// of the same names are replaced.
	Dir string
	// Compress is "", "gz" or "zst".
	Compress string
	// Progress, if set, is called periodically with the number of records so far. Calls do
	// not overlap.
	Progress func(done, total int64)
}

// Report describes the generated files.
type Report struct {
	Records ndjson.Counts `json:"records"`
	Total   int64         `json:"total"`
	Seed    uint64        `json:"seed"`
}

// Generate writes the four dataset files. It renames them only when all are complete,
// so after an error the folder is unchanged. Errors: BadRequest for invalid options,
// Internal for failed writes, or the error of ctx.
func Generate(ctx context.Context, options Options) (Report, error) {
	if options.Records < 1 || options.Records > MaxRecords {
		return Report{}, fault.New(fault.BadRequest, "the number of records must be 1 to %d", int64(MaxRecords))
	}
	out, err := ndjson.CreateFolder(options.Dir, ndjson.Compression(options.Compress))
	if err != nil {
		return Report{}, err
	}
	defer out.Abort()
	w := newWorld(options.Seed, options.Records)
	p := &progress{total: options.Records, notify: options.Progress}
	err = w.stream(ctx, sinks{out.Accounts.Write, out.Contacts.Write, out.Projects.Write, out.Signals.Write}, p)
	if err != nil {
		return Report{}, err
	}
	if err := out.Commit(); err != nil {
		return Report{}, err
	}
	p.finish()
	return Report{Records: out.Counts(), Total: options.Records, Seed: options.Seed}, nil
}

// sinks receive the lines of the datasets. One goroutine uses each.
type sinks struct {
	accounts, contacts, projects, signals func(line []byte) error
}

// stream generates all records, with one goroutine per dataset.
func (w world) stream(ctx context.Context, to sinks, p *progress) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.writeAccounts(ctx, to.accounts, p) })
	group.Go(func() error { return w.writeContacts(ctx, to.contacts, p) })
	group.Go(func() error { return w.writeProjects(ctx, to.projects, p) })
	group.Go(func() error { return w.writeSignals(ctx, to.signals, p) })
	return group.Wait()
}

// chunk is the number of records between two checks of the context.
const chunk = 2048

// each calls make for the numbers below n until a call fails or ctx ends.
func each(ctx context.Context, n int64, p *progress, make func(i int64) error) error {
	for from := int64(0); from < n; from += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+chunk, n)
		for i := from; i < to; i++ {
			if err := make(i); err != nil {
				return err
			}
		}
		p.add(to - from)
	}
	return nil
}

// progress sums up the records of all goroutines.
type progress struct {
	total  int64
	notify func(done, total int64)
	done   atomic.Int64
	one    sync.Mutex
}

func (p *progress) add(n int64) {
	p.done.Add(n)
	// If another goroutine is reporting, skip this report.
	if p.notify != nil && p.one.TryLock() {
		p.notify(p.done.Load(), p.total)
		p.one.Unlock()
	}
}

func (p *progress) finish() {
	if p.notify != nil {
		p.notify(p.total, p.total)
	}
}
