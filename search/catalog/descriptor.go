package catalog

import (
	"slices"
	"strings"
)

// Descriptor describes a key that clients can filter by.
type Descriptor struct {
	Dataset     string `json:"dataset"`
	Key         string `json:"key"`
	Kind        Kind   `json:"kind"`
	Description string `json:"description"`
	// Values lists an enum's values; nil on other kinds.
	Values Vocabulary `json:"values,omitzero"`
	// SubFields lists what a relation's related records can be filtered by;
	// nil on other kinds.
	SubFields []Descriptor `json:"sub_fields,omitzero"`
}

// Open reports whether the descriptor lacks values that must be read from the
// dataset.
func (d Descriptor) Open() bool {
	return d.Kind == Enum && d.Values == nil || slices.ContainsFunc(d.SubFields, Descriptor.Open)
}

// heldPrefix marks the descriptor datasets of books.
const heldPrefix = "workspace_"

// DescriptorDatasets lists the seven groups of descriptors.
func DescriptorDatasets() []string {
	names := []string{string(Accounts), string(Projects), string(Contacts), string(Signals)}
	for _, d := range []Dataset{Accounts, Projects, Contacts} {
		names = append(names, heldPrefix+string(d))
	}
	return names
}

// FrequentValues returns the most frequent values of a dynamic enum of a
// global dataset.
type FrequentValues func(d Dataset, f Field) Vocabulary

// Descriptors lists every descriptor of the seven datasets. frequent returns the
// values of dynamic enums. Those of overlays have none, because each workspace has
// its own. If frequent is nil, the descriptors that need it are Open.
func Descriptors(frequent FrequentValues) []Descriptor {
	var all []Descriptor
	for _, name := range DescriptorDatasets() {
		base := Data
		d := Dataset(name)
		if held, ok := strings.CutPrefix(name, heldPrefix); ok {
			base, d = Book, Dataset(held)
		}
		all = append(all, describe(name, d, FilterFields(d, base), frequent)...)
		for _, rel := range RelationsOf(d) {
			sub := describe(string(rel.Child), rel.Child, FilterFields(rel.Child, Data), frequent)
			has, without := rel.Keys()
			all = append(all,
				Descriptor{Dataset: name, Key: has, Kind: Related, SubFields: sub,
					Description: "Has one related " + rel.Singular + " that meets all of the given filters"},
				Descriptor{Dataset: name, Key: without, Kind: Related, SubFields: sub,
					Description: "Has no related " + rel.Singular + " that meets all of the given filters"})
		}
	}
	return all
}

func describe(name string, d Dataset, fields []Field, frequent FrequentValues) []Descriptor {
	descriptors := make([]Descriptor, len(fields))
	for i, f := range fields {
		row := Descriptor{Dataset: name, Key: f.Key, Kind: f.Kind, Description: f.Description}
		switch {
		case f.Vocabulary != nil:
			row.Values = f.Vocabulary
		case f.Dynamic() && f.Overlay:
			row.Values = Vocabulary{}
		case f.Dynamic() && frequent != nil:
			row.Values = frequent(d, f)
		}
		descriptors[i] = row
	}
	return descriptors
}
