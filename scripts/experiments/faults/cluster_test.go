//go:build faults

package faults

import (
	"fmt"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/scripts/experiments/rig"
)

// The elected master among three nodes of Elasticsearch is killed, and started again.
func TestClusterNodeKilled(t *testing.T) {
	k := startReplicated(t, "cluster-node-killed", "a node of Elasticsearch of three killed, and started again")
	target := 0
	for node := range k.Elasticsearch {
		if _, master := shardsOf(t, k.Rig, node); master {
			target = node
		}
	}
	shards, _ := shardsOf(t, k.Rig, target)
	k.f.AtLeast("shards on the node, which is the master", float64(shards), 1, "")
	killed := time.Now()
	rig.Check(t, k.Cluster.Kill(devstack.Node(target)))
	k.traffic.succeed(t, 5*enough, steadyIn)
	rig.Check(t, k.Cluster.Resume(t.Context(), devstack.Node(target)))
	k.green()
	k.f.Report("until each shard has its copy again", time.Since(killed).Seconds(), "s")
	k.traffic.succeed(t, enough, steadyIn)
	k.check(k.end(true, killed), 0)
}

// Each node of Elasticsearch is stopped and started again, as its rolling upgrade does.
func TestClusterNodeUpgrade(t *testing.T) {
	k := startReplicated(t, "cluster-node-upgrade", "three nodes of Elasticsearch restarted one after the other")
	began := time.Now()
	allocation := func(which string) {
		t.Helper()
		rig.Check(
			t,
			k.Ask(t.Context(), "PUT", "/_cluster/settings", fmt.Sprintf(`{"persistent":{"cluster.routing.allocation.enable":%s}}`, which), nil),
		)
	}
	for node := range k.Elasticsearch {
		// No shard moves because a node is away for a minute.
		allocation(`"primaries"`)
		rig.Check(t, k.Ask(t.Context(), "POST", "/_flush", "", nil))
		rig.Check(t, k.Cluster.Halt(t.Context(), devstack.Node(node)))
		k.traffic.succeed(t, enough, steadyIn)
		rig.Check(t, k.Cluster.Resume(t.Context(), devstack.Node(node)))
		allocation("null")
		k.green()
		t.Logf("node %d is back, %.0f s after the start", node+1, time.Since(began).Seconds())
	}
	k.f.Report("upgrade of three nodes", time.Since(began).Seconds(), "s")
	k.traffic.succeed(t, enough, steadyIn)
	k.check(k.end(true, began), 0)
}

// Each Atlas server is stopped by SIGTERM and started again when it has ended.
func TestClusterAtlasUpgrade(t *testing.T) {
	k := startReplicated(t, "cluster-atlas-upgrade", "two Atlas servers replaced one after the other, twice")
	began := time.Now()
	for range 2 {
		for _, s := range k.servers {
			rig.Check(t, s.Stop())
			k.traffic.succeed(t, enough, steadyIn)
			rig.Check(t, s.Launch())
			rig.Check(t, s.Ready(steadyIn))
			k.ready(2)
			k.traffic.succeed(t, enough, steadyIn)
		}
	}
	k.f.Report("two upgrades of two servers", time.Since(began).Seconds(), "s")
	k.check(k.end(true, began), 0)
}

// The primary of Postgres is killed and its standby promoted. The old primary is made a
// standby of the new one, which is then killed in turn.
func TestClusterPostgresFailover(t *testing.T) {
	k := startReplicated(t, "cluster-postgres-failover", "the primary of Postgres killed, the standby promoted at once, and back again")
	ctx := t.Context()
	var faults []time.Time
	for round := range 2 {
		old, err := k.Cluster.Primary(ctx)
		rig.Check(t, err)
		killed := time.Now()
		faults = append(faults, killed)
		rig.Check(t, k.Cluster.Kill(old))
		rig.Check(t, k.Cluster.Promote(ctx))
		k.f.Report(fmt.Sprintf("round %d: promoted after", round+1), time.Since(killed).Seconds(), "s")
		k.traffic.succeed(t, enough, steadyIn)
		k.f.Report(fmt.Sprintf("round %d: %d calls of each kind succeeded after", round+1, enough), time.Since(killed).Seconds(), "s")
		rejoining := time.Now()
		rig.Check(t, k.Cluster.Rejoin(ctx, old))
		k.f.Report(fmt.Sprintf("round %d: the old primary is a synchronous standby after", round+1), time.Since(rejoining).Seconds(), "s")
		k.traffic.succeed(t, enough, steadyIn)
	}
	k.check(k.end(true, faults...), 0)
}

// The old primary of Postgres comes back as a primary beside the promoted one, because
// nobody fenced it, and a server of Atlas is restarted and uses it. Nothing acknowledged
// may be lost. Searches may miss what was written by the other server.
func TestClusterUnfencedPrimary(t *testing.T) {
	const beside = 30 * time.Second
	k := startReplicated(t, "cluster-unfenced-primary", "the old primary of Postgres comes back unfenced, and one of two servers uses it for 30 s")
	k.stale = true
	ctx := t.Context()
	old, err := k.Cluster.Primary(ctx)
	rig.Check(t, err)
	rig.Check(t, k.Cluster.Kill(old))
	rig.Check(t, k.Cluster.Promote(ctx))
	k.traffic.succeed(t, enough, steadyIn)
	returned := time.Now()
	rig.Check(t, k.Cluster.Resume(ctx, old))
	rig.Check(t, k.servers[0].Stop())
	rig.Check(t, k.servers[0].Launch())
	rig.Check(t, k.servers[0].Ready(steadyIn))
	sleep(t, beside)
	rig.Check(t, k.Cluster.Kill(old))
	rig.Check(t, k.Cluster.Rejoin(ctx, old))
	k.traffic.succeed(t, enough, steadyIn)
	k.check(k.end(false, returned), 0)
}

// The master of Redis is killed and the Sentinels promote a replica. Then the old master
// comes back.
func TestClusterRedisFailover(t *testing.T) {
	k := startReplicated(t, "cluster-redis-failover", "the master of Redis killed, a replica promoted by the Sentinels, the old master back")
	ctx := t.Context()
	keyed := k.startKeyed(ctx)
	k.traffic.succeed(t, enough, steadyIn)
	sleep(t, 2*replicatedWithin)
	old, err := k.Cluster.RedisMaster(ctx)
	rig.Check(t, err)
	killed := time.Now()
	rig.Check(t, k.Cluster.Kill(old))
	rig.Check(t, k.Promoted(ctx, old))
	k.f.Report("until the Sentinels have promoted another", time.Since(killed).Seconds(), "s")
	k.traffic.succeed(t, enough, steadyIn)
	k.f.Report(fmt.Sprintf("until %d calls of each kind succeeded", enough), time.Since(killed).Seconds(), "s")
	keyed.check(k, killed)
	returned := time.Now()
	rig.Check(t, k.Cluster.Resume(ctx, old))
	rig.Check(t, k.Cluster.AwaitReplicas(ctx))
	k.f.Report("until the old master is a replica", time.Since(returned).Seconds(), "s")
	k.traffic.succeed(t, enough, steadyIn)
	calls := k.end(true, killed)
	// What the master had acknowledged and not yet sent to the replica.
	lost := 0.0
	for _, e := range calls {
		if e.ended.After(killed.Add(-replicatedWithin)) && e.began.Before(killed) {
			lost += float64(e.credits)
		}
	}
	k.f.Report("credits delivered in the second before the kill", lost, "")
	k.check(calls, lost)
}
