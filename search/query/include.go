package query

import "atlas/search/catalog"

// Include is a kind of related records that a request for one record can embed.
type Include struct {
	// Key is the name in `include` and in the answer.
	Key string
	// Dataset of the embedded records.
	Dataset catalog.Dataset
	// One means that at most one record is embedded, as an object. Otherwise the
	// records are an array.
	One bool
	// Link is the field with ids. It is a field of the embedded records when Inward is set,
	// else of the record in which they are embedded.
	Link   string
	Inward bool
}

// MaxIncluded is the maximum number of embedded related records of a kind.
const MaxIncluded = 25

// Includes lists what a record of a dataset can embed: its children, and the records to
// which it links.
func Includes(d catalog.Dataset) []Include {
	var all []Include
	for _, r := range catalog.Relations {
		link, _ := catalog.FieldNamed(r.Child, r.Link)
		switch {
		case r.Parent == d:
			all = append(all, Include{Key: string(r.Child), Dataset: r.Child, Link: r.Link, Inward: true})
		case r.Child == d && link.List():
			all = append(all, Include{Key: string(r.Parent), Dataset: r.Parent, Link: r.Link})
		case r.Child == d:
			all = append(all, Include{Key: r.Parent.Singular(), Dataset: r.Parent, One: true, Link: r.Link})
		}
	}
	return all
}
