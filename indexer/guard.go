package indexer

import (
	"context"
	"fmt"
	"strings"

	"atlas/search/catalog"
)

// GuardError means that searches were not switched to the new generation because it has too
// few records of a dataset: an incomplete input is more likely than that many deletions.
// The generation remains, and the same load with Options.Force switches to it.
type GuardError struct {
	MinShare float64
	Short    []Share // the datasets that are too small
}

func (e *GuardError) Error() string {
	all := make([]string, len(e.Short))
	for i, s := range e.Short {
		all[i] = fmt.Sprintf("%s would go from %d records to %d (%.1f %%)", s.Dataset, s.Before, s.Now, 100*float64(s.Now)/float64(s.Before))
	}
	return fmt.Sprintf("searches were not switched: %s; at least %.1f %% are asked for", strings.Join(all, ", "), 100*e.MinShare)
}

// guard refuses a new generation that is too small compared with the served one.
func (l *load) guard(ctx context.Context) error {
	l.report.Shares = []Share{}
	before, err := l.servedIndices(ctx)
	if err != nil {
		return err
	}
	var short []Share
	for _, d := range catalog.Datasets {
		share, served := Share{Dataset: d, Now: l.state.Datasets[d].Documents}, false
		for _, e := range before {
			if e.Dataset != d {
				continue
			}
			served = true
			var n int64
			if err := l.Retry.Do(ctx, func(ctx context.Context) (err error) {
				n, err = l.Elastic.Count(ctx, e.Name)
				return err
			}); err != nil {
				return err
			}
			share.Before += n
		}
		if !served {
			continue
		}
		l.report.Shares = append(l.report.Shares, share)
		if float64(share.Now) < l.MinShare*float64(share.Before) {
			short = append(short, share)
		}
	}
	switch refused := (&GuardError{l.MinShare, short}); {
	case len(short) == 0:
		return nil
	case l.Force:
		l.report.Notes = append(l.report.Notes, "switched by force: "+strings.TrimPrefix(refused.Error(), "searches were not switched: "))
		return nil
	default:
		return refused
	}
}
