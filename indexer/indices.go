package indexer

import (
	"cmp"
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

	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
)

// A generation is one index for each dataset, filled by one load, all of the
// same generation name. Searches go to the one that the aliases point to.

// NewName names a generation, or a delta, so that names sort by time.
func NewName(now time.Time) string {
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

// DeltaMark is in the name of an alias that each index has while a delta is
// being applied to it; the delta's name follows. The delta is written through
// it, so that what comes late is refused when the index is gone, and who comes
// later sees that it was not finished.
const DeltaMark = "-delta-"

func (l *load) indexName(d query.Dataset) string {
	return l.Names.Generation(string(d), l.report.Generation)
}

func (l *load) loadingAlias(d query.Dataset) string { return l.indexName(d) + loadingMark }

// existing is an index of a dataset: of a generation, or served.
type existing struct {
	dataset    query.Dataset
	index      string
	served     bool // the dataset's alias points to it
	generation bool // it was made by a load
	unfinished bool
	deltas     []string // that were begun on it and not finished
}

// listExisting returns the indices of all datasets, in the order of
// query.Datasets and of their names, which is that of their age.
func listExisting(ctx context.Context, es *elastic.Client, names mappings.Names) ([]existing, error) {
	var all []existing
	for _, d := range query.Datasets {
		alias := names.Alias(string(d))
		indices, err := es.Aliases(ctx, alias+"*")
		if err != nil {
			return nil, err
		}
		for _, index := range slices.Sorted(maps.Keys(indices)) {
			e := existing{
				dataset: d, index: index,
				served:     slices.Contains(indices[index], alias),
				generation: generationName.MatchString(names.GenerationOf(string(d), index)),
				unfinished: slices.Contains(indices[index], index+loadingMark),
			}
			for _, alias := range indices[index] {
				if delta, ok := strings.CutPrefix(alias, index+DeltaMark); ok {
					e.deltas = append(e.deltas, delta)
				}
			}
			if e.served || e.generation {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// firstPatience bounds the waiting while a load has done nothing yet that would
// be lost: whoever started it is still there, and learns what is wrong.
const firstPatience = 10 * time.Second

func (l *load) atFirst() elastic.Retry {
	r := l.Retry
	r.For = min(cmp.Or(r.For, firstPatience), firstPatience)
	return r
}

// listExisting returns the indices as they were before this load.
func (l *load) listExisting(ctx context.Context, retry elastic.Retry) (all []existing, err error) {
	err = retry.Do(ctx, func(ctx context.Context) (err error) {
		all, err = listExisting(ctx, l.Elastic, l.Names)
		return err
	})
	return slices.DeleteFunc(all, func(e existing) bool { return e.index == l.indexName(e.dataset) }), err
}

// deleteUnfinished makes room that loads left which ended and cannot be
// resumed: no work folder beside this one names them. The lease says that none
// of them is still at work.
func (l *load) deleteUnfinished(ctx context.Context) error {
	before, err := l.listExisting(ctx, l.atFirst())
	if err != nil {
		return err
	}
	resumable := map[string]bool{}
	otherLoads(l.TempDir, l.WorkDir, func(_ *store, m manifest) { resumable[m.Generation] = true })
	var left []string
	for _, e := range before {
		if e.generation && e.unfinished && !e.served && !resumable[l.Names.GenerationOf(string(e.dataset), e.index)] {
			left = append(left, e.index)
		}
	}
	if err := l.atFirst().Do(ctx, func(ctx context.Context) error { return l.Elastic.DeleteIndices(ctx, left...) }); err != nil {
		return err
	}
	l.report.Deleted = append(l.report.Deleted, left...)
	return nil
}

// createIndices makes the new generation's indices, set up to be filled.
func (l *load) createIndices(ctx context.Context) error {
	replicas, err := l.replicasWhileLoading(ctx)
	if err != nil {
		return err
	}
	for _, d := range query.Datasets {
		body, settings, err := l.indexBody(d)
		if err != nil {
			return err
		}
		// Refreshes while an index is filled would be work for nobody. The
		// durability is said so that no template can weaken it: a checkpoint
		// counts on acknowledged documents being on the disk.
		settings["number_of_replicas"], settings["refresh_interval"] = replicas, "-1"
		settings["translog.durability"] = "request"
		body["aliases"] = map[string]any{l.loadingAlias(d): map[string]any{}}
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		if err := l.createIndex(ctx, l.indexName(d), raw); err != nil {
			return err
		}
	}
	return l.awaitCopies(ctx, replicas)
}

// createIndex makes an index of the new generation. One that is there already is
// this load's, of a try whose answer was lost: nobody else uses the name, and
// what a process before left was deleted on resuming.
func (l *load) createIndex(ctx context.Context, name string, body []byte) error {
	return l.Retry.Do(ctx, func(ctx context.Context) error {
		err := l.Elastic.CreateIndex(ctx, name, body)
		if e, ok := errors.AsType[*elastic.Error](err); ok && e.Type == "resource_already_exists_exception" {
			return nil
		}
		return err
	})
}

// indexBody is what makes a dataset's index as it is served, and the settings
// in it.
func (l *load) indexBody(d query.Dataset) (body, settings map[string]any, err error) {
	raw, err := mappings.Index(string(d), l.Settings)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, nil, err
	}
	return body, body["settings"].(map[string]any)["index"].(map[string]any), nil
}

// finish makes the new indices ready to be served, and makes sure that each
// holds what was acknowledged.
func (l *load) finish(ctx context.Context) error {
	counts := make([]int64, len(query.Datasets))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, d := range query.Datasets {
		group.Go(func() (err error) {
			counts[i], err = l.finishIndex(groupCtx, d)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, d := range query.Datasets {
		if want := l.state.Datasets[d].Documents; counts[i] != want {
			l.void = true
			return fault.New(fault.Internal, "the new index %s has %d documents, but %d were acknowledged", l.indexName(d), counts[i], want)
		}
	}
	return nil
}

// finishIndex makes one index as it will be served, and counts it.
func (l *load) finishIndex(ctx context.Context, d query.Dataset) (count int64, err error) {
	index := l.indexName(d)
	_, settings, err := l.indexBody(d)
	if err != nil {
		return 0, err
	}
	served := map[string]any{}
	for _, name := range []string{"number_of_replicas", "refresh_interval"} {
		served[name] = settings[name]
	}
	err = l.Retry.Do(ctx, func(ctx context.Context) (err error) {
		if err := l.Elastic.Refresh(ctx, index); err != nil {
			return err
		}
		if err := l.Elastic.PutIndexSettings(ctx, served, index); err != nil {
			return err
		}
		count, err = l.Elastic.Count(ctx, index)
		return err
	})
	return count, err
}

// switchAliases sends searches of all datasets to the new generation, in one
// step.
func (l *load) switchAliases(ctx context.Context) error {
	before, err := l.listExisting(ctx, l.Retry)
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
	l.state.Previous = l.report.Previous
	if err := l.save(); err != nil {
		return err
	}
	var unknown error
	err = l.Retry.Do(ctx, func(ctx context.Context) error {
		err := l.Elastic.ChangeAliases(ctx, changes)
		if err == nil {
			l.report.Switched = true
			return nil
		}
		// The answer may have been lost, and the switch not. One that happens only
		// after this look makes the next try fail, which looks again.
		switched, lookErr := l.isServed(context.WithoutCancel(ctx))
		if lookErr != nil {
			unknown = errors.Join(fault.Wrap(err, fault.Unavailable,
				"elasticsearch did not say whether the generation %s is served now, and nothing was deleted", l.report.Generation), lookErr)
			return nil
		}
		if l.report.Switched = switched; switched {
			return nil
		}
		return err
	})
	if unknown == nil && !l.report.Switched {
		l.report.Previous = nil
	}
	return cmp.Or(unknown, err)
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

// deleteOld deletes the generations before the previous one, and what older
// loads left. What cannot be deleted is the next load's to delete.
func (l *load) deleteOld(ctx context.Context) {
	before, err := l.listExisting(ctx, l.atFirst())
	var old []string
	for _, e := range before {
		later := e.unfinished && l.Names.GenerationOf(string(e.dataset), e.index) > l.report.Generation
		if e.generation && !e.served && !later && !slices.Contains(l.report.Previous, e.index) {
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

// dropIndices deletes the new indices, unless they were finished.
func (l *load) dropIndices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := l.Retry.Do(ctx, func(ctx context.Context) error {
		all, err := listExisting(ctx, l.Elastic, l.Names)
		if err != nil {
			return err
		}
		var names []string
		for _, e := range all {
			if e.index == l.indexName(e.dataset) && e.unfinished && !e.served {
				names = append(names, e.index)
			}
		}
		return l.Elastic.DeleteIndices(ctx, names...)
	})
	if err != nil {
		return fmt.Errorf("the unfinished indices of the generation %s stay until the next load: %w", l.report.Generation, err)
	}
	return nil
}
