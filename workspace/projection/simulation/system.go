package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// system is the model of *postgres.System.
type system struct {
	line *link
	db   *database
}

var (
	_ projection.System   = (*system)(nil)
	_ postgres.LeaseStore = (*system)(nil)
)

func (s *system) PendingWorkspaces(ctx context.Context, except []workspace.ID, limit int) ([]workspace.ID, error) {
	return do(ctx, s.line, toPostgres, "PendingWorkspaces", func() (list []workspace.ID, err error) {
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
		return list[:min(limit, len(list))], nil
	})
}

func (s *system) StubWorkspaces(ctx context.Context, age time.Duration, limit int) ([]workspace.ID, error) {
	return do(ctx, s.line, toPostgres, "StubWorkspaces", func() (list []workspace.ID, err error) {
		for _, k := range s.db.order {
			if s.db.oldStub(k, age) && !slices.Contains(list, k.workspace) && len(list) < limit {
				list = append(list, k.workspace)
			}
		}
		return list, nil
	})
}

func (s *system) HeldStatus(ctx context.Context) (workspace.HeldStatus, error) {
	return do(ctx, s.line, toPostgres, "HeldStatus", func() (h workspace.HeldStatus, err error) {
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
		return h, nil
	})
}

func (s *system) BumpDataset(ctx context.Context, d query.Dataset, rewrite bool) error {
	return s.bumpDataset(ctx, d, fmt.Sprintf("BumpDataset %s rewrite=%v", d, rewrite), func(r *row) {
		if rewrite {
			r.digest = nil
		}
	})
}

// bumpDataset goes page by page, each a transaction of its own.
func (s *system) bumpDataset(ctx context.Context, d query.Dataset, what string, set func(*row)) error {
	for last := (key{}); ; {
		reached, err := do(ctx, s.line, toPostgres, what, func() (key, error) {
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
				return key{}, nil
			}
			return reached, nil
		})
		if err != nil || reached == (key{}) {
			return err
		}
		last = reached
	}
}

func (s *system) BumpRecords(ctx context.Context, d query.Dataset, records []string) error {
	return doErr(ctx, s.line, toPostgres, fmt.Sprintf("BumpRecords %s %d", d, len(records)), func() error {
		for _, k := range s.db.order {
			if k.dataset == d && slices.Contains(records, k.record.String()) {
				s.db.bump(s.db.rows[k])
			}
		}
		return nil
	})
}

func (s *system) BumpOldScores(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return do(ctx, s.line, toPostgres, "BumpOldScores", func() (n int64, err error) {
		for _, k := range s.db.order {
			o, kept := s.db.overlays[k]
			if r := s.db.rows[k]; kept && k.dataset == query.Accounts && o.ScoredAt.Before(s.db.clock().Add(-age)) && !r.pending() && n < int64(limit) {
				s.db.bump(r)
				n++
			}
		}
		return n, nil
	})
}

func (s *system) AdvanceVersions(ctx context.Context, past int64) error {
	return doErr(ctx, s.line, toPostgres, "AdvanceVersions", func() error {
		s.db.lastVersion = max(s.db.lastVersion, past)
		return nil
	})
}

func (s *system) HeldSource(ctx context.Context, d query.Dataset) (string, error) {
	return do(ctx, s.line, toPostgres, "HeldSource "+string(d), func() (string, error) { return s.db.sources[d], nil })
}

func (s *system) SetHeldSource(ctx context.Context, d query.Dataset, generation string) error {
	return doErr(ctx, s.line, toPostgres, "SetHeldSource "+string(d)+" "+generation, func() error {
		s.db.sources[d] = generation
		return nil
	})
}

func (s *system) HeldGenerations(ctx context.Context) ([]workspace.HeldGeneration, error) {
	return do(ctx, s.line, toPostgres, "HeldGenerations", func() ([]workspace.HeldGeneration, error) {
		return slices.Clone(s.db.registered), nil
	})
}

// RegisterGeneration is two statements, each committed by itself.
func (s *system) RegisterGeneration(ctx context.Context, g workspace.HeldGeneration) (int64, error) {
	err := doErr(ctx, s.line, toPostgres, "RegisterGeneration "+string(g.Dataset), func() error { return s.db.register(g) })
	if err != nil {
		return 0, err
	}
	return do(ctx, s.line, toPostgres, "LastVersion "+string(g.Dataset), func() (int64, error) { return max(1, s.db.lastVersion), nil })
}

func (db *database) register(g workspace.HeldGeneration) error {
	for _, other := range db.registered {
		if other.Dataset == g.Dataset && other.Generation == g.Generation {
			return fault.New(fault.Internal, "the generation %s of %s is registered", g.Generation, g.Dataset)
		}
	}
	g.Serving, g.LostMarked = false, true
	db.insert(g)
	return nil
}

func (db *database) insert(g workspace.HeldGeneration) {
	db.registered = append(slices.Clone(db.registered), g)
	slices.SortStableFunc(db.registered, func(a, b workspace.HeldGeneration) int { return strings.Compare(string(a.Dataset), string(b.Dataset)) })
}

// updateGeneration changes a generation, if it is there.
func (db *database) updateGeneration(of workspace.HeldGeneration, change func(*workspace.HeldGeneration)) {
	db.registered = slices.Clone(db.registered)
	for i, g := range db.registered {
		if g.Dataset == of.Dataset && g.Generation == of.Generation {
			change(&db.registered[i])
		}
	}
}

func (s *system) ReplaceGenerations(ctx context.Context, g workspace.HeldGeneration) error {
	return doErr(ctx, s.line, toPostgres, "ReplaceGenerations "+string(g.Dataset), func() error {
		s.db.registered = slices.DeleteFunc(slices.Clone(s.db.registered), func(o workspace.HeldGeneration) bool { return o.Dataset == g.Dataset })
		g := g
		g.Serving, g.LostMarked = true, false
		s.db.insert(g)
		return nil
	})
}

func (s *system) MarkLost(ctx context.Context, g workspace.HeldGeneration) error {
	err := s.bumpDataset(ctx, g.Dataset, "MarkLost "+string(g.Dataset), func(r *row) {
		r.digest, r.lost = nil, 0
		if r.projected > 0 {
			r.lost = r.version
		}
	})
	if err != nil {
		return err
	}
	return doErr(ctx, s.line, toPostgres, "Marked "+string(g.Dataset), func() error {
		s.db.updateGeneration(g, func(g *workspace.HeldGeneration) { g.LostMarked = true })
		return nil
	})
}

func (s *system) AdoptIndex(ctx context.Context, g workspace.HeldGeneration) error {
	return doErr(ctx, s.line, toPostgres, "AdoptIndex "+string(g.Dataset), func() error {
		s.db.updateGeneration(g, func(of *workspace.HeldGeneration) {
			if of.IndexUUID == "" {
				of.IndexUUID = g.IndexUUID
			}
		})
		return nil
	})
}

func (s *system) ServeGeneration(ctx context.Context, g workspace.HeldGeneration) error {
	return doErr(ctx, s.line, toPostgres, "ServeGeneration "+string(g.Dataset), func() error {
		s.db.registered = slices.DeleteFunc(slices.Clone(s.db.registered), func(o workspace.HeldGeneration) bool {
			return o.Dataset == g.Dataset && o.Generation != g.Generation
		})
		s.db.updateGeneration(g, func(g *workspace.HeldGeneration) { g.Serving = true })
		return nil
	})
}

func (s *system) DropGeneration(ctx context.Context, g workspace.HeldGeneration) error {
	return doErr(ctx, s.line, toPostgres, "DropGeneration "+string(g.Dataset), func() error {
		s.db.registered = slices.DeleteFunc(slices.Clone(s.db.registered), func(o workspace.HeldGeneration) bool {
			return o.Dataset == g.Dataset && o.Generation == g.Generation
		})
		return nil
	})
}

func (s *system) Unprojected(ctx context.Context, d query.Dataset, since int64) (int64, error) {
	return do(ctx, s.line, toPostgres, "Unprojected "+string(d), func() (n int64, err error) {
		for k, r := range s.db.rows {
			if k.dataset == d && r.projected >= 1 && r.projected <= since {
				n++
			}
		}
		return n, nil
	})
}

// WithLease is the one of *postgres.System.
func (s *system) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	return postgres.WithLease(ctx, s, name, who+" "+uuid.NewString(), ttl, work)
}

func (s *system) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	return do(ctx, s.line, toPostgres, "AcquireLease "+name, func() (bool, error) {
		now := s.db.clock()
		if l, there := s.db.leases[name]; there && l.deadline.After(now) && !l.deadline.After(now.Add(2*ttl)) && l.holder != holder {
			return false, nil
		}
		s.db.leases[name] = leaseRow{holder, now.Add(ttl)}
		return true, nil
	})
}

func (s *system) RenewLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	return do(ctx, s.line, toPostgres, "RenewLease "+name, func() (bool, error) {
		now := s.db.clock()
		if l, there := s.db.leases[name]; !there || l.holder != holder || !l.deadline.After(now) {
			return false, nil
		}
		s.db.leases[name] = leaseRow{holder, now.Add(ttl)}
		return true, nil
	})
}

func (s *system) ReleaseLease(ctx context.Context, name, holder string) error {
	return doErr(ctx, s.line, toPostgres, "ReleaseLease "+name, func() error {
		if l, there := s.db.leases[name]; there && l.holder == holder {
			delete(s.db.leases, name)
		}
		return nil
	})
}

func (s *system) LeaseHolder(ctx context.Context, name string) (string, time.Time, error) {
	l, err := do(ctx, s.line, toPostgres, "LeaseHolder "+name, func() (leaseRow, error) {
		l := s.db.leases[name]
		if !l.deadline.After(s.db.clock()) {
			return leaseRow{}, nil
		}
		return l, nil
	})
	return l.holder, l.deadline, err
}
