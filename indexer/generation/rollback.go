package generation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"atlas/internal/elastic"
	"atlas/internal/fault"
)

// RollbackReport is the outcome of a rollback.
type RollbackReport struct {
	// Switched means that searches use the generation To.
	Switched bool `json:"switched"`
	// From are the generations that were served before: one, unless the aliases were
	// changed by hand.
	From []string `json:"from"`
	To   string   `json:"to"`
	// Documents is the number of documents of the generation that is now served.
	Documents int64 `json:"documents"`
	// Notes say what is wrong with that generation.
	Notes []string `json:"notes,omitempty"`
}

// Rollback switches searches of all datasets to another complete generation in one step: to
// the named one or, when to is "", to the newest one before the served one. It deletes
// nothing. Error: fault.BadRequest if the generation does not exist, is not complete, lacks
// shards or is already served. The Listener is notified after the switch; when that fails,
// the report says Switched despite the error.
func Rollback(ctx context.Context, o Options, to string) (RollbackReport, error) {
	report := RollbackReport{From: []string{}}
	err := WithLease(ctx, o.Lease, func(ctx context.Context) error { return o.rollback(ctx, to, &report) })
	return report, err
}

func (o Options) rollback(ctx context.Context, to string, report *RollbackReport) error {
	all, err := List(ctx, o.Elastic, o.Names)
	if err != nil {
		return err
	}
	target, err := rollbackTarget(all, to)
	if err != nil {
		return err
	}
	report.To, report.Documents = target.Name, target.Documents
	for _, delta := range target.Deltas {
		// This is only a note: there may be no better generation to go back to.
		report.Notes = append(report.Notes, fmt.Sprintf(
			"the delta %s was begun on the generation %s and not finished: some related records, counts and dates may not follow what it changed, until it is applied again where it was begun, or all is loaded again",
			delta, target.Name))
	}
	if o.Purge != nil {
		if err := o.Purge(ctx, target.Name); err != nil {
			return err
		}
	}
	changes, err := o.aliasChanges(ctx, target, report)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	report.Switched, err = o.Switch(ctx, changes, target.indices(),
		fmt.Sprintf("elasticsearch did not say whether the generation %s is served now", target.Name))
	if err != nil {
		return err
	}
	return o.NotifySwitched(ctx, target.Name)
}

// aliasChanges move the alias of every dataset to the target.
func (o Options) aliasChanges(ctx context.Context, target Generation, report *RollbackReport) ([]elastic.AliasChange, error) {
	now, err := Indices(ctx, o.Elastic, o.Names)
	if err != nil {
		return nil, err
	}
	var changes []elastic.AliasChange
	for _, in := range target.Datasets {
		changes = append(changes, elastic.AliasChange{Index: in.Index, Alias: o.Names.Alias(string(in.Dataset))})
	}
	var served []Index
	for _, in := range now {
		if !in.Served || slices.Contains(target.indices(), in.Name) {
			continue
		}
		served = append(served, in)
		name := cmp.Or(o.Names.GenerationOf(string(in.Dataset), in.Name), in.Name)
		if !slices.Contains(report.From, name) {
			report.From = append(report.From, name)
		}
	}
	return append(changes, o.RemoveAliases(served)...), nil
}

// rollbackTarget returns the generation to switch to, which must be complete and
// readable.
func rollbackTarget(all []Generation, to string) (Generation, error) {
	if to == "" {
		served := slices.IndexFunc(all, func(g Generation) bool { return g.State == Served })
		for _, g := range all[served+1:] {
			if g.State == Previous || g.State == Complete {
				return g, g.readable()
			}
		}
		return Generation{}, fault.New(
			fault.BadRequest, "no complete generation is there from before the served one%s",
			Suggest(all, Previous, Complete),
		)
	}
	i := slices.IndexFunc(all, func(g Generation) bool { return g.Name == to })
	if i < 0 {
		return Generation{}, fault.New(fault.BadRequest, "there is no generation %s%s", to, Suggest(all, Previous, Complete))
	}
	g := all[i]
	switch {
	case !g.complete():
		return g, fault.New(fault.BadRequest, "the generation %s is not complete: its load was not finished, or some of its indices are gone", to)
	case !slices.ContainsFunc(g.Datasets, func(in DatasetIndex) bool { return !in.Served }):
		return g, fault.New(fault.BadRequest, "the generation %s is served already", to)
	}
	return g, g.readable()
}

func (g *Generation) readable() error {
	for _, in := range g.Datasets {
		if in.Health == "red" {
			return fault.New(fault.BadRequest, "the generation %s cannot be served: shards of %s are missing", g.Name, in.Index)
		}
	}
	return nil
}

// Suggest lists the generations in some states, for the end of an error message
// about a name.
func Suggest(all []Generation, states ...State) string {
	var names []string
	for _, g := range all {
		if slices.Contains(states, g.State) {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; these could be named: " + strings.Join(names, ", ")
}
