//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// nemesis injects faults during a history: faults of one kind one after the other, all
// kinds concurrently. Each fault is repaired before its method returns.
type nemesis struct {
	rig        *rig.Rig
	targets    []*target
	globalData *globalData
	log        *history.Log
	stop       <-chan struct{}
	count      *faultCounts
	say        func(format string, args ...any)
	// Per round.
	lossesBegun, lossesMade atomic.Int64
}

// envWithout lists kinds of faults to leave out, separated by commas, to find out which
// of them are needed for a violation.
const envWithout = "ATLAS_HISTORIES_WITHOUT"

// The kinds of faults: servers are killed; connections to backends are disturbed; the
// global dataset changes; held indices are rebuilt or lost; the clock of Postgres is
// set; leading servers of backends are killed. A cluster has failovers, a single server
// has the clock: a jump of it also ends the replication, and Postgres may then lose what
// was seen of a commit that was canceled.
const (
	kills     = "kills"
	ways      = "ways"
	turns     = "turns"
	rebuilds  = "rebuilds"
	losses    = "losses"
	clocks    = "clocks"
	failovers = "failovers"
)

func faultKinds() []string {
	last := clocks
	if os.Getenv(rig.EnvCluster) != "" {
		last = failovers
	}
	return []string{kills, ways, turns, rebuilds, losses, last}
}

// chosenFaults returns the kinds that are not left out.
func chosenFaults(t *testing.T) (chosen []string) {
	t.Helper()
	without := strings.Split(os.Getenv(envWithout), ",")
	for _, w := range without {
		if w != "" && !slices.Contains(faultKinds(), w) {
			t.Fatalf("%s=%s: there is %v", envWithout, w, faultKinds())
		}
	}
	for _, k := range faultKinds() {
		if !slices.Contains(without, k) {
			chosen = append(chosen, k)
		}
	}
	return chosen
}

// faultCounts counts the faults.
type faultCounts struct {
	kills, spoiled, deltas, loads, rebuilds, failed, lost, jumps, failovers atomic.Int64
	// found is the longest time from the loss of an index until it exists again.
	found time.Duration
}

func (o *faultCounts) String() string {
	return fmt.Sprintf("%d kills, %d ways spoiled, %d deltas, %d loads, %d rebuilds, %d indices lost, %d jumps of the clock, %d failovers",
		o.kills.Load(), o.spoiled.Load(), o.deltas.Load(), o.loads.Load(), o.rebuilds.Load(), o.lost.Load(), o.jumps.Load(), o.failovers.Load())
}

// repeat calls do repeatedly until it must stop, after pauses up to most.
func (o *nemesis) repeat(ctx context.Context, random *rand.Rand, most time.Duration, do func(context.Context) error) error {
	for {
		pause(o.stop, random, most)
		select {
		case <-o.stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
}

// kill kills a server, sometimes both, and starts it again.
func (o *nemesis) kill(ctx context.Context, random *rand.Rand) error {
	chosen := []*target{pick(random, o.targets)}
	if random.IntN(4) == 0 {
		chosen = o.targets
	}
	for _, v := range chosen {
		began := o.log.Now()
		if err := v.die(ctx); err != nil {
			return err
		}
		o.log.Note("kills", v.name, began, o.log.Now())
		o.count.kills.Add(1)
	}
	for _, v := range chosen {
		if err := v.rise(); err != nil {
			return err
		}
	}
	return nil
}

// disturbances are faults of the connections to a backend.
var disturbances = []disturbance{
	{"slow", func(p *rig.Proxy) error { return p.Delay(300, 200) }},
	{"very slow", func(p *rig.Proxy) error { return p.Delay(3000, 1000) }},
	{"cut", cut},
	{"reset", (*rig.Proxy).Reset},
	{"black hole", (*rig.Proxy).BlackHole},
	{"broken off", func(p *rig.Proxy) error { return p.Truncate(2000) }},
}

// late delays requests until after their senders gave up. It is used for Elasticsearch
// only: nobody could know when a delayed request to Postgres can no longer have an
// effect.
const late = 4000

// longestDisturbance limits the time of a disturbance.
const longestDisturbance = 4 * time.Second

// disturb disturbs the connections of one server to one backend for a while.
func (o *nemesis) disturb(_ context.Context, random *rand.Rand) error {
	v := pick(random, o.targets)
	b := devstack.Elasticsearch
	if random.IntN(2) == 0 {
		b = pick(random, v.others)
	}
	how := pick(random, disturbances)
	if b == devstack.Elasticsearch && random.IntN(4) == 0 {
		how.name, how.begin = "requests late", func(p *rig.Proxy) error { return p.DelayRequests(late, late/2) }
	}
	began := o.log.Now()
	if err := how.begin(v.ways[b]); err != nil {
		return err
	}
	pause(o.stop, random, longestDisturbance)
	err := v.ways[b].Heal()
	o.log.Note(fmt.Sprintf("%s to %s", v.name, b), how.name, began, o.log.Now())
	o.count.spoiled.Add(1)
	return err
}

// turn changes the global dataset.
func (o *nemesis) turn(ctx context.Context, random *rand.Rand) error {
	if random.IntN(3) == 0 {
		o.count.loads.Add(1)
		return o.globalData.load(ctx, o.log)
	}
	o.count.deltas.Add(1)
	return o.globalData.delta(ctx, o.log)
}

// clockJumps is the maximum difference of the clock of Postgres from that of the
// machine.
const clockJumps = 10 * time.Minute

// jump sets the clock of Postgres, equally often forward and back.
func (o *nemesis) jump(_ context.Context, random *rand.Rand) error {
	offset := time.Duration(random.Int64N(int64(2*clockJumps))) - clockJumps
	now := o.log.Now()
	o.log.Note("clock", fmt.Sprintf("of Postgres set to %+.0f s", offset.Seconds()), now, now)
	o.count.jumps.Add(1)
	return o.rig.SetClock(offset)
}

// failOver kills the primary of Postgres, or the elected master of Elasticsearch, and
// waits until it is back as a replica. Not the master of Redis: it may lose charges.
func (o *nemesis) failOver(ctx context.Context, random *rand.Rand) error {
	b := pick(random, []devstack.Backend{devstack.Postgres, devstack.Postgres, devstack.Elasticsearch})
	began := o.log.Now()
	err := o.rig.FailOver(ctx, b)
	o.log.Note("failovers", string(b), began, o.log.Now())
	o.count.failovers.Add(1)
	return err
}

// lose deletes an index of held records, and waits until it exists again.
func (o *nemesis) lose(ctx context.Context, random *rand.Rand) error {
	began := o.log.Now()
	d := pick(random, catalog.Held)
	o.lossesBegun.Add(1)
	// Elasticsearch may be killed while it deletes the index, or be without a master.
	err := rig.Until(foundWithin, "an index of held "+string(d)+" is deleted", func() error {
		err := loseIndex(ctx, o.rig, d)
		if err != nil && (!o.rig.Replicated() || ctx.Err() != nil) {
			err = errors.Join(err, rig.ErrNeverHolds)
		}
		return err
	})
	if err != nil {
		return err
	}
	lost := time.Now()
	err = rig.Until(foundWithin, "there is an index of held "+string(d)+" again", func() error {
		return o.rig.Ask(ctx, "GET", "/_alias/"+o.rig.Held(string(d)), "", nil)
	})
	o.log.Note("held indices", "there is none of "+string(d), began, o.log.Now())
	o.lossesMade.Add(1)
	o.count.lost.Add(1)
	o.count.found = max(o.count.found, time.Since(lost))
	return err
}

// foundWithin limits the time without a lost index. A server may be killed while it
// restores the index, and then its lease must expire first, after 20 s.
const foundWithin = time.Minute

// rebuild rebuilds the indices of held records. It can fail if one of them is lost
// meanwhile, or a server of a backend. It is refused while a server restores a lost index, and for the time of a
// lease after such a server was killed. Then rebuild retries, like an operator.
func (o *nemesis) rebuild(ctx context.Context, random *rand.Rand) error {
	for {
		began, made := o.log.Now(), o.lossesMade.Load()
		code, _, stderr := o.rig.Run(ctx, "projection", "rebuild")
		o.log.Note("rebuilds", fmt.Sprintf("rebuild, status %d", code), began, o.log.Now())
		if code == 0 {
			o.count.rebuilds.Add(1)
			return nil
		}
		if o.lossesBegun.Load() == made && !strings.Contains(stderr, "is being done by") && !postgresFailed(stderr) && !o.rig.Replicated() {
			return fmt.Errorf("atlas projection rebuild: status %d %s", code, stderr)
		}
		o.count.failed.Add(1)
		o.say("atlas projection rebuild: status %d after %.1f s: %s", code, float64(o.log.Now()-began)/1e9, stderr)
		select {
		case <-o.stop:
			return nil
		default:
			pause(o.stop, random, rebuildRetryPause)
		}
	}
}

// rebuildRetryPause is the longest pause before a rebuild is retried.
const rebuildRetryPause = 3 * time.Second
