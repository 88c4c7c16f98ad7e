package indexer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
)

// A generation is one index for each dataset, filled by one load, all of the
// same generation name. Searches go to the one that the aliases point to.

// newGeneration names a generation so that names sort by time.
func newGeneration(now time.Time) string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return now.UTC().Format("20060102t150405z") + "-" + hex.EncodeToString(random[:])
}

var generationName = regexp.MustCompile(`^\d{8}t\d{6}z-[0-9a-f]{6}$`)

// loadingMark ends the alias that an index is filled through. The alias exists
// until the switch: what is written to it after the index is gone is refused
// rather than becoming a new index, and an index that still has it was never
// finished.
const loadingMark = "-loading"

func (l *load) indexName(d query.Dataset) string {
	return l.Names.Generation(string(d), l.report.Generation)
}

func (l *load) loadingAlias(d query.Dataset) string { return l.indexName(d) + loadingMark }

// existing is an index of a dataset as it was before this load.
type existing struct {
	dataset    query.Dataset
	index      string
	served     bool // the dataset's alias points to it
	generation bool // it was made by a load
	unfinished bool
}

// listExisting returns the indices of all datasets but those of this load.
func (l *load) listExisting(ctx context.Context) ([]existing, error) {
	var all []existing
	for _, d := range query.Datasets {
		alias := l.Names.Alias(string(d))
		indices, err := l.Elastic.Aliases(ctx, alias+"*")
		if err != nil {
			return nil, err
		}
		for _, index := range slices.Sorted(maps.Keys(indices)) {
			e := existing{
				dataset: d, index: index,
				served:     slices.Contains(indices[index], alias),
				generation: generationName.MatchString(l.Names.GenerationOf(string(d), index)),
				unfinished: slices.Contains(indices[index], index+loadingMark),
			}
			if (e.served || e.generation) && index != l.indexName(d) {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// deleteUnfinished makes room that loads left which were killed. The lease
// says that none of them is still at work.
func (l *load) deleteUnfinished(ctx context.Context) error {
	before, err := l.listExisting(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, e := range before {
		if e.generation && e.unfinished && !e.served {
			left = append(left, e.index)
		}
	}
	if err := l.Elastic.DeleteIndices(ctx, left...); err != nil {
		return err
	}
	l.report.Deleted = append(l.report.Deleted, left...)
	return nil
}

// createIndices makes the new generation's indices, set up to be filled.
func (l *load) createIndices(ctx context.Context) error {
	for _, d := range query.Datasets {
		raw, err := mappings.Index(string(d), l.Settings)
		if err != nil {
			return err
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			return err
		}
		settings := body["settings"].(map[string]any)["index"].(map[string]any)
		l.final[d] = map[string]any{}
		// Copies and refreshes while an index is filled would be work for nobody.
		for name, loading := range map[string]any{"number_of_replicas": 0, "refresh_interval": "-1"} {
			l.final[d][name] = settings[name]
			settings[name] = loading
		}
		body["aliases"] = map[string]any{l.loadingAlias(d): map[string]any{}}
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
		if err := l.Elastic.CreateIndex(ctx, l.indexName(d), raw); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the new indices ready to be served, and makes sure that each
// holds what was acknowledged.
func (l *load) finish(ctx context.Context) error {
	for _, d := range query.Datasets {
		index := l.indexName(d)
		var count int64
		err := l.Retry.Do(ctx, func(ctx context.Context) (err error) {
			if err := l.Elastic.Refresh(ctx, index); err != nil {
				return err
			}
			if err := l.Elastic.PutIndexSettings(ctx, l.final[d], index); err != nil {
				return err
			}
			count, err = l.Elastic.Count(ctx, index)
			return err
		})
		if err != nil {
			return err
		}
		if want := l.stats[d].documents.Load(); count != want {
			return fault.New(fault.Internal, "the new index %s has %d documents, but %d were acknowledged", index, count, want)
		}
	}
	return nil
}

// switchAliases sends searches of all datasets to the new generation, in one
// step.
func (l *load) switchAliases(ctx context.Context) error {
	before, err := l.listExisting(ctx)
	if err != nil {
		return err
	}
	var changes []elastic.AliasChange
	for _, d := range query.Datasets {
		alias := l.Names.Alias(string(d))
		changes = append(changes,
			elastic.AliasChange{Index: l.indexName(d), Alias: l.loadingAlias(d), Remove: true},
			elastic.AliasChange{Index: l.indexName(d), Alias: alias})
	}
	for _, e := range before {
		if e.served {
			// Had someone else switched meanwhile, this would fail, and all with it.
			changes = append(changes, elastic.AliasChange{Index: e.index, Alias: l.Names.Alias(string(e.dataset)), Remove: true})
			l.report.Previous = append(l.report.Previous, e.index)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = l.Elastic.ChangeAliases(ctx, changes)
	if err == nil {
		l.report.Switched = true
		return nil
	}
	// The answer may have been lost, and the switch not.
	switched, lookErr := l.isServed(context.WithoutCancel(ctx))
	switch {
	case lookErr != nil:
		l.unclear = true
		return errors.Join(fault.Wrap(err, fault.Unavailable,
			"elasticsearch did not say whether the generation %s is served now, and nothing was deleted", l.report.Generation), lookErr)
	case switched:
		l.report.Switched = true
		return nil
	default:
		l.report.Previous = nil
		return err
	}
}

func (l *load) isServed(ctx context.Context) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d := query.Accounts
	err = l.Retry.Do(ctx, func(ctx context.Context) error {
		indices, err := l.Elastic.Aliases(ctx, l.indexName(d))
		served = slices.Contains(indices[l.indexName(d)], l.Names.Alias(string(d)))
		return err
	})
	return served, err
}

// deleteOld deletes the generations before the previous one. What cannot be
// deleted is the next load's to delete.
func (l *load) deleteOld(ctx context.Context) {
	before, err := l.listExisting(ctx)
	var old []string
	for _, e := range before {
		if e.generation && !e.served && !slices.Contains(l.report.Previous, e.index) {
			old = append(old, e.index)
		}
	}
	if err == nil {
		err = l.Elastic.DeleteIndices(ctx, old...)
	}
	if err != nil {
		l.report.Notes = append(l.report.Notes, "older generations could not be deleted; the next load will")
		l.Log.Warn("older generations could not be deleted", "error", err)
		return
	}
	l.report.Deleted = append(l.report.Deleted, old...)
}

// dropIndices deletes the new indices after a failure.
func (l *load) dropIndices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var names []string
	for _, d := range query.Datasets {
		names = append(names, l.indexName(d))
	}
	err := l.Retry.Do(ctx, func(ctx context.Context) error { return l.Elastic.DeleteIndices(ctx, names...) })
	if err != nil {
		return fmt.Errorf("the unfinished indices %s stay until the next load: %w", strings.Join(names, ", "), err)
	}
	return nil
}
