//go:build faults

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"atlas/client"
	"atlas/internal/experiment/balancer"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// cluster is three nodes of Elasticsearch with a copy of each shard, Postgres with a
// synchronous standby, Redis under Sentinels, and two Atlas servers behind a balancer that
// does not repeat requests. The traffic goes through the balancer.
type cluster struct {
	*rig.Rig
	t       *testing.T
	f       *figures.Sheet
	servers []*rig.Server
	front   *balancer.Balancer
	traffic *traffic
	// c calls through the balancer, without retries.
	c      rig.Caller
	before int64 // credits in the ledger
	stale  bool  // answers from two primaries of Postgres differ
}

// Bounds on a machine that others use too.
const (
	enough   = 3 // calls of each kind that succeed before a fault and after it
	steadyIn = 3 * time.Minute
)

func startReplicated(t *testing.T, experiment, done string) *cluster {
	t.Helper()
	seed := figures.Seed(t)
	f := figures.New(t, experiment, done, seed)
	k := &cluster{t: t, f: f, Rig: rig.Start(t, rig.Options{Nodes: 3, Replicated: true, Seed: seed, Load: []string{"--shards", "2"}})}
	f.Report("load average of the machine at the start", loadAverage(t), "")
	var err error
	k.front, err = balancer.New("")
	rig.Check(t, err)
	t.Cleanup(func() { rig.Check(t, k.front.Close()) })
	var roots []string
	for range 2 {
		s := k.Serve(rig.PatientRedis, "ATLAS_DRAIN_PAUSE=3s", "ATLAS_DRAIN=30s")
		k.servers, roots = append(k.servers, s), append(roots, s.Root)
	}
	rig.Check(t, k.front.Set(roots...))
	k.ready(2)
	w := k.Workspace(rig.Unlimited)
	k.c = rig.Caller{Base: k.front.Root + "/api/v1", Token: w.Key}
	projects := projectIDs(t, k.c, 200)
	k.traffic = newTraffic(t, k.front.Root, w, projects)
	// The indices of held records are made by the first write.
	for _, id := range projects[:2] {
		_, err := k.c.Want(t.Context(), 200, "POST", "/workspace/projects/upsert", map[string]any{"project_id": id, "notes": "first"})
		rig.Check(t, err)
	}
	rig.Check(t, k.Settled(settlesWithin))
	k.green()
	k.before = used(t, k.c)
	k.traffic.start(t.Context(), seed)
	k.traffic.succeed(t, enough, steadyIn)
	return k
}

// ready waits until this many servers are ready.
func (k *cluster) ready(n int) {
	k.t.Helper()
	k.Until(steadyIn, fmt.Sprintf("%d servers are ready", n), func() error {
		if got := k.front.Ready(); got != n {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
}

// green waits until each shard has its copy.
func (k *cluster) green() {
	k.t.Helper()
	rig.Check(k.t, k.Cluster.AwaitGreen(k.t.Context()))
}

func loadAverage(t *testing.T) float64 {
	t.Helper()
	fs, err := procfs.NewDefaultFS()
	rig.Check(t, err)
	load, err := fs.LoadAvg()
	rig.Check(t, err)
	return load.Load1
}

// end ends the traffic and reports what its calls saw since the first fault. perfect means
// that no call may fail. It returns all calls.
func (k *cluster) end(perfect bool, faults ...time.Time) []call {
	k.t.Helper()
	fault := faults[0]
	calls := k.traffic.stop()
	k.f.Report("load average of the machine at the end", loadAverage(k.t), "")
	var failed, raw []string
	last := make([]time.Time, len(faults)) // failed attempt after each fault
	attempts, since := 0, 0
	slowest := time.Duration(0)
	byKind := map[string][]time.Duration{}
	for _, e := range calls {
		if e.ended.Before(fault) {
			continue
		}
		since++
		if e.err != nil {
			failed = append(failed, e.kind+" "+codeOf(e.err))
			k.t.Logf(
				"failed %.1f s after the fault, after %d attempts in %.1f s: %s: %v", e.ended.Sub(fault).Seconds(),
				len(e.attempts), e.ended.Sub(e.began).Seconds(), e.kind, e.err,
			)
		}
		slowest = max(slowest, e.ended.Sub(e.began))
		for _, a := range e.attempts {
			attempts++
			byKind[e.kind] = append(byKind[e.kind], a.took)
			if a.code == "" {
				continue
			}
			raw = append(raw, e.kind+" "+a.code)
			for i := range slices.Backward(faults) {
				if a.ended.After(faults[i]) {
					if a.ended.After(last[i]) {
						last[i] = a.ended
					}
					break
				}
			}
		}
	}
	k.t.Logf("calls failed: %s", tally(failed))
	k.t.Logf("attempts failed: %s", tally(raw))
	k.timeline(calls, fault)
	for _, s := range k.servers {
		k.t.Logf("%s said:\n%s", s.Address, s.Complaints())
	}
	for kind, took := range byKind {
		k.t.Logf("%s: %d attempts, p50 %.0f ms, p99 %.0f ms", kind, len(took), figures.Percentile(took, 50), figures.Percentile(took, 99))
	}
	k.f.Report("calls in all", float64(len(calls)), "")
	k.f.AtLeast("calls since the fault", float64(since), 5*enough, "")
	if perfect {
		k.f.Exactly("calls failed, with the client's retries", float64(len(failed)), 0, "")
	} else {
		k.f.Report("calls failed, with the client's retries", float64(len(failed)), "("+tally(failed)+")")
	}
	k.f.Report("attempts failed, without retries", float64(len(raw)), fmt.Sprintf("of %d (%s)", attempts, tally(raw)))
	for i, at := range last {
		if !at.IsZero() {
			k.f.Report(fmt.Sprintf("from fault %d to the last failed attempt", i+1), at.Sub(faults[i]).Seconds(), "s")
		}
	}
	k.f.Report("slowest call, with its retries", slowest.Seconds(), "s")
	wrong := slices.DeleteFunc(slices.Clone(calls), func(e call) bool { return e.wrong == "" })
	for _, e := range wrong[:min(5, len(wrong))] {
		k.t.Logf("%s, %.1f s after the fault: %s", e.kind, e.ended.Sub(fault).Seconds(), e.wrong)
	}
	if k.stale {
		k.f.Report("answers that the model does not have", float64(len(wrong)), "")
	} else {
		k.f.Exactly("answers that the model does not have", float64(len(wrong)), 0, "")
	}
	return calls
}

// timeline logs the slowest call of each kind in each 5 s.
func (k *cluster) timeline(calls []call, fault time.Time) {
	const span = 5 * time.Second
	slowest := map[int]map[string]time.Duration{}
	for _, e := range calls {
		at := int(e.began.Sub(fault) / span)
		if slowest[at] == nil {
			slowest[at] = map[string]time.Duration{}
		}
		slowest[at][e.kind] = max(slowest[at][e.kind], e.ended.Sub(e.began).Round(time.Millisecond))
	}
	for _, at := range slices.Sorted(maps.Keys(slowest)) {
		k.t.Logf("%4d s after the fault, slowest of those that began: %v", at*int(span/time.Second), slowest[at])
	}
}

// check compares everything with the model when nothing is pending. lostCharges is what
// Redis may have lost.
func (k *cluster) check(calls []call, lostCharges float64) {
	k.t.Helper()
	ctx := k.t.Context()
	var delivered, doubt int64
	for _, e := range calls {
		delivered, doubt = delivered+e.credits, doubt+e.doubt
	}
	for _, s := range k.servers {
		doubt += s.Unsettled("", time.Time{})
	}
	counted := used(k.t, k.c) - k.before
	k.f.Report("credits delivered", float64(delivered), "")
	k.f.Between("credits counted and not delivered", float64(counted-delivered), 0-lostCharges, float64(doubt), "")

	rig.Check(k.t, k.Settled(settlesWithin))
	c, err := k.traffic.client(func(client.Answer) {})
	rig.Check(k.t, err)
	different := 0
	for _, read := range k.traffic.reads {
		answer, _, err := read.ask(ctx, c)
		rig.Check(k.t, err)
		got, err := json.Marshal(answer)
		rig.Check(k.t, err)
		if !bytes.Equal(got, read.want) {
			different++
		}
	}
	k.f.Exactly("reads that differ from before, of "+fmt.Sprint(len(k.traffic.reads)), float64(different), 0, "")
	model := k.traffic.model
	lost, half := model.check(ctx)
	for _, err := range slices.Concat(lost, half)[:min(5, len(lost)+len(half))] {
		k.t.Log(err)
	}
	k.f.Exactly("acknowledged writes lost", float64(len(lost)), 0, fmt.Sprintf("of %d and %d Views", model.acknowledged, len(model.views)))
	k.f.Exactly("records with half of a write", float64(len(half)), 0, "")
	k.f.Exactly("records that searches do not find by what was written", float64(unfound(k.t, k.c, []*batchWriter{model})), 0, "")
	compared, differences, err := disagreements(ctx, k.Rig, string(catalog.Projects))
	rig.Check(k.t, err)
	for _, d := range differences[:min(5, len(differences))] {
		k.t.Log(d)
	}
	k.f.Exactly("differences between Postgres and the index", float64(len(differences)), 0, fmt.Sprintf("of %d records", compared))
}
