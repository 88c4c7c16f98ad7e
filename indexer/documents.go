package indexer

import (
	"context"
	"time"

	"atlas/indexer/extsort"
	"atlas/internal/elastic"
	"atlas/search/catalog"
)

// Document is what a load writes for one record.
type Document struct {
	ID   string
	Line int64  // of the record in the dataset's file
	JSON []byte // one object, with `ix`
}

// DocumentOptions say which documents to build. Dir is required.
type DocumentOptions struct {
	// Dir is the folder with the dataset files.
	Dir string
	// AllowMissing treats a dataset without a file as empty.
	AllowMissing bool
	// LoadedAt is the time of records without one.
	LoadedAt time.Time
	// TempDir, Workers, BatchBytes and SortMemory are as in Options.
	TempDir                         string
	Workers, BatchBytes, SortMemory int
	// Suppressions are as in Options.
	Suppressions Suppressions
	// Progress, when set, is called as by Load.
	Progress func(Progress)
}

// Documents builds the documents that Load would write, by the same reading, sorting and
// joining, and passes them to take: dataset by dataset in the order of catalog.Datasets, in
// batches of about BatchBytes. A batch is sorted by id, but the batches are in no order. Calls
// of take do not overlap; a batch is valid until take returns, and an error of take ends the
// work. The report is that of a load in which Elasticsearch refused nothing.
func Documents(ctx context.Context, o DocumentOptions, take func(catalog.Dataset, []Document) error) (Report, error) {
	l, err := newDryRun(o)
	if err != nil {
		return Report{}, err
	}
	var batch []Document
	l.write = func(_ context.Context, d catalog.Dataset, r *request) ([]elastic.Refusal, error) {
		batch = batch[:0]
		for i, id := range r.ids {
			batch = append(batch, Document{id, r.lines[i], r.Doc(i)})
		}
		return nil, take(d, batch)
	}
	began := time.Now()
	err = l.buildAll(ctx)
	l.fillReport(time.Since(began))
	return l.report, err
}

// newDryRun returns a load that reads and builds. The caller sets write.
func newDryRun(o DocumentOptions) (*load, error) {
	options, err := Options{
		Dir: o.Dir, AllowMissing: o.AllowMissing, TempDir: o.TempDir, Workers: o.Workers, Senders: 1,
		BatchBytes: o.BatchBytes, SortMemory: o.SortMemory, Progress: o.Progress, Suppressions: o.Suppressions,
		Elastic: &elastic.Client{}, // never called
	}.withDefaults()
	if err != nil {
		return nil, err
	}
	l := newLoad(options, o.LoadedAt)
	inputs, notes, err := findInputs(o.Dir, o.AllowMissing)
	l.inputs, l.report.Notes = inputs, append(l.report.Notes, notes...)
	return l, err
}

// buildAll does the work of a load up to the writing.
func (l *load) buildAll(ctx context.Context) (err error) {
	if l.deadLetters, err = openDeadLetters("", l.state, func() {}); err != nil {
		return err
	}
	dir, err := extsort.NewScratch(l.TempDir, l.Log)
	if err != nil {
		return err
	}
	defer dir.Remove()
	l.dir = dir.Path
	defer l.closeInputs()
	if err := l.openInputs(); err != nil {
		return err
	}
	stop := l.meter.Start(l.Progress, Reading)
	defer stop()
	if err := l.readSuppressions(ctx); err != nil {
		return err
	}
	sorted, err := l.readAll(ctx)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, s := range sorted {
		total += s.Len()
	}
	l.meter.next(Indexing, 0, total)
	return l.indexAll(ctx, sorted)
}
