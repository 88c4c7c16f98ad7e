package indexer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

func (l *load) indexName(d catalog.Dataset) string {
	return l.Names.Generation(string(d), l.report.Generation)
}

func (l *load) loadingAlias(d catalog.Dataset) string {
	return generation.LoadingAlias(l.indexName(d))
}

// firstTimeout bounds the retries before a load has made progress, so that the operator who
// has just started it soon gets an error.
const firstTimeout = 10 * time.Second

func (l *load) firstRetry() elastic.Retry {
	r := l.Retry
	r.For = min(cmp.Or(r.For, firstTimeout), firstTimeout)
	return r
}

// listIndices returns the indices of all generations.
func (l *load) listIndices(ctx context.Context, retry elastic.Retry) (all []generation.Index, err error) {
	err = retry.Do(ctx, func(ctx context.Context) (err error) {
		all, err = generation.Indices(ctx, l.Elastic, l.Names)
		return err
	})
	return all, err
}

// otherIndices returns the indices of all generations except this load's.
func (l *load) otherIndices(ctx context.Context, retry elastic.Retry) ([]generation.Index, error) {
	all, err := l.listIndices(ctx, retry)
	return slices.DeleteFunc(all, func(in generation.Index) bool { return in.Name == l.indexName(in.Dataset) }), err
}

// servedIndices returns the indices that searches use, except this load's.
func (l *load) servedIndices(ctx context.Context) ([]generation.Index, error) {
	others, err := l.otherIndices(ctx, l.Retry)
	return slices.DeleteFunc(others, func(in generation.Index) bool { return !in.Served }), err
}

// deleteUnfinished deletes indices of loads that ended and cannot be resumed, because no
// other work folder names them. The lease proves that none of those loads is running.
func (l *load) deleteUnfinished(ctx context.Context) error {
	before, err := l.otherIndices(ctx, l.firstRetry())
	if err != nil {
		return err
	}
	resumable := map[string]bool{}
	otherLoads(l.TempDir, l.WorkDir, func(_ *workFolder, m manifest) { resumable[m.Generation] = true })
	var left []string
	for _, e := range before {
		if e.Loaded && e.Unfinished && !e.Served && !resumable[l.Names.GenerationOf(string(e.Dataset), e.Name)] {
			left = append(left, e.Name)
		}
	}
	if err := l.firstRetry().Do(ctx, func(ctx context.Context) error { return l.Elastic.DeleteIndices(ctx, left...) }); err != nil {
		return err
	}
	l.report.Deleted = append(l.report.Deleted, left...)
	return nil
}

// createIndices creates the indices of the new generation with settings for
// filling.
func (l *load) createIndices(ctx context.Context) error {
	replicas, err := l.replicasWhileLoading(ctx)
	if err != nil {
		return err
	}
	sources, err := ReadSources(l.Dir)
	if err != nil {
		return err
	}
	for _, d := range catalog.Datasets {
		body, settings, err := l.indexBody(d)
		if err != nil {
			return err
		}
		if catalog.HasSource(d) && len(sources) > 0 {
			body["mappings"].(map[string]any)["_meta"].(map[string]any)["sources"] = sources
		}
		// Refreshing while an index is filled would be wasted. The durability is explicit
		// so that no template weakens it: a checkpoint relies on acknowledged documents
		// being on disk.
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
	return l.awaitReplicas(ctx, replicas)
}

// createIndex creates an index of the new generation. It accepts an existing one, which an
// attempt with a lost response created: nothing else uses the name, and a resumed load has
// deleted the indices of earlier processes.
func (l *load) createIndex(ctx context.Context, name string, body []byte) error {
	return l.Retry.Do(ctx, func(ctx context.Context) error { return l.Elastic.EnsureIndex(ctx, name, body) })
}

// indexBody returns the request body that creates a dataset's index with the
// settings of a served one, and these settings.
func (l *load) indexBody(d catalog.Dataset) (body, settings map[string]any, err error) {
	raw, err := mappings.Index(string(d), l.Settings)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, nil, err
	}
	return body, body["settings"].(map[string]any)["index"].(map[string]any), nil
}

// finish makes the new indices ready to be served and checks that each has all acknowledged
// documents.
func (l *load) finish(ctx context.Context) error {
	counts := make([]int64, len(catalog.Datasets))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, d := range catalog.Datasets {
		group.Go(func() (err error) {
			counts[i], err = l.finishIndex(groupCtx, d)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, d := range catalog.Datasets {
		if want := l.state.Datasets[d].Documents; counts[i] != want {
			l.discard = true
			return fault.New(fault.Internal, "the new index %s has %d documents, but %d were acknowledged", l.indexName(d), counts[i], want)
		}
	}
	return nil
}

// finishIndex gives an index the settings of a served one and counts its documents.
func (l *load) finishIndex(ctx context.Context, d catalog.Dataset) (count int64, err error) {
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

// switchAliases switches searches of all datasets to the new generation, in one step.
func (l *load) switchAliases(ctx context.Context) error {
	served, err := l.servedIndices(ctx)
	if err != nil {
		return err
	}
	var changes []elastic.AliasChange
	var indices []string
	for _, d := range catalog.Datasets {
		index := l.indexName(d)
		indices = append(indices, index)
		changes = append(changes,
			elastic.AliasChange{Index: index, Alias: l.loadingAlias(d), Remove: true},
			elastic.AliasChange{Index: index, Alias: l.Names.Alias(string(d))})
	}
	switching := l.switching()
	changes = append(changes, switching.RemoveAliases(served)...)
	for _, in := range served {
		l.report.Previous = append(l.report.Previous, in.Name)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.state.Previous = l.report.Previous
	if err := l.save(); err != nil {
		return err
	}
	var unknown error // not retried
	err = l.Retry.Do(ctx, func(ctx context.Context) (err error) {
		// A switch may take effect after the aliases were read. Then the next attempt fails,
		// and reads them a second time.
		l.report.Switched, err = switching.Switch(ctx, changes, indices,
			fmt.Sprintf("elasticsearch did not say whether the generation %s is served now, and nothing was deleted", l.report.Generation))
		if _, ok := errors.AsType[*generation.UnknownSwitchError](err); ok {
			unknown, err = err, nil
		}
		return err
	})
	if unknown == nil && !l.report.Switched {
		l.report.Previous = nil
	}
	return cmp.Or(unknown, err)
}

// switching are the options for the load's switch.
func (l *load) switching() generation.Options {
	return generation.Options{Elastic: l.Elastic, Names: l.Names, Retry: l.Retry, Listener: l.Listener, Feed: l.Feed}
}

// deleteOld deletes the generations older than the previous one and the remains of older
// loads. The next load deletes what this one cannot.
func (l *load) deleteOld(ctx context.Context) {
	before, err := l.otherIndices(ctx, l.firstRetry())
	var old []string
	for _, e := range before {
		later := e.Unfinished && l.Names.GenerationOf(string(e.Dataset), e.Name) > l.report.Generation
		if e.Loaded && !e.Served && !later && !slices.Contains(l.report.Previous, e.Name) {
			old = append(old, e.Name)
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

// maxSegment is the size in bytes up to which Elasticsearch merges segments by itself.
const maxSegment = 5 << 30

// mergeSegments lets Elasticsearch merge the new indices in the background. A shard of one
// segment takes a fifth less CPU to search and half of the disk. Searches do not depend on
// it, so a failure is only added to the notes.
func (l *load) mergeSegments(ctx context.Context) {
	var sizes map[string]int64
	err := l.firstRetry().Do(ctx, func(ctx context.Context) (err error) {
		sizes, err = generation.Sizes(ctx, l.Elastic, l.Names)
		return err
	})
	for _, d := range catalog.Datasets {
		if size, known := sizes[l.indexName(d)]; known {
			shard := size / int64(max(l.Settings.Shards, 1))
			err = errors.Join(err, l.firstRetry().Do(ctx, func(ctx context.Context) error {
				return l.Elastic.MergeSegments(ctx, l.indexName(d), int(shard/maxSegment)+1)
			}))
		}
	}
	if err != nil {
		l.report.Notes = append(l.report.Notes, "the segments of the new indices were not merged, so searches cost more than they could; POST /INDEX/_forcemerge?max_num_segments=1 merges an index")
		l.Log.Warn("segments could not be merged", "error", err)
	}
}

// dropIndices deletes the new indices, unless they are finished.
func (l *load) dropIndices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := l.Retry.Do(ctx, func(ctx context.Context) error {
		all, err := generation.Indices(ctx, l.Elastic, l.Names)
		if err != nil {
			return err
		}
		var names []string
		for _, e := range all {
			if e.Name == l.indexName(e.Dataset) && e.Unfinished && !e.Served {
				names = append(names, e.Name)
			}
		}
		return l.Elastic.DeleteIndices(ctx, names...)
	})
	if err != nil {
		return fmt.Errorf("the unfinished indices of the generation %s stay until the next load: %w", l.report.Generation, err)
	}
	return nil
}
