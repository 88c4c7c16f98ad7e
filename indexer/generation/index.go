package generation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
)

// NewName names a generation, or a delta. Names sort by time: the first 10 of their last 24
// bits are 1024ths of a second, the others are random.
func NewName(now time.Time) string {
	var last [3]byte
	_, _ = rand.Read(last[:])                          // never fails
	part := now.Nanosecond() * 1024 / int(time.Second) // 10 bits
	last[0] = byte(part >> 2)                          // #nosec G115 -- the upper 8
	last[1] = byte(part&3<<6) | last[1]&0x3f           // #nosec G115 -- the lower 2
	return now.UTC().Format(timeLayout) + "-" + hex.EncodeToString(last[:])
}

const timeLayout = "20060102t150405z"

var generationName = regexp.MustCompile(`^\d{8}t\d{6}z-[0-9a-f]{6}$`)

// LoadingAlias is the alias through which a load fills an index. It exists until the
// switch. When the index no longer exists, Elasticsearch refuses writes to the alias
// instead of creating an index. An index with this alias is unfinished.
func LoadingAlias(index string) string { return index + "-loading" }

// DeltaAlias is the alias through which a delta writes to an index. It exists while the
// delta is being applied. When the index no longer exists, Elasticsearch refuses writes to
// it, and later writers see that the delta is unfinished.
func DeltaAlias(index, delta string) string { return index + deltaMark + delta }

const deltaMark = "-delta-"

// Index is an index of a dataset: one of a generation, or a served one.
type Index struct {
	Dataset catalog.Dataset
	Name    string
	// Served means that the dataset's alias points to it, Marked that the switch was made,
	// or is known, by a program that writes the feed of changes.
	Served, Marked bool
	// Loaded means that a load made it, Unfinished that the load has not finished it.
	Loaded, Unfinished bool
	// Deltas are the names of unfinished deltas on it.
	Deltas []string
}

// Indices returns the indices of all datasets, in the order of catalog.Datasets and of
// their names, which is the order of their age.
func Indices(ctx context.Context, es *elastic.Client, names mappings.Names) ([]Index, error) {
	var all []Index
	for _, d := range catalog.Datasets {
		alias := names.Alias(string(d))
		indices, err := es.Indices(ctx, alias+"*")
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(indices)) {
			aliases := indices[name].Aliases
			in := Index{
				Dataset: d, Name: name,
				Served:     slices.Contains(aliases, alias),
				Marked:     slices.Contains(indices[name].Marked, alias),
				Loaded:     generationName.MatchString(names.GenerationOf(string(d), name)),
				Unfinished: slices.Contains(aliases, LoadingAlias(name)),
			}
			for _, alias := range aliases {
				if delta, ok := strings.CutPrefix(alias, name+deltaMark); ok {
					in.Deltas = append(in.Deltas, delta)
				}
			}
			if in.Served || in.Loaded {
				all = append(all, in)
			}
		}
	}
	return all, nil
}

// Marks are the changes that mark the search aliases of served indices. They fail if
// searches have been switched meanwhile.
func Marks(names mappings.Names, all []Index) (changes []elastic.AliasChange) {
	for _, in := range all {
		if in.Served && !in.Marked {
			alias := names.Alias(string(in.Dataset))
			changes = append(
				changes, elastic.AliasChange{Index: in.Name, Alias: alias, Remove: true},
				elastic.AliasChange{Index: in.Name, Alias: alias, Mark: true},
			)
		}
	}
	return changes
}

// OthersThan returns the generations that could be served, but for one.
func OthersThan(names mappings.Names, all []Index, generation string) (others []string) {
	datasets := map[string]int{}
	for _, in := range all {
		name := names.GenerationOf(string(in.Dataset), in.Name)
		if !in.Loaded || in.Unfinished || name == generation {
			continue
		}
		if datasets[name]++; datasets[name] == len(catalog.Datasets) {
			others = append(others, name)
		}
	}
	return others
}

// ServedOf returns the generation of the served indices, "" if they belong to several or to
// none.
func ServedOf(names mappings.Names, all []Index) (served string) {
	datasets := 0
	for _, in := range all {
		if !in.Served {
			continue
		}
		name := names.GenerationOf(string(in.Dataset), in.Name)
		if !in.Loaded || datasets > 0 && name != served {
			return ""
		}
		served = name
		datasets++
	}
	if datasets != len(catalog.Datasets) {
		return ""
	}
	return served
}
