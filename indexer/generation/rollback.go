package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
)

// GenerationOptions say where generations are and who else may be at work.
// Elastic is required.
type GenerationOptions struct {
	Elastic *elastic.Client
	Names   mappings.Names
	// Lease keeps loads and deltas out. Nil: the caller does.
	Lease Lease
	// Listener is told of a switch. Nil: nobody is.
	Listener Listener
	// Retry is how long an Elasticsearch that is away or busy is borne.
	Retry elastic.Retry
}

// held runs work under the lease of all who write global records.
func (o GenerationOptions) held(ctx context.Context, work func(context.Context) error) error {
	return Alone(ctx, o.Lease, work)
}

// RollbackReport is what became of a rollback.
type RollbackReport struct {
	// Switched: searches go to the generation To.
	Switched bool `json:"switched"`
	// From are the generations that were served before: one, unless somebody
	// has changed the aliases by hand.
	From []string `json:"from"`
	To   string   `json:"to"`
	// Documents of the generation that is served now.
	Documents int64 `json:"documents"`
	// Notes say what is not as it should be in that generation.
	Notes []string `json:"notes,omitempty"`
}

// Rollback switches searches of all datasets to another complete generation in
// one step: to the one named, or, when to is "", to the newest of those before
// the served one. Nothing is deleted. It is refused (fault.BadRequest) when
// there is no such generation, when it is not complete, cannot be read whole, or
// is served already. The Listener is told after the switch, as by Load; when
// that fails, the report says Switched all the same.
func Rollback(ctx context.Context, o GenerationOptions, to string) (RollbackReport, error) {
	report := RollbackReport{From: []string{}}
	err := o.held(ctx, func(ctx context.Context) error { return o.rollback(ctx, to, &report) })
	return report, err
}

func (o GenerationOptions) rollback(ctx context.Context, to string, report *RollbackReport) error {
	all, err := Generations(ctx, o.Elastic, o.Names)
	if err != nil {
		return err
	}
	target, err := rollbackTarget(all, to)
	if err != nil {
		return err
	}
	report.To, report.Documents = target.Name, target.Documents
	for _, delta := range target.Deltas {
		// Whoever goes back may have nowhere better to go: it is said, and done.
		report.Notes = append(report.Notes, fmt.Sprintf(
			"the delta %s was begun on the generation %s and not finished: some related records, counts and dates may not follow what it changed, until it is applied again where it was begun, or all is loaded again",
			delta, target.Name))
	}
	changes, err := o.aliasChanges(ctx, target, report)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := o.Elastic.ChangeAliases(ctx, changes); err != nil {
		// The answer may have been lost, and the switch not.
		served, lookErr := o.isServed(context.WithoutCancel(ctx), target)
		if lookErr != nil {
			return errors.Join(fault.Wrap(err, fault.Unavailable,
				"elasticsearch did not say whether the generation %s is served now", target.Name), lookErr)
		}
		if !served {
			return err
		}
	}
	report.Switched = true
	return tellSwitched(ctx, o.Listener, target.Name)
}

// aliasChanges move every alias from what it points to now.
func (o GenerationOptions) aliasChanges(ctx context.Context, target Generation, report *RollbackReport) ([]elastic.AliasChange, error) {
	now, err := listExisting(ctx, o.Elastic, o.Names)
	if err != nil {
		return nil, err
	}
	var changes []elastic.AliasChange
	for _, in := range target.Datasets {
		changes = append(changes, elastic.AliasChange{Index: in.Index, Alias: o.Names.Alias(string(in.Dataset))})
	}
	for _, e := range now {
		if !e.served || slices.Contains(target.indices(), e.index) {
			continue
		}
		// Had someone else switched meanwhile, this would fail, and all with it.
		changes = append(changes, elastic.AliasChange{Index: e.index, Alias: o.Names.Alias(string(e.dataset)), Remove: true})
		name := o.Names.GenerationOf(string(e.dataset), e.index)
		if name == "" {
			name = e.index
		}
		if !slices.Contains(report.From, name) {
			report.From = append(report.From, name)
		}
	}
	return changes, nil
}

// rollbackTarget is the generation to go to, which must be fit to be served.
func rollbackTarget(all []Generation, to string) (Generation, error) {
	if to == "" {
		served := slices.IndexFunc(all, func(g Generation) bool { return g.State == Served })
		for _, g := range all[served+1:] {
			if g.State == Previous || g.State == Complete {
				return g, g.readable()
			}
		}
		return Generation{}, fault.New(fault.BadRequest, "no complete generation is there from before the served one%s", others(all, Previous, Complete))
	}
	i := slices.IndexFunc(all, func(g Generation) bool { return g.Name == to })
	if i < 0 {
		return Generation{}, fault.New(fault.BadRequest, "there is no generation %s%s", to, others(all, Previous, Complete))
	}
	g := all[i]
	switch {
	case !g.complete():
		return g, fault.New(fault.BadRequest, "the generation %s is not complete: its load was not finished, or some of its indices are gone", to)
	case !slices.ContainsFunc(g.Datasets, func(in GenerationIndex) bool { return !in.Served }):
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

// others names the generations of some states, for whoever named none of them.
func others(all []Generation, states ...State) string {
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

func (o GenerationOptions) isServed(ctx context.Context, g Generation) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = o.Retry.Do(ctx, func(ctx context.Context) error {
		now, err := listExisting(ctx, o.Elastic, o.Names)
		served = true
		for _, d := range query.Datasets {
			served = served && slices.ContainsFunc(now, func(e existing) bool {
				return e.served && e.dataset == d && slices.Contains(g.indices(), e.index)
			})
		}
		return err
	})
	return served, err
}

// tellSwitched tells the listener of a switch. It has happened, so the listener
// hears of it even when the work is being cancelled.
func tellSwitched(ctx context.Context, l Listener, generation string) error {
	if l == nil {
		return nil
	}
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := l.Switched(told, generation); err != nil {
		return fault.Wrap(err, fault.Internal, "the generation %s is served, but those who keep copies of its records could not be told", generation)
	}
	return nil
}
