// Package verify compares the files of a load with the generation that it filled
// (docs/data.md): it rebuilds every document and compares it with the one in the index. It
// changes nothing.
package verify

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

// Options say what to compare. Dir and Elastic are required.
type Options struct {
	// Dir is the folder with the dataset files.
	Dir     string
	Elastic *elastic.Client
	Names   mappings.Names
	// Generation to compare with; "" means the served one.
	Generation string
	// AllowMissing treats a dataset without a file as empty.
	AllowMissing bool
	// Suppressions say which records were left out. Nil means none.
	Suppressions indexer.Suppressions
	// Each, when set, is called with every difference, dataset by dataset in the
	// order of ids. Its error ends the work.
	Each func(Difference) error
	// TempDir holds the temporary files, about three times the size of the unpacked
	// input. "" means the user's cache folder.
	TempDir string
	// Workers is the number of goroutines that read lines and build documents, and
	// of concurrent searches. 0 means one for each processor.
	Workers int
	// SortMemory is as in indexer.Options.
	SortMemory int
	// Retry bounds how long Elasticsearch may be unavailable or busy.
	Retry elastic.Retry
	// Progress, when set, is called as by indexer.Load. The phases are indexer.Reading,
	// Building and Comparing.
	Progress func(indexer.Progress)
	// Log gets events of the work. Nil means no log.
	Log *slog.Logger
}

// The phases of a verification after indexer.Reading. Done and Total are records.
const (
	Building  indexer.Phase = "build"   // documents are built as for an index
	Comparing indexer.Phase = "compare" // the index is read and compared with them
)

// MaxDifferences is how many differences of each dataset a Report lists. All are
// counted and passed to Options.Each.
const MaxDifferences = 250

// Report compares a generation with its source.
type Report struct {
	Generation string `json:"generation"`
	// Equal means that the index holds exactly the records of the source, with
	// equal contents.
	Equal   bool      `json:"equal"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	// Datasets has a row for each dataset, in the order of catalog.Datasets.
	Datasets []DatasetReport `json:"datasets"`
	// Differences are the first of each dataset by id, at most MaxDifferences.
	Differences []Difference `json:"differences"`
	// Notes are for people.
	Notes []string `json:"notes"`
}

// DatasetReport counts records. Records = Matching + Different + Missing; Documents
// = Matching + Different + Extra.
type DatasetReport struct {
	Dataset catalog.Dataset `json:"dataset"`
	File    string          `json:"file"`
	Index   string          `json:"index"`
	// Lines, Rejected, Replaced and Records are those of a load.
	Lines    int64 `json:"lines"`
	Rejected int64 `json:"rejected"`
	Replaced int64 `json:"replaced"`
	Records  int64 `json:"records"`
	// Documents is the count of the index.
	Documents int64 `json:"documents"`
	Matching  int64 `json:"matching"`
	Missing   int64 `json:"missing"`
	Extra     int64 `json:"extra"`
	Different int64 `json:"different"`
}

// Equal reports whether nothing is missing, extra or different.
func (d DatasetReport) Equal() bool { return d.Missing+d.Extra+d.Different == 0 }

// Rejected is the number of source lines that are not records and so were not
// compared.
func (r Report) Rejected() (n int64) {
	for _, d := range r.Datasets {
		n += d.Rejected
	}
	return n
}

// verification is the state of one Run.
type verification struct {
	Options
	report Report
	log    *slog.Logger
	meter  indexer.Meter
	// loadedAt is the time of records without one.
	loadedAt time.Time
}

// Run compares a folder with a generation, by count and by content: every document
// is built as indexer.Load builds it, and must be in the index with equal fields of
// the public record and, by its digest, equal fields that only searches use
// (docs/data.md). It changes nothing. Memory does not grow with the data.
//
// Differences are not an error: see the report. Concurrent writes may or may not be
// seen.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Elastic == nil {
		return Report{}, fault.New(fault.Internal, "verifying needs an Elasticsearch client")
	}
	v := &verification{Options: o, log: o.Log}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	v.report = Report{Started: time.Now().UTC(), Datasets: []DatasetReport{}, Differences: []Difference{}, Notes: []string{}}
	err := v.run(ctx)
	v.report.Seconds = time.Since(v.report.Started).Seconds()
	if err != nil && ctx.Err() != nil {
		err = cmp.Or(context.Cause(ctx), err)
	}
	return v.report, err
}

func (v *verification) run(ctx context.Context) error {
	indices, err := v.findIndices(ctx)
	if err != nil {
		return err
	}
	// Only refreshed documents are found.
	if err := v.Retry.Do(ctx, func(ctx context.Context) error {
		return v.Elastic.Refresh(ctx, slices.Collect(maps.Values(indices))...)
	}); err != nil {
		return err
	}
	dir, err := extsort.NewScratch(cmp.Or(v.TempDir, indexer.DefaultTempDir()), v.log)
	if err != nil {
		return err
	}
	defer dir.Remove()
	sorted, source, err := v.expect(ctx, dir.Path)
	if err != nil {
		return err
	}
	v.report.Notes = append(v.report.Notes, source.Notes...)
	total := int64(0)
	for _, s := range sorted {
		total += s.Len()
	}
	v.meter.Expect(total)
	stop := v.meter.Start(v.Progress, Comparing)
	defer stop()
	v.report.Equal = true
	for _, d := range catalog.Datasets {
		row := DatasetReport{Dataset: d, Index: indices[d]}
		for _, s := range source.Datasets {
			if s.Dataset == d {
				row.File, row.Lines, row.Rejected, row.Replaced, row.Records = s.File, s.Lines, s.Rejected, s.Replaced, s.Records
			}
		}
		if err := v.compare(ctx, &row, sorted[d]); err != nil {
			return err
		}
		v.report.Datasets = append(v.report.Datasets, row)
		v.report.Equal = v.report.Equal && row.Equal()
	}
	return nil
}

// findIndices resolves the generation once, so that a later switch does not matter.
func (v *verification) findIndices(ctx context.Context) (map[catalog.Dataset]string, error) {
	g, err := generation.Find(ctx, v.Elastic, v.Names, v.Generation)
	if err != nil {
		return nil, err
	}
	if len(g.Datasets) != len(catalog.Datasets) {
		return nil, fault.New(fault.BadRequest, "the generation %s has indices of %d datasets only", g.Name, len(g.Datasets))
	}
	v.report.Generation, v.loadedAt = g.Name, g.Created
	indices := map[catalog.Dataset]string{}
	for _, in := range g.Datasets {
		indices[in.Dataset] = in.Index
	}
	return indices, nil
}

// expect builds the documents that the index should have and sorts them by id.
func (v *verification) expect(ctx context.Context, dir string) (map[catalog.Dataset]*extsort.Sorter, indexer.Report, error) {
	sorted := map[catalog.Dataset]*extsort.Sorter{}
	for _, d := range catalog.Datasets {
		sorted[d] = extsort.New(extsort.Options{
			Dir: dir, Name: "expected-" + string(d), KeySize: expectedKeySize, Memory: cmp.Or(v.SortMemory, 64<<20) / 2,
		})
	}
	documents := filepath.Join(dir, "documents")
	if err := os.Mkdir(documents, 0o700); err != nil {
		return nil, indexer.Report{}, fault.Wrap(err, fault.Internal, "the temporary folder %s cannot be used", dir)
	}
	var (
		writer       *extsort.Writer
		dataset      catalog.Dataset
		key, payload []byte
	)
	next := func(d catalog.Dataset) error { // the documents of a dataset come consecutively
		if dataset = d; writer == nil {
			return nil
		}
		return writer.Close()
	}
	report, err := indexer.Documents(ctx, indexer.DocumentOptions{
		Dir: v.Dir, AllowMissing: v.AllowMissing, LoadedAt: v.loadedAt, TempDir: documents,
		Workers: v.Workers, SortMemory: v.SortMemory, Progress: v.building(), Suppressions: v.Suppressions,
	}, func(d catalog.Dataset, batch []indexer.Document) error {
		if d != dataset {
			if err := next(d); err != nil {
				return err
			}
			writer = sorted[d].Writer()
		}
		for _, doc := range batch {
			key, payload = expected(key, payload, doc)
			if err := writer.Add(key, payload); err != nil {
				return err
			}
		}
		return nil
	})
	return sorted, report, cmp.Or(err, next(""))
}

// building adapts the progress of indexer.Documents.
func (v *verification) building() func(indexer.Progress) {
	if v.Progress == nil {
		return nil
	}
	return func(p indexer.Progress) {
		if p.Phase == indexer.Indexing {
			p.Phase = Building
		}
		v.Progress(p)
	}
}
