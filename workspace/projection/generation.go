package projection

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/timer"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/held"
)

// System is the storage of projection across workspaces: *postgres.System.
type System interface {
	PendingWorkspaces(ctx context.Context, except []workspace.ID, limit int) ([]workspace.ID, error)
	StubWorkspaces(ctx context.Context, age time.Duration, limit int) ([]workspace.ID, error)
	HeldStatus(ctx context.Context) (held.Status, error)
	BumpDataset(ctx context.Context, d catalog.Dataset, rewrite bool) error
	BumpRecords(ctx context.Context, d catalog.Dataset, ids []string) error
	BumpOldScores(ctx context.Context, age time.Duration, limit int) (int64, error)
	AdvanceVersions(ctx context.Context, past int64) error
	HeldSource(ctx context.Context, d catalog.Dataset) (string, error)
	SetHeldSource(ctx context.Context, d catalog.Dataset, generation string) error
	Generations
}

// Generations stores the generations of the held indices.
type Generations interface {
	HeldGenerations(ctx context.Context) ([]held.Generation, error)
	RegisterGeneration(ctx context.Context, g held.Generation) (since int64, err error)
	ReplaceGenerations(ctx context.Context, g held.Generation) error
	MarkLost(ctx context.Context, g held.Generation) error
	AdoptIndex(ctx context.Context, g held.Generation) error
	ServeGeneration(ctx context.Context, g held.Generation) error
	DropGeneration(ctx context.Context, g held.Generation) error
	Unprojected(ctx context.Context, d catalog.Dataset, since int64) (int64, error)
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

// generationsLease, followed by a dataset, is the lease for creating, switching and dropping
// its generations. Its time to live is short: a lost index is not replaced while a killed
// holder has it.
const (
	generationsLease = "held generations of "
	generationsTTL   = 10 * time.Second
)

func newGeneration() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102t150405z") + "-" + hex.EncodeToString(random[:])
}

// Prepare makes sure that each dataset has a generation to search and to write to. If the
// serving index is missing, or is another index under the same name, a new generation
// replaces it and every document is rewritten. Until a workspace's documents are complete,
// Settle refuses its searches of held records.
func (p *Projector) Prepare(ctx context.Context) error {
	p.start()
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	s, err := p.readState(bounded)
	cancel()
	if err != nil || s.ready() {
		return err
	}
	var failed error
	for _, d := range catalog.Held {
		failed = errors.Join(failed, p.withLease(ctx, d, func(ctx context.Context) error { return p.prepare(ctx, d) }))
	}
	return failed
}

// withLease runs change with the lease of a dataset's generations.
func (p *Projector) withLease(ctx context.Context, d catalog.Dataset, change func(context.Context) error) error {
	return p.System.WithLease(ctx, generationsLease+string(d), p.name, generationsTTL, func(ctx context.Context) error {
		return elastic.FaultOf(change(ctx))
	})
}

func (p *Projector) prepare(ctx context.Context, d catalog.Dataset) error {
	s, err := p.readState(ctx)
	if err != nil {
		return err
	}
	// Finish or drop the remains of an interrupted rebuild.
	for _, g := range s.generations(d) {
		switch {
		case g.Serving:
		case !s.exists(g):
			err = p.System.DropGeneration(ctx, g)
		case s.hasAlias(g, p.Names.Held(string(d))): // interrupted between alias and registration
			err = p.System.ServeGeneration(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	if s, err = p.readState(ctx); err != nil {
		return err
	}
	g := s.serving(d)
	switch {
	case g == nil || !s.exists(*g):
		return p.replaceLost(ctx, d, g)
	case g.IndexUUID == "":
		g.IndexUUID = s.indices[p.indexName(*g)].UUID
		if err := p.System.AdoptIndex(ctx, *g); err != nil {
			return err
		}
	}
	if !g.LostMarked {
		if err := p.System.MarkLost(ctx, *g); err != nil {
			return err
		}
	}
	return p.switchAlias(ctx, *g)
}

// replaceLost creates a generation that replaces one whose index is lost; nil when
// there was none.
func (p *Projector) replaceLost(ctx context.Context, d catalog.Dataset, lost *held.Generation) error {
	g, err := p.createGeneration(ctx, d)
	if err != nil {
		return err
	}
	if lost != nil {
		p.Log.Error("an index of held records is gone, or is another one under its name; all documents are written to a new one",
			"dataset", d, "lost", p.indexName(*lost), "new", p.indexName(g))
	}
	// Register first: projectors write to it from now on, and no search uses it before
	// MarkLost.
	if err := p.System.ReplaceGenerations(ctx, g); err != nil {
		return err
	}
	if err := p.System.MarkLost(ctx, g); err != nil {
		return err
	}
	if err := p.switchAlias(ctx, g); err != nil {
		return err
	}
	if lost != nil {
		if err := p.Elastic.DeleteIndices(ctx, p.indexName(*lost)); err != nil { // another index may have its name
			return err
		}
	}
	return p.dropInactive(ctx, d)
}

// createGeneration creates the index of a new generation with its write alias.
func (p *Projector) createGeneration(ctx context.Context, d catalog.Dataset) (held.Generation, error) {
	g := held.Generation{Dataset: d, Generation: newGeneration(), Folding: cmp.Or(p.Settings.Folding, catalog.NewestFolding)}
	raw, err := mappings.Held(string(d), p.Settings)
	if err != nil {
		return g, err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return g, err
	}
	body["aliases"] = map[string]any{p.Names.HeldWrite(string(d), g.Generation): map[string]any{}}
	if raw, err = json.Marshal(body); err != nil {
		return g, err
	}
	if err := p.Elastic.CreateIndex(ctx, p.indexName(g), raw); err != nil {
		return g, err
	}
	made, err := p.Elastic.Indices(ctx, p.indexName(g))
	if err != nil {
		return g, err
	}
	if g.IndexUUID = made[p.indexName(g)].UUID; g.IndexUUID == "" {
		return g, fault.BackendUnavailable(fmt.Errorf("the new index %s is gone", p.indexName(g)), "elasticsearch")
	}
	return g, nil
}

// switchAlias moves the search alias to a generation, in one request.
func (p *Projector) switchAlias(ctx context.Context, g held.Generation) error {
	alias := p.Names.Held(string(g.Dataset))
	indices, err := p.Elastic.Indices(ctx, alias+"-*")
	if err != nil {
		return err
	}
	changes := []elastic.AliasChange{
		{Index: p.indexName(g), Alias: alias},
		{Index: p.indexName(g), Alias: p.Names.HeldWrite(string(g.Dataset), g.Generation)},
	}
	for _, name := range slices.Sorted(maps.Keys(indices)) {
		if name != p.indexName(g) && slices.Contains(indices[name].Aliases, alias) {
			changes = append(changes, elastic.AliasChange{Index: name, Alias: alias, Remove: true})
		}
	}
	return p.Elastic.ChangeAliases(ctx, changes)
}

// rebuildPollInterval is how often a rebuild sweeps and checks its progress.
const rebuildPollInterval = 200 * time.Millisecond

// Rebuild fills new generations of all held indices from Postgres and the global
// records while searches continue, and switches searches to them when they are
// complete. progress, when not nil, gets the number of remaining records of a dataset.
func (p *Projector) Rebuild(ctx context.Context, progress func(d catalog.Dataset, left int64)) error {
	p.start()
	if err := p.Prepare(ctx); err != nil {
		return err
	}
	for _, d := range catalog.Held {
		if err := p.withLease(ctx, d, func(ctx context.Context) error { return p.rebuild(ctx, d, progress) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *Projector) rebuild(ctx context.Context, d catalog.Dataset, progress func(catalog.Dataset, int64)) error {
	if err := p.dropInactive(ctx, d); err != nil {
		return err
	}
	g, err := p.createGeneration(ctx, d)
	if err != nil {
		return err
	}
	// Register before the first copy: from now on every projector also writes to it,
	// so no concurrent write is missed.
	since, err := p.System.RegisterGeneration(ctx, g)
	if err != nil {
		return err
	}
	if err := p.System.BumpDataset(ctx, d, true); err != nil {
		return err
	}
	for {
		// A workspace that cannot be projected delays the end but no other workspace. An
		// unavailable backend delays it too, until the lease ends. A lost index ends the
		// rebuild; Prepare replaces it.
		swept := p.SweepOnce(ctx)
		s, err := p.readState(ctx)
		left := int64(0)
		if err == nil {
			left, err = p.System.Unprojected(ctx, d, since)
		}
		if fault.CodeOf(err) == fault.Unavailable && timer.Sleep(ctx, rebuildPollInterval) == nil {
			continue
		}
		if err != nil {
			return err
		}
		if serving := s.serving(d); serving == nil || !s.exists(*serving) || !s.exists(g) {
			return fault.BackendUnavailable(
				errors.Join(fmt.Errorf("an index of held %s was lost while it was rebuilt", d), swept),
				"elasticsearch",
			)
		}
		if progress != nil {
			progress(d, left)
		}
		if left == 0 {
			break
		}
		if err := timer.Sleep(ctx, rebuildPollInterval); err != nil {
			return err
		}
	}
	if err := p.Elastic.Refresh(ctx, p.indexName(g)); err != nil {
		return err
	}
	if err := p.switchAlias(ctx, g); err != nil {
		return err
	}
	if err := p.System.ServeGeneration(ctx, g); err != nil {
		return err
	}
	return p.dropInactive(ctx, d)
}

// dropInactive deletes the generations of a dataset that do not serve: those of an
// interrupted rebuild and those that were replaced. The caller has the lease.
func (p *Projector) dropInactive(ctx context.Context, d catalog.Dataset) error {
	s, err := p.readState(ctx)
	if err != nil {
		return err
	}
	serving := s.serving(d)
	if serving == nil {
		return fault.BackendUnavailable(fmt.Errorf("no generation of held %s serves", d), "projection")
	}
	for _, g := range s.generations(d) {
		if !g.Serving {
			if err := p.System.DropGeneration(ctx, g); err != nil {
				return err
			}
		}
	}
	var old []string
	for name, index := range s.indices {
		generation := p.Names.HeldGenerationOf(string(d), name)
		ours := slices.Contains(index.Aliases, p.Names.HeldWrite(string(d), generation))
		if ours && name != p.indexName(*serving) && !slices.Contains(index.Aliases, p.Names.Held(string(d))) {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	return p.Elastic.DeleteIndices(ctx, old...)
}
