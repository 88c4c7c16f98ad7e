package delta

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// live is the served generation, or that of Options.Erase.
type live struct {
	generation string
	indices    map[catalog.Dataset]string
	// marks are the names of deltas that have begun on it and not finished.
	marks []string
}

// findLive finds the generation to write to.
func (a *apply) findLive(ctx context.Context) (live, error) {
	l := live{indices: map[catalog.Dataset]string{}}
	var all []generation.Index
	err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		all, err = generation.Indices(ctx, a.Elastic, a.Names)
		return err
	})
	if err != nil {
		return l, err
	}
	for _, in := range all {
		if !a.writesTo(in) {
			continue
		}
		name := a.Names.GenerationOf(string(in.Dataset), in.Name)
		l.generation = cmp.Or(l.generation, name)
		if l.indices[in.Dataset] != "" || name == "" || name != l.generation {
			return l, fault.New(fault.Internal, "the datasets are not of one generation: %s is %s, and another one %s", in.Dataset, in.Name, l.generation)
		}
		l.indices[in.Dataset] = in.Name
		l.marks = append(l.marks, in.Deltas...)
	}
	for _, d := range catalog.Datasets {
		if l.indices[d] == "" {
			return l, fault.New(fault.BadRequest, "no records of %s are served yet: load all first", d)
		}
	}
	slices.Sort(l.marks)
	l.marks = slices.Compact(l.marks)
	return l, a.checkFolding(ctx, l)
}

// checkFolding refuses a generation whose texts another version folded: searches would not find
// the documents of a delta like the others.
func (a *apply) checkFolding(ctx context.Context, l live) error {
	var all map[string]elastic.MappingMeta
	err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		all, err = a.Elastic.MappingMeta(ctx, slices.Collect(maps.Values(l.indices))...)
		return err
	})
	if err != nil {
		return err
	}
	for _, index := range l.indices {
		if is := catalog.FoldingNamed(all[index].Folding); is != catalog.NewestFolding {
			return fault.New(fault.BadRequest,
				"the generation %s has texts folded by version %d, and this version of Atlas folds by version %d: load all records with atlas index load, then apply the delta",
				l.generation, is, catalog.NewestFolding)
		}
	}
	return nil
}

// setMarks adds the alias of a delta to the indices or, with remove, removes the aliases of
// deltas.
func (a *apply) setMarks(ctx context.Context, l live, remove bool, deltas ...string) error {
	return a.Retry.Do(ctx, func(ctx context.Context) error {
		// Read each time: the change may have been made although its answer was lost.
		all, err := generation.Indices(ctx, a.Elastic, a.Names)
		if err != nil {
			return err
		}
		var changes []elastic.AliasChange
		for _, in := range all {
			for _, delta := range deltas {
				if in.Name == l.indices[in.Dataset] && slices.Contains(in.Deltas, delta) == remove {
					changes = append(changes, elastic.AliasChange{Index: in.Name, Alias: generation.DeltaAlias(in.Name, delta), Remove: remove})
				}
			}
		}
		if len(changes) == 0 {
			return nil
		}
		return a.Elastic.ChangeAliases(ctx, changes)
	})
}

// refuseForeign refuses to apply a delta while one of another work folder is unfinished:
// related records may still lack its changes, and only that work folder knows which.
func (a *apply) refuseForeign(ctx context.Context, l live, own string) error {
	var erasures []string
	foreign := slices.DeleteFunc(slices.Clone(l.marks), func(delta string) bool {
		if erasure := strings.HasPrefix(delta, eraseMark); erasure && delta != own {
			erasures = append(erasures, delta) // the holder of the list starts it over
		}
		return delta == own || strings.HasPrefix(delta, eraseMark)
	})
	if len(erasures) > 0 {
		if err := a.setMarks(ctx, l, true, erasures...); err != nil {
			return err
		}
	}
	if len(foreign) == 0 || a.Erase != nil { // the deletions of an erasure do not wait for others
		return nil
	}
	if !a.Abandon {
		return fault.New(fault.BadRequest,
			"the delta %s was begun on this generation and not finished on it, and this work folder does not know it: apply it again with the one that does, or, when it was given up or finished on another generation, go on without it with --abandon",
			strings.Join(foreign, ", "))
	}
	a.note(fmt.Sprintf("given up: the delta %s; what it changed stays, and counts and dates derived from it may be wrong until the next load", strings.Join(foreign, ", ")))
	return a.setMarks(ctx, l, true, foreign...)
}
