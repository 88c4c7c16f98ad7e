package query

import (
	"slices"
	"strconv"
	"strings"

	"atlas/internal/input"
)

// Descriptor tells a client of a key it can filter by.
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

// Open tells whether values are missing in it that are read from the dataset.
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

// Descriptors lists every descriptor of the seven datasets. frequent is asked
// for the values of dynamic enums; an overlay's have none, for they are each
// workspace's own. When frequent is nil the descriptors that need it are Open.
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
			all = append(all,
				Descriptor{Dataset: name, Key: "has_" + rel.Singular, Kind: Related, SubFields: sub,
					Description: "Has one related " + rel.Singular + " that meets all of the given filters"},
				Descriptor{Dataset: name, Key: "without_" + rel.Singular, Kind: Related, SubFields: sub,
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

// FieldSearch narrows the descriptors. With Keys, Kind and Query do not count.
type FieldSearch struct {
	Dataset string
	Kind    Kind
	Keys    []string
	HasKeys bool
	Query   string
}

// ParseFieldSearch reads the body of a field search (docs/api.md, "Fields").
func ParseFieldSearch(body input.Value) (FieldSearch, error) {
	var issues input.Issues
	r := issues.Object(body)
	s := FieldSearch{Dataset: r.OneOf("dataset", DescriptorDatasets()...)}
	kinds := make([]string, len(Kinds))
	for i, k := range Kinds {
		kinds[i] = string(k)
	}
	s.Kind = Kind(r.OneOf("kind", kinds...))
	if v := r.Take("keys"); v.Kind != input.Absent {
		s.HasKeys = true
		s.Keys = exactKeys(&issues, v)
	}
	if v := r.Take("query"); v.Kind != input.Absent {
		s.Query, _ = issues.String(v, input.Text{Max: MaxQuery}, "query")
	}
	r.Done()
	return s, issues.Err()
}

// MaxKeys bounds the keys of a field search; there are fewer descriptors.
const MaxKeys = 1_000

// exactKeys reads the keys as they are, each once: one that no field can have
// is not found, which is no error.
func exactKeys(issues *input.Issues, v input.Value) []string {
	if v.Kind != input.Array {
		issues.WrongType([]string{"keys"}, "an array of strings", v)
		return nil
	}
	if !issues.Length(len(v.Items), 0, MaxKeys, "keys") {
		return nil
	}
	keys := []string{}
	for i, item := range v.Items {
		switch {
		case item.Kind != input.String:
			issues.WrongType([]string{"keys", strconv.Itoa(i)}, "a string", item)
		case !slices.Contains(keys, item.Text):
			keys = append(keys, item.Text)
		}
	}
	return keys
}

// Select returns the descriptors that are asked for, and the keys that none
// has.
func (s FieldSearch) Select(all []Descriptor) (found []Descriptor, notFound []string) {
	found, notFound = []Descriptor{}, []string{}
	seen := map[string]bool{}
	for _, d := range all {
		if (s.Dataset == "" || s.Dataset == d.Dataset) && s.matches(d) {
			found = append(found, d)
			seen[d.Key] = true
		}
	}
	for _, key := range s.Keys {
		if !seen[key] {
			notFound = append(notFound, key)
		}
	}
	return found, notFound
}

func (s FieldSearch) matches(d Descriptor) bool {
	if s.HasKeys {
		return slices.Contains(s.Keys, d.Key)
	}
	if s.Kind != "" && s.Kind != d.Kind {
		return false
	}
	needle := strings.ToLower(s.Query)
	return strings.Contains(strings.ToLower(d.Key), needle) || strings.Contains(strings.ToLower(d.Description), needle)
}
