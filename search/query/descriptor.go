package query

import (
	"slices"
	"strings"

	"atlas/internal/rule"
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
			has, without := rel.keys()
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

// FieldSearch selects descriptors. If Keys is set, Kind and Query are ignored.
type FieldSearch struct {
	Dataset string
	Kind    Kind
	// Keys is nil if the request has none. An impossible key is not found, which is
	// not an error.
	Keys  []string
	Query string
}

// MaxKeys bounds the keys of a field search; there are fewer descriptors.
const MaxKeys = 1_000

// DescriptorDatasetRule reads the dataset of a descriptor.
var DescriptorDatasetRule = rule.Enum(DescriptorDatasets()...).Named("DescriptorDataset")

// FieldSearchRule reads the body of a field search (docs/api.md, "Fields").
var FieldSearchRule = rule.Object(
	rule.Optional("dataset", DescriptorDatasetRule, func(s *FieldSearch) *string { return &s.Dataset }),
	rule.Optional("kind", rule.Enum(Kinds...), func(s *FieldSearch) *Kind { return &s.Kind }),
	rule.Optional("keys", rule.Map(rule.Array("strings", rule.Exact(), 0, MaxKeys), distinct).Described("Exact keys."),
		func(s *FieldSearch) *[]string { return &s.Keys }),
	rule.Optional("query", rule.Text(0, MaxQuery).Described("A part of key or description, in any case."),
		func(s *FieldSearch) *string { return &s.Query }),
)

func distinct(keys []string) []string {
	each, seen := make([]string, 0, len(keys)), map[string]bool{}
	for _, key := range keys {
		if !seen[key] {
			each = append(each, key)
		}
		seen[key] = true
	}
	return each
}

// Select returns the requested descriptors, and the keys that no descriptor has.
func (s FieldSearch) Select(all []Descriptor) (found []Descriptor, notFound []string) {
	chosen, notFound := s.Choose(all)
	found = []Descriptor{}
	for _, i := range chosen {
		found = append(found, all[i])
	}
	return found, notFound
}

// Choose is Select with the places of the descriptors in all.
func (s FieldSearch) Choose(all []Descriptor) (chosen []int, notFound []string) {
	notFound = []string{}
	seen := map[string]bool{}
	for i, d := range all {
		if (s.Dataset == "" || s.Dataset == d.Dataset) && s.matches(d) {
			chosen = append(chosen, i)
			seen[d.Key] = true
		}
	}
	for _, key := range s.Keys {
		if !seen[key] {
			notFound = append(notFound, key)
		}
	}
	return chosen, notFound
}

func (s FieldSearch) matches(d Descriptor) bool {
	if s.Keys != nil {
		return slices.Contains(s.Keys, d.Key)
	}
	if s.Kind != "" && s.Kind != d.Kind {
		return false
	}
	needle := strings.ToLower(s.Query)
	return strings.Contains(strings.ToLower(d.Key), needle) || strings.Contains(strings.ToLower(d.Description), needle)
}
