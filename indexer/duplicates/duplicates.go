// Package duplicates finds records of the served generation that look like one firm or
// person (docs/match.md, "Duplicates"). It changes nothing and only reports which records
// look alike: people decide whether they are one.
package duplicates

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/match"
)

// DefaultMinConfidence is the usual Options.MinConfidence. It is higher than that of
// matches: there are many more pairs of records than inputs.
const DefaultMinConfidence = 0.9

// Options configure Run. Elastic and Dataset are required.
type Options struct {
	Elastic *elastic.Client
	Names   mappings.Names
	// Dataset is one of query.Matched.
	Dataset catalog.Dataset
	// MinConfidence is the minimum confidence of a pair, 0 to 1.
	MinConfidence float64
	// Limit is how many groups the report has; 0 means all.
	Limit int
	// TempDir holds the temporary files, about 1 kB a record. "" means the user's cache
	// folder.
	TempDir string
	// Workers is the number of goroutines that compare. 0 means one for each processor.
	Workers int
	// Retry bounds how long Elasticsearch may be unavailable or busy.
	Retry elastic.Retry
	// Progress, when set, is called as by indexer.Load. The phases are Reading and
	// Comparing; Done and Total are records, and pairs of records.
	Progress func(indexer.Progress)
	// Log gets events of the work. Nil means no log.
	Log *slog.Logger
}

// The phases.
const (
	Reading   indexer.Phase = "read records"
	Comparing indexer.Phase = "compare pairs"
)

// Report has the groups that were found.
type Report struct {
	Generation string          `json:"generation"`
	Dataset    catalog.Dataset `json:"dataset"`
	Started    time.Time       `json:"started"`
	Seconds    float64         `json:"seconds"`
	// Records counts the records read, Pairs the pairs compared.
	Records int64 `json:"records"`
	Pairs   int64 `json:"pairs"`
	// Crowded counts the keys with so many records that some of them were not compared.
	Crowded int64 `json:"crowded"`
	// GroupCount and RecordCount count all groups and their records.
	GroupCount  int `json:"group_count"`
	RecordCount int `json:"record_count"`
	// Groups are the first Options.Limit groups, the most confident first.
	Groups []Group `json:"groups"`
}

// Group is records that look like one firm or person. No two have conflicting domains.
type Group struct {
	// Confidence is that of the weakest link.
	Confidence float64        `json:"confidence"`
	Records    []match.Record `json:"records"` // in the order of ids
	// Links connect the records: one fewer than there are records.
	Links []Link `json:"links"`
}

// Link says why two records of a group are alike.
type Link struct {
	IDs        [2]string      `json:"ids"`
	Confidence float64        `json:"confidence"`
	Reasons    []match.Reason `json:"reasons"`
}

// search is the state of one Run.
type search struct {
	Options
	report  Report
	dir     string
	records *records
	// sharing is how many records have a name, by the hash of the name, if more than two have
	// it.
	sharing map[uint64]int
}

// Run finds duplicates. Memory grows with the records that are in groups, not with the
// others. Concurrent writes may or may not be seen.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &search{Options: o, report: Report{Dataset: o.Dataset, Started: time.Now().UTC(), Groups: []Group{}}}
	err := s.run(ctx)
	s.report.Seconds = time.Since(s.report.Started).Seconds()
	if err != nil && ctx.Err() != nil {
		err = cmp.Or(context.Cause(ctx), err)
	}
	return s.report, err
}

func (s *search) run(ctx context.Context) error {
	var g generation.Generation
	err := s.Retry.Do(ctx, func(ctx context.Context) (err error) {
		g, err = generation.Find(ctx, s.Elastic, s.Names, "")
		return err
	})
	if err != nil {
		return err
	}
	s.report.Generation = g.Name
	dir, err := extsort.NewScratch(cmp.Or(s.TempDir, indexer.DefaultTempDir()), s.Log)
	if err != nil {
		return err
	}
	defer dir.Remove()
	s.dir = dir.Path
	file, err := os.Create(filepath.Join(dir.Path, "records"))
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the temporary folder %s cannot be used", dir.Path)
	}
	defer file.Close() //nolint:errcheck // it is of no use afterwards
	s.records = &records{file: file}
	keys := s.sorter("keys", blockKeySize)
	for _, in := range g.Datasets {
		if in.Dataset == s.Dataset {
			if err := s.read(ctx, in, keys); err != nil {
				return err
			}
		}
	}
	pairs := s.sorter("pairs", pairKeySize)
	if err := s.pair(ctx, keys, pairs); err != nil {
		return err
	}
	links := s.sorter("links", linkKeySize)
	if err := s.compare(ctx, pairs, links); err != nil {
		return err
	}
	return s.group(ctx, links)
}

func (s *search) sorter(name string, keySize int) *extsort.Sorter {
	return extsort.New(extsort.Options{Dir: s.dir, Name: name, KeySize: keySize})
}
