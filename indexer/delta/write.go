package delta

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/generation"
	"atlas/indexer/journal"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
)

// noteDeletions adds tombstones before the records are deleted.
func (a *apply) noteDeletions(ctx context.Context, d catalog.Dataset, items []*item) error {
	if a.Tombstones == nil {
		return nil
	}
	gone := map[string]time.Time{}
	for _, it := range items {
		if it.outcome.gone() || it.outcome == absent {
			gone[it.id.String()] = time.UnixMilli(it.entry.deletedAt(it.old, a.state.Started.UnixMilli())).UTC()
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return a.Retry.Do(ctx, func(ctx context.Context) error { return a.Tombstones.NoteDeleted(ctx, d, gone) })
}

// senders is the number of requests for a group: a shard processes a request on one processor.
const senders = 2

// write sends a group to Elasticsearch.
func (a *apply) write(ctx context.Context, d catalog.Dataset, l live, sent []*item) error {
	type refusal struct {
		*item
		elastic.Refusal
	}
	var refused [senders][]refusal
	var sending errgroup.Group
	for i := range senders {
		part := sent[len(sent)*i/senders : len(sent)*(i+1)/senders]
		if len(part) == 0 {
			continue
		}
		sending.Go(func() error {
			var batch elastic.Batch
			for _, it := range part {
				if it.doc != nil {
					batch.Index(it.id.String(), it.doc)
				} else {
					batch.Delete(it.id.String())
				}
			}
			all, err := a.Elastic.Bulk(ctx, generation.DeltaAlias(l.indices[d], a.state.Delta), &batch, a.Retry)
			for _, no := range all {
				refused[i] = append(refused[i], refusal{part[no.Position], no})
			}
			return err
		})
	}
	if err := sending.Wait(); err != nil {
		return err
	}
	var announced []changes.Change
	for _, no := range slices.Concat(refused[:]...) {
		it := no.item
		if no.Type == "strict_dynamic_mapping_exception" {
			return fault.New(fault.BadRequest, "the generation %s was loaded by another version of Atlas: load all records again (%s)", l.generation, no.Reason)
		}
		counts := a.state.count(d)
		reason := no.Type + ": " + no.Reason
		if it.entry == nil {
			// Its next load will be refused too. Nothing can be done here.
			a.note(fmt.Sprintf("elasticsearch refuses to write %s of %s anew: %s", it.id, d, reason))
			continue
		}
		if it.outcome == created { // the feed has the change
			announced = append(announced, it.gone(d))
		}
		*it.outcome.counter(counts)--
		counts.Refused++
		name := a.nameOf(*it.entry)
		letter := journal.NewDeadLetter(d, name, it.entry.line, []document.Problem{{Reason: reason}}, it.record.AppendPublic(nil))
		if err := a.deadLetters.Add(letter); err != nil {
			return unusable(err, a.folder.deadLetters())
		}
	}
	// This fails if the feed was settled meanwhile, perhaps before the records were written.
	// The group is then written again.
	return a.Feed.Append(ctx, a.state.Delta, announced)
}
