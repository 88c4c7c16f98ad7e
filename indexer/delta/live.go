package delta

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/query"
)

// live is the generation that searches go to.
type live struct {
	generation string
	indices    map[query.Dataset]string
	// marks are the names of deltas that were begun on it and not finished.
	marks []string
}

func (a *apply) mark(index, delta string) string { return index + indexer.DeltaMark + delta }

// findLive looks where searches go.
func (a *apply) findLive(ctx context.Context) (live, error) {
	l := live{indices: map[query.Dataset]string{}}
	all, err := a.aliases(ctx)
	if err != nil {
		return l, err
	}
	marks := map[string]bool{}
	for _, d := range query.Datasets {
		for index, aliases := range all {
			if !slices.Contains(aliases, a.Names.Alias(string(d))) {
				continue
			}
			generation := a.Names.GenerationOf(string(d), index)
			if l.generation == "" {
				l.generation = generation
			}
			if l.indices[d] != "" || generation == "" || generation != l.generation {
				return l, fault.New(fault.Internal, "the datasets are not of one generation: %s is %s, and another one %s", d, index, l.generation)
			}
			l.indices[d] = index
			for _, alias := range aliases {
				if delta, ok := strings.CutPrefix(alias, index+indexer.DeltaMark); ok {
					marks[delta] = true
				}
			}
		}
		if l.indices[d] == "" {
			return l, fault.New(fault.BadRequest, "no records of %s are served yet: load all first", d)
		}
	}
	l.marks = slices.Sorted(maps.Keys(marks))
	return l, nil
}

// aliases are the installation's indices, each with its aliases.
func (a *apply) aliases(ctx context.Context) (indices map[string][]string, err error) {
	err = a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		indices, err = a.Elastic.Aliases(ctx, a.Names.Prefix+"*")
		return err
	})
	return indices, err
}

// setMarks gives the indices the mark of a delta or, with remove, takes away
// those of deltas.
func (a *apply) setMarks(ctx context.Context, l live, remove bool, deltas ...string) error {
	return a.Retry.Do(ctx, func(ctx context.Context) error {
		// Looked at each time: an answer may have been lost, and the change not.
		there, err := a.aliases(ctx)
		if err != nil {
			return err
		}
		var changes []elastic.AliasChange
		for _, d := range query.Datasets {
			index := l.indices[d]
			for _, delta := range deltas {
				alias := a.mark(index, delta)
				if slices.Contains(there[index], alias) == remove {
					changes = append(changes, elastic.AliasChange{Index: index, Alias: alias, Remove: remove})
				}
			}
		}
		if len(changes) == 0 {
			return nil
		}
		return a.Elastic.ChangeAliases(ctx, changes)
	})
}

// admit refuses to go on beside a delta that was begun elsewhere and not
// finished: related records may not follow yet what it changed, and only its own
// work folder knows which.
func (a *apply) admit(ctx context.Context, l live, own string) error {
	foreign := slices.DeleteFunc(slices.Clone(l.marks), func(delta string) bool { return delta == own })
	if len(foreign) == 0 {
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
