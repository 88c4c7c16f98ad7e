package query

import (
	"slices"
	"strings"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// FieldSearch selects descriptors. If Keys is set, Kind and Query are ignored.
type FieldSearch struct {
	Dataset string
	Kind    catalog.Kind
	// Keys is nil if the request has none. A key that cannot exist is not found, which is
	// not an error.
	Keys  []string
	Query string
}

// MaxKeys bounds the keys of a field search; there are fewer descriptors.
const MaxKeys = 1_000

// DescriptorDatasetRule reads the dataset of a descriptor.
var DescriptorDatasetRule = rule.Enum(catalog.DescriptorDatasets()...).Named("DescriptorDataset")

// FieldSearchRule reads the body of a field search (docs/api.md, "Fields").
var FieldSearchRule = rule.Object(
	rule.Optional("dataset", DescriptorDatasetRule, func(s *FieldSearch) *string { return &s.Dataset }),
	rule.Optional("kind", rule.Enum(catalog.Kinds...), func(s *FieldSearch) *catalog.Kind { return &s.Kind }),
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

// Select returns the requested descriptors, and the keys without a descriptor.
func (s FieldSearch) Select(all []catalog.Descriptor) (found []catalog.Descriptor, notFound []string) {
	chosen, notFound := s.Choose(all)
	found = []catalog.Descriptor{}
	for _, i := range chosen {
		found = append(found, all[i])
	}
	return found, notFound
}

// Choose is Select with the positions of the descriptors in all.
func (s FieldSearch) Choose(all []catalog.Descriptor) (chosen []int, notFound []string) {
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

func (s FieldSearch) matches(d catalog.Descriptor) bool {
	if s.Keys != nil {
		return slices.Contains(s.Keys, d.Key)
	}
	if s.Kind != "" && s.Kind != d.Kind {
		return false
	}
	needle := strings.ToLower(s.Query)
	return strings.Contains(strings.ToLower(d.Key), needle) || strings.Contains(strings.ToLower(d.Description), needle)
}
