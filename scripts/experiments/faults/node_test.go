//go:build faults

package faults

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// One of three nodes of Elasticsearch is killed while clients search. Every shard has a
// copy on another node. No client sees a failure, because Atlas and the cluster use
// another node.
func TestNodeLostWhileSearching(t *testing.T) {
	const clients, nodes, timeout = 60, 3, 10 * time.Second
	seed := figures.Seed(t)
	f := figures.New(t, "node-searching", "one of three nodes killed under 60 searching clients", seed)
	r := rig.Start(t, rig.Options{Nodes: nodes, Seed: seed, Load: []string{"--shards", "2", "--replicas", "1"}})
	s := r.Serve("ATLAS_SEARCH_TIMEOUT="+timeout.String(), "ATLAS_REDIS_TIMEOUT=2s", "ATLAS_HELD_REPLICAS=1")
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	// A missing copy could not replace the killed one.
	r.Until(time.Minute, "every shard has its copy", func() error {
		return r.Ask(t.Context(), "GET", "/_cluster/health?wait_for_status=green&timeout=10s", "", nil)
	})
	pages := knownPages(t, c)
	before := used(t, c)

	all := startSearchLoad(t.Context(), c, pages, clients, seed)
	all.waitFor(t, 200, 5*clients, time.Minute)
	target := rand.New(rand.NewPCG(seed, 0)).IntN(nodes)
	shards, master := shardsOf(t, r, target)
	killing := time.Now()
	rig.Check(t, r.Cluster.Kill(devstack.Node(target)))
	killed := time.Now()
	t.Logf("killed node %d, with %d shards, the master: %t", target+1, shards, master)
	all.waitFor(t, 200, 20*clients, 2*time.Minute)
	exchanges := all.stop()

	touched := slices.DeleteFunc(slices.Clone(exchanges), func(e exchange) bool { return e.ended.Before(killing) })
	f.Report("searches", float64(len(exchanges)), "")
	f.AtLeast(
		"searches under way at the kill",
		float64(count(exchanges, func(e exchange) bool { return e.began.Before(killed) && e.ended.After(killing) })),
		1, "",
	)
	f.AtLeast("shards on the node", float64(shards), 1, "")
	f.Exactly("failed searches", float64(count(exchanges, func(e exchange) bool { return e.status != 200 })), 0, "")
	f.Exactly("answers outside the contract", float64(wrong(t, exchanges)), 0, "")
	f.AtMost("slowest search from the kill on", slowest(touched), timeout.Seconds(), "s")
	f.Exactly("credits counted and not delivered", float64(used(t, c)-before-credits(exchanges)), 0, "")
}

// shardsOf returns the number of started shards of a node, and whether it is the
// elected master.
func shardsOf(t *testing.T, r *rig.Rig, node int) (shards int, master bool) {
	t.Helper()
	name := devstack.Node(node)
	var rows []struct{ Node, State string }
	var masters []struct{ Node string }
	err := errors.Join(
		r.Ask(t.Context(), "GET", "/_cat/shards?format=json&h=node,state", "", &rows),
		r.Ask(t.Context(), "GET", "/_cat/master?format=json&h=node", "", &masters))
	rig.Check(t, err)
	for _, row := range rows {
		if row.Node == name && row.State == "STARTED" {
			shards++
		}
	}
	return shards, len(masters) == 1 && masters[0].Node == name
}
