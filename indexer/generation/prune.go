package generation

import (
	"context"

	"atlas/internal/fault"
)

// PruneOptions say what Prune keeps.
type PruneOptions struct {
	Options
	// Keep is the number of complete generations to keep in addition to the served
	// one: the previous one first, then the newest.
	Keep int
	// KeepUnfinished keeps the indices of loads that may be resumed.
	KeepUnfinished bool
	// DryRun deletes nothing.
	DryRun bool
}

// PruneReport is what Prune deleted or, in a dry run, would delete.
type PruneReport struct {
	DryRun bool `json:"dry_run"`
	// Deleted and Retained are generations, the newest first. The served one is
	// never among the deleted.
	Deleted  []Generation `json:"deleted"`
	Retained []Generation `json:"retained"`
	// Freed is the size of the deleted ones on disk, in bytes, without replicas.
	Freed int64 `json:"freed_bytes"`
}

// Prune deletes generations that are not served. It holds the lease of loads, so no load is
// filling an unfinished generation meanwhile.
func Prune(ctx context.Context, o PruneOptions) (PruneReport, error) {
	report := PruneReport{DryRun: o.DryRun, Deleted: []Generation{}, Retained: []Generation{}}
	if o.Keep < 0 {
		return report, fault.New(fault.BadRequest, "no fewer than 0 generations can be kept")
	}
	err := WithLease(ctx, o.Lease, func(ctx context.Context) error { return o.prune(ctx, &report) })
	return report, err
}

func (o PruneOptions) prune(ctx context.Context, report *PruneReport) error {
	all, err := List(ctx, o.Elastic, o.Names)
	if err != nil {
		return err
	}
	keep := o.keep(all)
	var indices []string
	for _, g := range all {
		if keep[g.Name] {
			report.Retained = append(report.Retained, g)
			continue
		}
		report.Deleted = append(report.Deleted, g)
		report.Freed += g.Bytes
		indices = append(indices, g.indices()...)
	}
	if o.DryRun {
		return nil
	}
	return o.Retry.Do(ctx, func(ctx context.Context) error { return o.Elastic.DeleteIndices(ctx, indices...) })
}

// keep returns which of all generations to keep, the newest first.
func (o PruneOptions) keep(all []Generation) map[string]bool {
	keep, left := map[string]bool{}, o.Keep
	for _, state := range []State{Previous, Complete} {
		for _, g := range all {
			switch {
			case g.State == Served, g.State == Unfinished && o.KeepUnfinished:
				keep[g.Name] = true
			case g.State == state && left > 0:
				keep[g.Name] = true
				left--
			}
		}
	}
	return keep
}
