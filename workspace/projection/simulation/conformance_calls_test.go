package simulation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
)

// call makes a call chosen by r.
func (p *player) call(ctx context.Context, r *rand.Rand) string {
	in := p.workspaces[r.IntN(len(p.workspaces))]
	d := catalog.Held[r.IntN(2)]
	record := uuid.UUID{6: 0x40, 8: 0x80, 15: byte(1 + r.IntN(3))}
	view := uuid.UUID{0: in[15], 6: 0x40, 8: 0x80, 15: byte(0xe0 + r.IntN(2))}
	holder := fmt.Sprint("holder ", r.IntN(2))
	own := r.IntN(2) == 0
	switch n := r.IntN(60); {
	case n < 8:
		return p.upsert(ctx, in, d, record, r.IntN(5), expectation(r))
	case n < 10:
		deletion := book.OverlayDeletion{Record: record, Expected: expectation(r)}
		others, err := p.DeleteOverlays(ctx, in, d, []book.OverlayDeletion{deletion, deletion})
		lines := []string{}
		for id, now := range others {
			lines = append(lines, fmt.Sprint(short(id), " ", now != nil))
		}
		return outcome("delete", err, lines)
	case n < 11:
		return outcome("new view", p.newView(ctx, in, view, d))
	case n < 14:
		return outcome("add", p.addMembers(ctx, in, view, d, []uuid.UUID{record}))
	case n < 15:
		return outcome("remove", p.removeMembers(ctx, in, view, d, []uuid.UUID{record}))
	case n < 16:
		return outcome("delete view", p.deleteView(ctx, in, view))
	case n < 22:
		return p.pendingOf(ctx, in, holder, own, 1+r.IntN(4))
	case n < 29:
		return p.claimOf(ctx, in, holder)
	case n < 37:
		return p.finishOf(ctx, in, holder, r.IntN(4))
	case n < 38:
		return outcome("release", p.ReleaseProjector(ctx, in, holder))
	case n < 40:
		f, err := p.HeldFreshness(ctx, in, d)
		ever := !f.ProjectedAt.IsZero()
		f.ProjectedAt = time.Time{}
		return outcome("freshness", err, ever, fmt.Sprintf("%+v", f))
	case n < 41:
		return outcome("lapse", p.expireLeases(ctx))
	case n < 42:
		return outcome("age", p.age(ctx, 2*time.Hour))
	case n < 44:
		stubs, err := p.ClaimStubs(ctx, in, time.Hour*time.Duration(r.IntN(2)), 3)
		p.state.stubs = stubs
		return outcome("stubs", err, shownKeys(stubs))
	case n < 45:
		return outcome("forget", p.ForgetHeld(ctx, in, p.state.stubs))
	case n < 46:
		return outcome("bump held", p.BumpHeld(ctx, in, d, []uuid.UUID{record}))
	case n < 47:
		return outcome("bump records", p.BumpRecords(ctx, d, []string{record.String()}))
	case n < 48:
		return outcome("bump dataset", p.BumpDataset(ctx, d, own))
	case n < 49:
		n, err := p.BumpOldScores(ctx, time.Hour, 1)
		return outcome("bump scores", err, n)
	case n < 50:
		listed, err := p.PendingWorkspaces(ctx, p.workspaces[:r.IntN(2)], 5)
		return outcome("pending workspaces", err, len(listed), len(listed) > 0 && slices.Contains(listed, in))
	case n < 51:
		listed, err := p.StubWorkspaces(ctx, time.Hour, 5)
		return outcome("stub workspaces", err, len(listed))
	case n < 52:
		status, err := p.HeldStatus(ctx)
		status.OldestPending = min(status.OldestPending, 1)
		return outcome("status", err, fmt.Sprintf("%+v", status))
	case n < 57:
		return p.generationOf(ctx, catalog.Held[r.IntN(len(catalog.Held))], r)
	case n < 58:
		err := p.SetHeldSource(ctx, d, fmt.Sprint(r.IntN(3)))
		now, unknown := p.HeldSource(ctx, d)
		return outcome("source", errors.Join(err, unknown), now)
	default:
		return p.leaseOf(ctx, holder, r.IntN(4))
	}
}

// expectation is nothing, or that a record is not in the book, or is in it with a status or
// without one.
func expectation(r *rand.Rand) *book.Expectation {
	switch r.IntN(8) {
	case 0:
		return &book.Expectation{}
	case 1:
		return &book.Expectation{InBook: true}
	case 2, 3:
		return &book.Expectation{InBook: true, Values: book.OverlayChange{"workspace_status": fmt.Sprint("status ", r.IntN(5))}}
	case 4:
		return &book.Expectation{InBook: true, Values: book.OverlayChange{"notes": nil, "tags": []string{}}}
	}
	return nil
}

func (p *player) upsert(
	ctx context.Context, in workspace.ID, d catalog.Dataset, record uuid.UUID, n int, expected *book.Expectation,
) string {
	status := fmt.Sprint("status ", n)
	now := time.Date(2030, 1, 1, 0, 0, n, 0, time.UTC)
	change := book.OverlayChange{"workspace_status": status}
	fresh, _ := change.Apply(book.Overlay{Record: record, CreatedAt: now, UpdatedAt: now})
	if d == catalog.Accounts {
		fresh.Trend, fresh.ScoredAt = "steady", time.Now()
	}
	outcomes, err := p.UpsertOverlays(ctx, in, d, []book.OverlayUpsert{{Fresh: fresh, Change: change, Expected: expected}})
	if err != nil {
		return outcome("upsert", err)
	}
	o := outcomes[0]
	if o.Unexpected {
		return outcome("upsert", nil, "unexpected", o.Absent)
	}
	return outcome("upsert", nil, o.Overlay.Values["workspace_status"], o.Overlay.UpdatedAt.UTC(), o.Overlay.Score)
}

func (p *player) pendingOf(ctx context.Context, in workspace.ID, holder string, own bool, limit int) string {
	pending, err := p.PendingHeld(ctx, in, holder, time.Minute, own, limit)
	if pending.Leased {
		p.state.read[in.String()+holder] = pending.Records
		delete(p.state.claimed, in.String()+holder)
	}
	var lines []string
	for _, r := range pending.Records {
		status := "none"
		if r.Overlay != nil {
			status = fmt.Sprint(r.Overlay.Values["workspace_status"])
		}
		lines = append(lines, fmt.Sprint(r.Dataset, " ", short(r.Record), " ", status, " ", len(r.Views), " ", string(r.Digest)))
	}
	return outcome("pending "+holder, err, pending.Leased, pending.Indexed, lines)
}

func (p *player) claimOf(ctx context.Context, in workspace.ID, holder string) string {
	read := p.state.read[in.String()+holder]
	claim, err := p.ClaimHeld(ctx, in, holder, time.Minute, read)
	var lines []string
	for _, r := range read {
		if version, there := claim.Versions[r.Record]; claim.Leased && there {
			lines = append(lines, fmt.Sprint(r.Dataset, " ", short(r.Record), " new version: ", version != r.Version))
		}
	}
	if claim.Leased {
		p.state.claimed[in.String()+holder] = claim.Versions
	}
	return outcome("claim "+holder, err, claim.Leased, len(claim.Generations), lines)
}

// finishOf finishes the records that a holder read: as written if it claimed them,
// otherwise as unchanged documents.
func (p *player) finishOf(ctx context.Context, in workspace.ID, holder string, n int) string {
	versions := p.state.claimed[in.String()+holder]
	var projected []held.ProjectionResult
	for _, r := range p.state.read[in.String()+holder] {
		done := held.ProjectionResult{
			Dataset: r.Dataset, Record: r.Record, Version: r.Version, Digest: r.Digest, Present: n != 1,
			Unheld: r.Overlay == nil && len(r.Views) == 0,
		}
		if version, there := versions[r.Record]; there {
			done.Version, done.Written, done.Digest = version, true, fmt.Append(nil, "digest ", n)
		}
		if n == 2 {
			done.Digest, done.Refusal = nil, "refused"
		}
		if r.Overlay != nil && r.Dataset == catalog.Accounts {
			done.Score = &book.Scored{Score: n, Trend: "rising", At: time.Now()}
		}
		projected = append(projected, done)
	}
	finish := held.Finish{Results: projected, Written: n != 3}
	if n == 1 {
		finish.Release = holder
	}
	err := p.FinishHeld(ctx, in, finish)
	var scores []string
	for _, done := range projected {
		overlays, read := p.Overlays(ctx, in, done.Dataset, []uuid.UUID{done.Record})
		err = errors.Join(err, read)
		scores = append(scores, fmt.Sprint(overlays[done.Record].Score, " ", overlays[done.Record].Trend))
	}
	return outcome("finish "+holder, err, scores)
}

func (p *player) generationOf(ctx context.Context, d catalog.Dataset, r *rand.Rand) string {
	g := held.Generation{Dataset: d, Generation: fmt.Sprint("g", r.IntN(3)), IndexUUID: fmt.Sprint("uuid ", r.IntN(9))}
	var result string
	switch r.IntN(7) {
	case 0:
		since, err := p.RegisterGeneration(ctx, g)
		if p.state.since = since; err != nil {
			p.state.since = 0
		}
		result = outcome("register", err)
	case 1:
		result = outcome("replace", p.ReplaceGenerations(ctx, g))
	case 2:
		result = outcome("mark lost", p.MarkLost(ctx, g))
	case 3:
		result = outcome("adopt", p.AdoptIndex(ctx, g))
	case 4:
		result = outcome("serve", p.ServeGeneration(ctx, g))
	case 5:
		result = outcome("drop", p.DropGeneration(ctx, g))
	case 6:
		left, err := p.Unprojected(ctx, d, p.state.since)
		result = outcome("unprojected", err, left)
	}
	all, err := p.HeldGenerations(ctx)
	slices.SortFunc(all, func(a, b held.Generation) int {
		return strings.Compare(string(a.Dataset)+a.Generation, string(b.Dataset)+b.Generation)
	})
	return result + outcome("", err, fmt.Sprintf("%+v", all))
}

func (p *player) leaseOf(ctx context.Context, holder string, n int) string {
	const name = "a lease"
	switch n {
	case 0:
		ok, err := p.AcquireLease(ctx, name, holder, time.Minute)
		return outcome("acquire", err, ok)
	case 1:
		ok, err := p.RenewLease(ctx, name, holder, time.Minute)
		return outcome("renew", err, ok)
	case 2:
		return outcome("release lease", p.ReleaseLease(ctx, name, holder))
	default:
		who, _, err := p.LeaseHolder(ctx, name)
		return outcome("holder", err, who)
	}
}

func shownKeys(records []held.Record) (list []string) {
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b held.Record) int {
		return cmp.Or(strings.Compare(string(a.Dataset), string(b.Dataset)), bytes.Compare(a.Record[:], b.Record[:]))
	})
	for _, r := range records {
		list = append(list, string(r.Dataset)+" "+short(r.Record))
	}
	return list
}
