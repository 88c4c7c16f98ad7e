package delta

import (
	"cmp"
	"context"

	"atlas/indexer/extsort"
	"atlas/indexer/merges"
	"atlas/search/catalog"
)

// work says why a record must be processed.
type work struct {
	id    recordID
	entry *entry // nil if no line names the record
	dirty bool   // its related records changed
	// unmerged says why the entry's merge cannot be applied; 0 if it can.
	unmerged merges.Reason
}

// mergeIterator merges the list of a dataset with its dirty records by id, from where the pass
// stopped.
type mergeIterator struct {
	dataset             catalog.Dataset
	path                string // of the list
	list, dirty         *extsort.Iterator
	unmerged            *extsort.Iterator
	hasListed, hasDirty bool // whether list and dirty are at an entry
	hasUnmerged         bool
}

func (a *apply) newMergeIterator(
	ctx context.Context, s *state, d catalog.Dataset, listed map[catalog.Dataset]extsort.Run, dirty *idLog,
) (*mergeIterator, error) {
	sorter := extsort.New(extsort.Options{Dir: a.folder.scratch(), Name: string(d) + "-dirty", KeySize: idSize, Memory: sortMemory})
	w := sorter.Writer()
	err := dirty.each(4096, func(ids []recordID) error {
		for _, id := range ids {
			if err := w.Add(id[:], nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	var processed []byte
	if s.Done != (recordID{}) {
		processed = s.Done[:]
	}
	it := &mergeIterator{dataset: d, path: a.folder.list(d)}
	if it.dirty, err = sorter.IterateAfter(ctx, processed); err != nil {
		return nil, err
	}
	var runs []extsort.Run
	if run, has := listed[d]; has {
		runs = append(runs, run)
	}
	if it.list, err = extsort.Open(ctx, extsort.Options{Dir: a.folder.path, KeySize: idSize, Keep: true}, runs, processed); err != nil {
		it.dirty.Close()
		return nil, unusable(err, it.path)
	}
	var unmerged []extsort.Run
	if s.Unmerged != nil {
		unmerged = append(unmerged, *s.Unmerged)
	}
	if it.unmerged, err = extsort.Open(
		ctx, extsort.Options{Dir: a.folder.path, KeySize: idSize, Keep: true}, unmerged, processed,
	); err != nil {
		it.dirty.Close()
		it.list.Close()
		return nil, unusable(err, a.folder.unmerged(d))
	}
	it.hasListed, it.hasDirty, it.hasUnmerged = it.list.Next(), it.dirty.Next(), it.unmerged.Next()
	return it, nil
}

// page returns the next records, at most size.
func (it *mergeIterator) page(size int) ([]*work, error) {
	var page []*work
	for len(page) < size && (it.hasListed || it.hasDirty) {
		w := &work{}
		if it.hasListed {
			w.id = recordID(it.list.Key())
		}
		if it.hasDirty {
			if dirty := recordID(it.dirty.Key()); !it.hasListed || !dirty.after(w.id) {
				w.id, w.dirty = dirty, true
			}
		}
		for it.hasDirty && recordID(it.dirty.Key()) == w.id {
			it.hasDirty = it.dirty.Next()
		}
		if it.hasListed && recordID(it.list.Key()) == w.id {
			e, err := decodeEntry(it.dataset, w.id, it.list.Payload())
			if err != nil {
				return nil, unusable(err, it.path)
			}
			w.entry = &e
			it.hasListed = it.list.Next()
			if it.hasUnmerged && recordID(it.unmerged.Key()) == w.id {
				w.unmerged = merges.Reason(it.unmerged.Payload()[0])
				it.hasUnmerged = it.unmerged.Next()
			}
		}
		page = append(page, w)
	}
	if err := cmp.Or(it.list.Err(), it.unmerged.Err()); err != nil {
		return nil, unusable(err, it.path)
	}
	return page, it.dirty.Err()
}

func (it *mergeIterator) close() {
	it.dirty.Close()
	it.list.Close()
	it.unmerged.Close()
}
