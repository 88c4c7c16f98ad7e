package searchtest

import (
	"cmp"
	"slices"

	"atlas/search/document"
	"atlas/search/query"
)

// World is a set of records that are linked to each other, in memory.
type World struct {
	records map[query.Dataset][]document.Record
}

// NewWorld returns an empty World.
func NewWorld() *World { return &World{map[query.Dataset][]document.Record{}} }

// Add adds records; none of an id that is there already.
func (w *World) Add(records ...document.Record) {
	for _, r := range records {
		w.records[r.Dataset] = append(w.records[r.Dataset], r)
	}
}

// Records lists a dataset's records. Their derived fields are set once
// Documents was called.
func (w *World) Records(d query.Dataset) []document.Record { return w.records[d] }

// Document is what is indexed under an id.
type Document struct {
	ID   string
	Body []byte
}

// Documents builds the documents of all records, children merged in.
func (w *World) Documents() map[query.Dataset][]Document {
	all := map[query.Dataset][]Document{}
	related := links{}
	for _, d := range query.Datasets { // children come before their parents
		for _, r := range w.records[d] {
			doc := document.Build(r, children{related, d, r.ID()})
			all[d] = append(all[d], Document{r.ID(), doc})
			related.add(r)
		}
		related.sort(d)
	}
	return all
}

// link is one parent's children of a kind.
type link struct {
	parent query.Dataset
	id     string
	child  query.Dataset
}

type linked struct {
	document.Child
	id     string
	newest int64
}

type links map[link][]linked

func (l links) add(r document.Record) {
	fragment := document.Fragment(r)
	for _, rel := range query.Relations {
		if rel.Child != r.Dataset {
			continue
		}
		c := linked{document.Child{DetectedAt: r.Millis("detected_at"), Fragment: fragment}, r.ID(), r.Millis(rel.Newest)}
		for _, parent := range r.Parents(rel) {
			key := link{rel.Parent, parent, rel.Child}
			l[key] = append(l[key], c)
		}
	}
}

// sort puts the children of a kind in order, the newest first.
func (l links) sort(child query.Dataset) {
	for key, all := range l {
		if key.child == child {
			slices.SortFunc(all, func(a, b linked) int {
				return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(a.id, b.id))
			})
		}
	}
}

// children are those of one record.
type children struct {
	links  links
	parent query.Dataset
	id     string
}

func (c children) Count(d query.Dataset) int64 {
	return int64(len(c.links[link{c.parent, c.id, d}]))
}

func (c children) Newest(d query.Dataset) []document.Child {
	var newest []document.Child
	for _, child := range c.links[link{c.parent, c.id, d}] {
		if len(newest) == query.MaxChildren {
			break
		}
		newest = append(newest, child.Child)
	}
	return newest
}
