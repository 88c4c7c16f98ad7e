package projection

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/workspace"
)

// System is what of projecting crosses workspaces. *postgres.System has it.
type System interface {
	PendingWorkspaces(ctx context.Context, limit int) ([]workspace.ID, error)
	StubWorkspaces(ctx context.Context, age time.Duration, limit int) ([]workspace.ID, error)
	HeldStatus(ctx context.Context) (workspace.HeldStatus, error)
	BumpDataset(ctx context.Context, d query.Dataset, rewrite bool) error
	BumpRecords(ctx context.Context, d query.Dataset, ids []string) error
	BumpOldScores(ctx context.Context, age time.Duration, limit int) (int64, error)
	AdvanceVersions(ctx context.Context, past int64) error
	HeldSource(ctx context.Context, d query.Dataset) (string, error)
	SetHeldSource(ctx context.Context, d query.Dataset, generation string) error
	Generations
}

// Generations are the registered generations of the held indices.
type Generations interface {
	HeldGenerations(ctx context.Context) ([]workspace.HeldGeneration, error)
	RegisterGeneration(ctx context.Context, g workspace.HeldGeneration) (since int64, err error)
	ServeGeneration(ctx context.Context, g workspace.HeldGeneration) error
	DropGeneration(ctx context.Context, g workspace.HeldGeneration) error
	Unprojected(ctx context.Context, d query.Dataset, since int64) (int64, error)
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

// generationsLease is held by who makes, switches or drops generations.
const (
	generationsLease = "held generations"
	generationsTTL   = 20 * time.Second
)

func newGeneration() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102t150405z") + "-" + hex.EncodeToString(random[:])
}

// Prepare makes sure that each dataset has a generation that searches go to and
// that projectors write to. One that is registered and gone is made again, and
// everything is written to it anew.
func (p *Projector) Prepare(ctx context.Context) error {
	p.start()
	ready, err := p.ready(ctx)
	if err != nil || ready {
		return err
	}
	return p.System.WithLease(ctx, generationsLease, p.name, generationsTTL, func(ctx context.Context) error {
		for _, d := range query.Held {
			if err := p.prepare(ctx, d); err != nil {
				return elastic.FaultOf(err)
			}
		}
		return nil
	})
}

// ready tells whether Prepare has nothing to do.
func (p *Projector) ready(ctx context.Context) (bool, error) {
	for _, d := range query.Held {
		s, err := p.look(ctx, d)
		if err != nil {
			return false, elastic.FaultOf(err)
		}
		serving := s.serving()
		if serving == nil || !slices.Contains(s.indices[p.index(*serving)], p.Names.Held(string(d))) || !s.writable(p) {
			return false, nil
		}
	}
	return true, nil
}

// state is what is registered of a dataset and what there is.
type state struct {
	registered []workspace.HeldGeneration
	indices    map[string][]string // with their aliases
}

func (p *Projector) look(ctx context.Context, d query.Dataset) (state, error) {
	registered, err := p.System.HeldGenerations(ctx)
	if err != nil {
		return state{}, err
	}
	s := state{registered: slices.DeleteFunc(registered, func(g workspace.HeldGeneration) bool { return g.Dataset != d })}
	s.indices, err = p.Elastic.Aliases(ctx, p.Names.Held(string(d))+"-*")
	return s, err
}

func (s state) serving() *workspace.HeldGeneration {
	for _, g := range s.registered {
		if g.Serving {
			return &g
		}
	}
	return nil
}

// writable tells whether every registered generation can be written to.
func (s state) writable(p *Projector) bool {
	for _, g := range s.registered {
		if !slices.Contains(s.indices[p.index(g)], p.Names.HeldWrite(string(g.Dataset), g.Generation)) {
			return false
		}
	}
	return true
}

func (p *Projector) index(g workspace.HeldGeneration) string {
	return p.Names.HeldGeneration(string(g.Dataset), g.Generation)
}

func (p *Projector) prepare(ctx context.Context, d query.Dataset) error {
	s, err := p.look(ctx, d)
	if err != nil {
		return err
	}
	// A rebuild may have ended between the alias and the registration.
	for _, g := range s.registered {
		if !g.Serving && slices.Contains(s.indices[p.index(g)], p.Names.Held(string(d))) {
			if err := p.System.ServeGeneration(ctx, g); err != nil {
				return err
			}
			if s, err = p.look(ctx, d); err != nil {
				return err
			}
			break
		}
	}
	for _, g := range s.registered {
		if _, there := s.indices[p.index(g)]; !g.Serving && !there {
			if err := p.System.DropGeneration(ctx, g); err != nil {
				return err
			}
		}
	}
	serving := s.serving()
	if serving == nil {
		serving = &workspace.HeldGeneration{Dataset: d, Generation: newGeneration(), Serving: true}
	}
	if _, there := s.indices[p.index(*serving)]; !there {
		if err := p.create(ctx, *serving); err != nil {
			return err
		}
	}
	if _, err := p.System.RegisterGeneration(ctx, *serving); err != nil {
		return err
	}
	if _, there := s.indices[p.index(*serving)]; !there {
		// Registered first: what is written from now on is in it.
		if err := p.System.BumpDataset(ctx, d, true); err != nil {
			return err
		}
	}
	return p.serve(ctx, *serving)
}

// create makes the index of a generation, with the alias it is written through.
func (p *Projector) create(ctx context.Context, g workspace.HeldGeneration) error {
	raw, err := mappings.Held(string(g.Dataset), p.Settings)
	if err != nil {
		return err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	body["aliases"] = map[string]any{p.Names.HeldWrite(string(g.Dataset), g.Generation): map[string]any{}}
	if raw, err = json.Marshal(body); err != nil {
		return err
	}
	return p.Elastic.CreateIndex(ctx, p.index(g), raw)
}

// serve sends searches to a generation, in one step.
func (p *Projector) serve(ctx context.Context, g workspace.HeldGeneration) error {
	alias := p.Names.Held(string(g.Dataset))
	indices, err := p.Elastic.Aliases(ctx, alias+"-*")
	if err != nil {
		return err
	}
	changes := []elastic.AliasChange{
		{Index: p.index(g), Alias: alias},
		{Index: p.index(g), Alias: p.Names.HeldWrite(string(g.Dataset), g.Generation)},
	}
	for index, aliases := range indices {
		if index != p.index(g) && slices.Contains(aliases, alias) {
			changes = append(changes, elastic.AliasChange{Index: index, Alias: alias, Remove: true})
		}
	}
	return p.Elastic.ChangeAliases(ctx, changes)
}

// rebuildPoll is how often a rebuild looks how far it is.
const rebuildPoll = 200 * time.Millisecond

// Rebuild fills new generations of all held indices from Postgres and the
// global records while searches go on, and sends searches to them when they are
// full. progress hears how many records are left of a dataset.
func (p *Projector) Rebuild(ctx context.Context, progress func(d query.Dataset, left int64)) error {
	p.start()
	if err := p.Prepare(ctx); err != nil {
		return err
	}
	return p.System.WithLease(ctx, generationsLease, p.name, generationsTTL, func(ctx context.Context) error {
		for _, d := range query.Held {
			if err := p.rebuild(ctx, d, progress); err != nil {
				return elastic.FaultOf(err)
			}
		}
		return nil
	})
}

func (p *Projector) rebuild(ctx context.Context, d query.Dataset, progress func(query.Dataset, int64)) error {
	if err := p.dropUnfinished(ctx, d); err != nil {
		return err
	}
	g := workspace.HeldGeneration{Dataset: d, Generation: newGeneration()}
	if err := p.create(ctx, g); err != nil {
		return err
	}
	// Registered before anything is copied: from here on every projector writes
	// to it too, so nothing written meanwhile is missed.
	since, err := p.System.RegisterGeneration(ctx, g)
	if err != nil {
		return err
	}
	if err := p.System.BumpDataset(ctx, d, true); err != nil {
		return err
	}
	for {
		if err := p.SweepOnce(ctx); err != nil {
			return err
		}
		left, err := p.System.Unprojected(ctx, d, since)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(d, left)
		}
		if left == 0 {
			break
		}
		if err := pause(ctx, rebuildPoll); err != nil {
			return err
		}
	}
	if err := p.Elastic.Refresh(ctx, p.index(g)); err != nil {
		return err
	}
	if err := p.serve(ctx, g); err != nil {
		return err
	}
	if err := p.System.ServeGeneration(ctx, g); err != nil {
		return err
	}
	return p.dropUnfinished(ctx, d)
}

// dropUnfinished deletes the generations of a dataset that do not serve:
// registered ones of a rebuild that was ended, and those that a switch replaced.
// The caller has the lease.
func (p *Projector) dropUnfinished(ctx context.Context, d query.Dataset) error {
	s, err := p.look(ctx, d)
	if err != nil {
		return err
	}
	serving := s.serving()
	if serving == nil {
		return fault.Away(fmt.Errorf("no generation of held %s serves", d), "projection")
	}
	for _, g := range s.registered {
		if !g.Serving {
			if err := p.System.DropGeneration(ctx, g); err != nil {
				return err
			}
		}
	}
	var old []string
	for index, aliases := range s.indices {
		generation := p.Names.HeldGenerationOf(string(d), index)
		ours := slices.Contains(aliases, p.Names.HeldWrite(string(d), generation))
		if ours && index != p.index(*serving) && !slices.Contains(aliases, p.Names.Held(string(d))) {
			old = append(old, index)
		}
	}
	return p.Elastic.DeleteIndices(ctx, old...)
}
