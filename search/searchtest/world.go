package searchtest

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"atlas/search/catalog"
	"atlas/search/document"
)

// World is a set of records in memory that are linked to each other.
type World struct {
	records map[catalog.Dataset][]document.Record
}

// NewWorld returns an empty World.
func NewWorld() *World { return &World{map[catalog.Dataset][]document.Record{}} }

// Add adds records, whose ids must be new.
func (w *World) Add(records ...document.Record) {
	for _, r := range records {
		w.records[r.Dataset] = append(w.records[r.Dataset], r)
	}
}

// Records lists the records of a dataset. Their derived fields are set by Documents.
func (w *World) Records(d catalog.Dataset) []document.Record { return w.records[d] }

// Document is a document of an index.
type Document struct {
	ID   string
	Body []byte
}

// Documents builds the documents of all records with their children. The signals arrive in
// 2100, one millisecond apart, so that they are in every queue.
func (w *World) Documents() map[catalog.Dataset][]Document {
	all := map[catalog.Dataset][]Document{}
	related := links{}
	firms := FirmNames(slices.Values(w.records[catalog.Accounts]))
	for _, d := range catalog.Datasets { // children before parents
		for i, r := range w.records[d] {
			r.SetFirms(firms)
			doc := document.Build(r, children{related, d, r.ID()})
			if d == catalog.Signals {
				doc = document.WithArrival(doc, time.Date(2100, 1, 1, 0, 0, 0, i*1_000_000, time.UTC).UnixMilli())
			}
			all[d] = append(all[d], Document{r.ID(), doc})
			related.add(r)
		}
		related.sort(d)
	}
	return all
}

// FirmNames are the names of accounts by id.
func FirmNames(accounts iter.Seq[document.Record]) map[string]string {
	names := map[string]string{}
	for r := range accounts {
		names[r.ID()], _ = r.Value("name").(string)
	}
	return names
}

// link is the key of the children of one parent in one dataset.
type link struct {
	parent catalog.Dataset
	id     string
	child  catalog.Dataset
}

type linked struct {
	document.Child
	id     string
	newest int64
}

type links map[link][]linked

func (l links) add(r document.Record) {
	fragment := document.Fragment(r)
	for _, rel := range catalog.Relations {
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

// sort sorts the children of a dataset, the newest first.
func (l links) sort(child catalog.Dataset) {
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
	parent catalog.Dataset
	id     string
}

func (c children) Count(d catalog.Dataset) int64 {
	return int64(len(c.links[link{c.parent, c.id, d}]))
}

func (c children) Newest(d catalog.Dataset) []document.Child {
	var newest []document.Child
	for _, child := range c.links[link{c.parent, c.id, d}] {
		if len(newest) == catalog.MaxChildren {
			break
		}
		newest = append(newest, child.Child)
	}
	return newest
}
