package projection

import (
	"context"
	"slices"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/workspace/held"
)

// indexState is the registered generations and the existing held indices.
type indexState struct {
	names      mappings.Names
	registered []held.Generation
	indices    map[string]elastic.Index
}

// readState reads Postgres, then Elasticsearch, so the state may be inconsistent. A
// process that changes generations holds their lease.
func (p *Projector) readState(ctx context.Context) (indexState, error) {
	registered, err := p.System.HeldGenerations(ctx)
	if err != nil {
		return indexState{}, err
	}
	patterns := make([]string, len(catalog.Held))
	for i, d := range catalog.Held {
		patterns[i] = p.Names.Held(string(d)) + "-*"
	}
	indices, err := p.Elastic.Indices(ctx, patterns...)
	return indexState{p.Names, registered, indices}, elastic.FaultOf(err)
}

func (p *Projector) indexName(g held.Generation) string { return indexName(p.Names, g) }

func indexName(names mappings.Names, g held.Generation) string {
	return names.HeldGeneration(string(g.Dataset), g.Generation)
}

// generations lists the registered generations of a dataset.
func (s indexState) generations(d catalog.Dataset) []held.Generation {
	return slices.DeleteFunc(slices.Clone(s.registered), func(g held.Generation) bool { return g.Dataset != d })
}

// serving is the generation that searches of a dataset use, nil for none.
func (s indexState) serving(d catalog.Dataset) *held.Generation {
	for _, g := range s.generations(d) {
		if g.Serving {
			return &g
		}
	}
	return nil
}

// exists reports whether a generation's index exists and is the registered one.
func (s indexState) exists(g held.Generation) bool {
	index, ok := s.indices[indexName(s.names, g)]
	return ok && (g.IndexUUID == "" || g.IndexUUID == index.UUID)
}

func (s indexState) hasAlias(g held.Generation, alias string) bool {
	return slices.Contains(s.indices[indexName(s.names, g)].Aliases, alias)
}

// ready reports whether Prepare has nothing to do. Each dataset has a serving
// generation, and only its index has the search alias. Every registered generation
// is marked, and its index exists, has a known id and has its write alias.
func (s indexState) ready() bool {
	for _, d := range catalog.Held {
		g := s.serving(d)
		if g == nil || !s.hasAlias(*g, s.names.Held(string(d))) {
			return false
		}
		for name, index := range s.indices { // a late _aliases request may add the alias to another index
			if name != indexName(s.names, *g) && slices.Contains(index.Aliases, s.names.Held(string(d))) {
				return false
			}
		}
	}
	for _, g := range s.registered {
		if g.IndexUUID == "" || !g.LostMarked || !s.exists(g) || !s.hasAlias(g, s.names.HeldWrite(string(g.Dataset), g.Generation)) {
			return false
		}
	}
	return true
}
