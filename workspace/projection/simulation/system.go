package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/held"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// system is the model of *postgres.System.
type system struct{ postgresModel }

var (
	_ projection.System   = (*system)(nil)
	_ postgres.LeaseStore = (*system)(nil)
)

func (s *system) PendingWorkspaces(ctx context.Context, except []workspace.ID, limit int) ([]workspace.ID, error) {
	return read(ctx, s.postgresModel, "PendingWorkspaces", func() (list []workspace.ID) {
		oldest := map[workspace.ID]int64{}
		for _, k := range s.db.order {
			r := s.db.rows[k]
			if !r.pending() || slices.Contains(except, k.workspace) {
				continue
			}
			if v, there := oldest[k.workspace]; !there {
				list = append(list, k.workspace)
				oldest[k.workspace] = r.version
			} else {
				oldest[k.workspace] = min(v, r.version)
			}
		}
		slices.SortFunc(list, func(a, b workspace.ID) int { return int(oldest[a] - oldest[b]) })
		return list[:min(limit, len(list))]
	})
}

func (s *system) StubWorkspaces(ctx context.Context, age time.Duration, limit int) ([]workspace.ID, error) {
	return read(ctx, s.postgresModel, "StubWorkspaces", func() (list []workspace.ID) {
		for _, k := range s.db.order {
			if s.db.oldStub(k, age) && !slices.Contains(list, k.workspace) && len(list) < limit {
				list = append(list, k.workspace)
			}
		}
		return list
	})
}

func (s *system) HeldStatus(ctx context.Context) (held.Status, error) {
	return read(ctx, s.postgresModel, "HeldStatus", func() (h held.Status) {
		for _, r := range s.db.rows {
			h.Records++
			if !r.stubSince.IsZero() {
				h.Stubs++
			}
			if r.lost != 0 {
				h.Lost++
			}
			if r.refusal != "" {
				h.Refused++
			}
			if !r.pending() {
				continue
			}
			h.Pending++
			if r.ownChange {
				h.OwnPending++
			}
			h.OldestPending = max(h.OldestPending, s.db.clock().Sub(r.pendingSince))
		}
		return h
	})
}

func (s *system) BumpDataset(ctx context.Context, d catalog.Dataset, rewrite bool) error {
	return s.bumpDataset(ctx, d, fmt.Sprintf("BumpDataset %s rewrite=%v", d, rewrite), func(r *row) {
		if rewrite {
			r.digest = nil
		}
	})
}

// bumpDataset bumps page by page, each in its own transaction.
func (s *system) bumpDataset(ctx context.Context, d catalog.Dataset, what string, set func(*row)) error {
	for last := (key{}); ; {
		reached, err := read(ctx, s.postgresModel, what, func() key {
			n := 0
			reached := last
			for _, k := range s.db.order {
				if k.dataset != d || n == s.db.bumpPage || last != (key{}) && k.compare(last) <= 0 {
					continue
				}
				s.db.bump(s.db.rows[k])
				set(s.db.rows[k])
				reached = k
				n++
			}
			if n < s.db.bumpPage {
				return key{}
			}
			return reached
		})
		if err != nil || reached == (key{}) {
			return err
		}
		last = reached
	}
}

func (s *system) BumpRecords(ctx context.Context, d catalog.Dataset, records []string) error {
	return s.exec(ctx, fmt.Sprintf("BumpRecords %s %d", d, len(records)), func() {
		for _, k := range s.db.order {
			if k.dataset == d && slices.Contains(records, k.record.String()) {
				s.db.bump(s.db.rows[k])
			}
		}
	})
}

func (s *system) BumpOldScores(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return read(ctx, s.postgresModel, "BumpOldScores", func() (n int64) {
		for _, k := range s.db.order {
			o, exists := s.db.overlays[k]
			if r := s.db.rows[k]; exists && k.dataset == catalog.Accounts && o.ScoredAt.Before(s.db.clock().Add(-age)) && !r.pending() &&
				n < int64(limit) {
				s.db.bump(r)
				n++
			}
		}
		return n
	})
}

func (s *system) AdvanceVersions(ctx context.Context, past int64) error {
	return s.exec(ctx, "AdvanceVersions", func() {
		s.db.lastVersion = max(s.db.lastVersion, past)
	})
}

func (s *system) HeldSource(ctx context.Context, d catalog.Dataset) (string, error) {
	return read(ctx, s.postgresModel, "HeldSource "+string(d), func() string { return s.db.sources[d] })
}

func (s *system) SetHeldSource(ctx context.Context, d catalog.Dataset, generation string) error {
	return s.exec(ctx, "SetHeldSource "+string(d)+" "+generation, func() {
		s.db.sources[d] = generation
	})
}

func (s *system) HeldGenerations(ctx context.Context) ([]held.Generation, error) {
	return read(ctx, s.postgresModel, "HeldGenerations", func() []held.Generation {
		return slices.Clone(s.db.registered)
	})
}

// RegisterGeneration is two statements, each its own transaction.
func (s *system) RegisterGeneration(ctx context.Context, g held.Generation) (int64, error) {
	err := s.tryExec(ctx, "RegisterGeneration "+string(g.Dataset), func() error { return s.db.register(g) })
	if err != nil {
		return 0, err
	}
	return read(ctx, s.postgresModel, "LastVersion "+string(g.Dataset), func() int64 { return max(1, s.db.lastVersion) })
}

func (db *database) register(g held.Generation) error {
	for _, other := range db.registered {
		if other.Dataset == g.Dataset && other.Generation == g.Generation {
			return fault.New(fault.Internal, "the generation %s of %s is registered", g.Generation, g.Dataset)
		}
	}
	g.Serving, g.LostMarked = false, true
	db.insert(g)
	return nil
}

func (db *database) insert(g held.Generation) {
	g.Folding = max(g.Folding, catalog.CaseFolding)
	db.registered = append(slices.Clone(db.registered), g)
	slices.SortStableFunc(db.registered, func(a, b held.Generation) int { return strings.Compare(string(a.Dataset), string(b.Dataset)) })
}

// remove removes generations of a dataset.
func (db *database) remove(d catalog.Dataset, which func(generation string) bool) {
	db.registered = slices.DeleteFunc(slices.Clone(db.registered), func(g held.Generation) bool {
		return g.Dataset == d && which(g.Generation)
	})
}

// updateGeneration changes a generation, if it is registered.
func (db *database) updateGeneration(of held.Generation, change func(*held.Generation)) {
	db.registered = slices.Clone(db.registered)
	for i, g := range db.registered {
		if g.Dataset == of.Dataset && g.Generation == of.Generation {
			change(&db.registered[i])
		}
	}
}

func (s *system) ReplaceGenerations(ctx context.Context, g held.Generation) error {
	return s.exec(ctx, "ReplaceGenerations "+string(g.Dataset), func() {
		s.db.remove(g.Dataset, func(string) bool { return true })
		g := g
		g.Serving, g.LostMarked = true, false
		s.db.insert(g)
	})
}

func (s *system) MarkLost(ctx context.Context, g held.Generation) error {
	err := s.bumpDataset(ctx, g.Dataset, "MarkLost "+string(g.Dataset), func(r *row) {
		r.digest, r.lost = nil, 0
		if r.projected > 0 {
			r.lost = r.version
		}
	})
	if err != nil {
		return err
	}
	return s.exec(ctx, "Marked "+string(g.Dataset), func() {
		s.db.updateGeneration(g, func(g *held.Generation) { g.LostMarked = true })
	})
}

func (s *system) AdoptIndex(ctx context.Context, g held.Generation) error {
	return s.exec(ctx, "AdoptIndex "+string(g.Dataset), func() {
		s.db.updateGeneration(g, func(of *held.Generation) {
			if of.IndexUUID == "" {
				of.IndexUUID = g.IndexUUID
			}
		})
	})
}

func (s *system) ServeGeneration(ctx context.Context, g held.Generation) error {
	return s.exec(ctx, "ServeGeneration "+string(g.Dataset), func() {
		s.db.remove(g.Dataset, func(generation string) bool { return generation != g.Generation })
		s.db.updateGeneration(g, func(g *held.Generation) { g.Serving = true })
	})
}

func (s *system) DropGeneration(ctx context.Context, g held.Generation) error {
	return s.exec(ctx, "DropGeneration "+string(g.Dataset), func() {
		s.db.remove(g.Dataset, func(generation string) bool { return generation == g.Generation })
	})
}

func (s *system) Unprojected(ctx context.Context, d catalog.Dataset, since int64) (int64, error) {
	return read(ctx, s.postgresModel, "Unprojected "+string(d), func() (n int64) {
		for k, r := range s.db.rows {
			if k.dataset == d && r.projected >= 1 && r.projected <= since {
				n++
			}
		}
		return n
	})
}

// WithLease is the one of *postgres.System.
func (s *system) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	return postgres.WithLease(ctx, s, name, who+" "+uuid.NewString(), ttl, work)
}

func (s *system) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	return read(ctx, s.postgresModel, "AcquireLease "+name, func() bool {
		if s.db.leases[name] == nil {
			s.db.leases[name] = &leaseRow{}
		}
		return s.db.leases[name].acquire(s.db.clock(), holder, ttl)
	})
}

func (s *system) RenewLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	return read(ctx, s.postgresModel, "RenewLease "+name, func() bool {
		l := s.db.leases[name]
		return l != nil && l.renew(s.db.clock(), holder, ttl)
	})
}

func (s *system) ReleaseLease(ctx context.Context, name, holder string) error {
	return s.exec(ctx, "ReleaseLease "+name, func() {
		if l := s.db.leases[name]; l != nil && l.holder == holder {
			delete(s.db.leases, name)
		}
	})
}

func (s *system) LeaseHolder(ctx context.Context, name string) (string, time.Time, error) {
	l, err := read(ctx, s.postgresModel, "LeaseHolder "+name, func() leaseRow {
		if l := s.db.leases[name]; l != nil && l.deadline.After(s.db.clock()) {
			return *l
		}
		return leaseRow{}
	})
	return l.holder, l.deadline, err
}
