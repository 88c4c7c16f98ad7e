package projection

import (
	"context"
	"slices"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/workspace"
)

// state is which generations are registered, and which of their indices there
// are.
type state struct {
	names      mappings.Names
	registered []workspace.HeldGeneration
	indices    map[string]elastic.Index
}

// look reads the state. It is of no single moment: who changes something has the
// lease of generations.
func (p *Projector) look(ctx context.Context) (state, error) {
	registered, err := p.System.HeldGenerations(ctx)
	if err != nil {
		return state{}, err
	}
	patterns := make([]string, len(query.Held))
	for i, d := range query.Held {
		patterns[i] = p.Names.Held(string(d)) + "-*"
	}
	indices, err := p.Elastic.Indices(ctx, patterns...)
	return state{p.Names, registered, indices}, elastic.FaultOf(err)
}

func (p *Projector) index(g workspace.HeldGeneration) string { return indexOf(p.Names, g) }

func indexOf(names mappings.Names, g workspace.HeldGeneration) string {
	return names.HeldGeneration(string(g.Dataset), g.Generation)
}

// of are the registered generations of a dataset.
func (s state) of(d query.Dataset) []workspace.HeldGeneration {
	return slices.DeleteFunc(slices.Clone(s.registered), func(g workspace.HeldGeneration) bool { return g.Dataset != d })
}

// serving is the generation that searches of a dataset go to, nil when there is
// none.
func (s state) serving(d query.Dataset) *workspace.HeldGeneration {
	for _, g := range s.of(d) {
		if g.Serving {
			return &g
		}
	}
	return nil
}

// there tells whether a generation's index is the one that was registered.
func (s state) there(g workspace.HeldGeneration) bool {
	index, there := s.indices[indexOf(s.names, g)]
	return there && (g.IndexUUID == "" || g.IndexUUID == index.UUID)
}

func (s state) has(g workspace.HeldGeneration, alias string) bool {
	return slices.Contains(s.indices[indexOf(s.names, g)].Aliases, alias)
}

// ready tells whether Prepare has nothing to do: each dataset has a serving
// generation, and the index of every registered one is there, is known, and has
// its aliases.
func (s state) ready() bool {
	for _, d := range query.Held {
		if g := s.serving(d); g == nil || !s.has(*g, s.names.Held(string(d))) {
			return false
		}
	}
	for _, g := range s.registered {
		if g.IndexUUID == "" || !g.Marked || !s.there(g) || !s.has(g, s.names.HeldWrite(string(g.Dataset), g.Generation)) {
			return false
		}
	}
	return true
}
