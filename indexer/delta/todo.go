package delta

import (
	"context"

	"atlas/indexer/extsort"
	"atlas/search/query"
)

// work is what there is to do about one record.
type work struct {
	id    recordID
	entry *entry // nil: no line is about it
	dirty bool   // its related records changed
}

// todo walks the records of a dataset that are in its list or dirty, in the
// order of ids, from the place that was reached.
type todo struct {
	list  *listReader // nil when there is none
	next  *entry
	dirty *extsort.Iterator
	has   bool // dirty stands on an id
	after recordID
}

func (a *apply) newTodo(ctx context.Context, s *state, d query.Dataset, dirty *idLog) (*todo, error) {
	sorter := extsort.New(extsort.Options{Dir: a.folder.scratch(), Name: string(d) + "-dirty", KeySize: idSize, Memory: sortMemory})
	w := sorter.Writer()
	err := dirty.each(4096, func(ids []recordID) error {
		for _, id := range ids {
			if !id.past(s.Done) {
				continue
			}
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
	t := &todo{after: s.Done}
	if t.dirty, err = sorter.Iterate(ctx); err != nil {
		return nil, err
	}
	t.has = t.dirty.Next()
	if s.Entries[d] > 0 {
		if t.list, err = openList(a.folder.list(d), d, s.Entries[d]); err == nil {
			err = t.read()
		}
		if err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

// read puts the next entry of the list into next.
func (t *todo) read() error {
	e, ok, err := t.list.next(t.after)
	if t.next = nil; ok {
		t.next = &e
	}
	return err
}

// page returns the next records, at most size.
func (t *todo) page(size int) ([]*work, error) {
	var page []*work
	for len(page) < size && (t.next != nil || t.has) {
		var w work
		switch {
		case t.has && (t.next == nil || !recordID(t.dirty.Key()).past(t.next.id)):
			w = work{id: recordID(t.dirty.Key()), dirty: true}
		default:
			w = work{id: t.next.id}
		}
		for t.has && recordID(t.dirty.Key()) == w.id {
			t.has = t.dirty.Next()
		}
		if t.next != nil && t.next.id == w.id {
			w.entry = t.next
			if err := t.read(); err != nil {
				return nil, err
			}
		}
		page = append(page, &w)
	}
	return page, t.dirty.Err()
}

func (t *todo) close() {
	t.dirty.Close()
	if t.list != nil {
		t.list.close()
	}
}
