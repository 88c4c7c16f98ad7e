package credits

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one of a Cluster.
type node struct {
	*server
	plain redis.UniversalClient
	id    string
	bus   int // port of the cluster bus
}

// cluster starts three nodes, each with a third of the slots.
func cluster(t *testing.T) []node {
	t.Helper()
	const slots = 16384
	nodes := make([]node, 3)
	for i := range nodes {
		bus, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		s := ownRedis(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus))
		nodes[i] = node{server: s, plain: client(t, s.url()), bus: bus}
		must := func(args ...any) {
			t.Helper()
			if err := nodes[i].plain.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(args, err)
			}
		}
		must("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		must("CLUSTER", "ADDSLOTSRANGE", slots*i/3, slots*(i+1)/3-1)
		if nodes[i].id, err = nodes[i].plain.Do(t.Context(), "CLUSTER", "MYID").Text(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			must("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, nodes[0].bus)
		}
	}
	for _, n := range nodes {
		eventually(t, "the cluster is whole", func() bool {
			info, err := n.plain.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	return nodes
}

// A Cluster spreads workspaces over its nodes, each on one node, and counting is correct
// while a slot moves.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := cluster(t)
	l := ledgerOn(t, client(t, nodes[0].url()+","+nodes[2].url()), Options{})
	var spaces []string
	for range 30 {
		ws := workspace(t, l)
		spaces = append(spaces, ws)
		spend(t, l, ws, 100, 25)
		if n := used(t, l, ws); n != 25 {
			t.Errorf("used %d", n)
		}
	}
	for i, n := range nodes {
		if keys, err := n.plain.DBSize(t.Context()).Result(); err != nil || keys == 0 {
			t.Errorf("node %d has %d workspaces, %v", i, keys, err)
		}
	}
	// One address is enough to find all nodes.
	one := ledgerOn(t, client(t, nodes[1].url()+"?cluster=true"), Options{})
	for _, ws := range spaces {
		if n := used(t, one, ws); n != 25 {
			t.Errorf("used %d", n)
		}
	}

	// A call has the keys of one slot only, however many callers there are at once.
	var group sync.WaitGroup
	for _, ws := range spaces {
		for range 5 {
			group.Go(func() {
				r, _, err := l.Reserve(t.Context(), ws, 100, "search_accounts", 1, Key{})
				if err == nil {
					_, err = r.Settle(t.Context(), 0)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()

	ws := spaces[0]
	key, err := l.key(ws, 0)
	if err != nil {
		t.Fatal(err)
	}
	slot, err := nodes[0].plain.ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	from := nodes[slices.IndexFunc(nodes, func(n node) bool {
		return n.plain.Exists(t.Context(), key).Val() == 1
	})]
	to := nodes[(slices.Index(nodes, from)+1)%3]
	steps := []struct {
		name string
		on   []node
		args []any
	}{
		{"importing", []node{to}, []any{"CLUSTER", "SETSLOT", slot, "IMPORTING", from.id}},
		{"migrating", []node{from}, []any{"CLUSTER", "SETSLOT", slot, "MIGRATING", to.id}},
		{"the key has moved", []node{from}, []any{"MIGRATE", "127.0.0.1", to.port, key, 0, 5000}},  // then "ASK"
		{"the slot has moved", []node{to, from}, []any{"CLUSTER", "SETSLOT", slot, "NODE", to.id}}, // then "MOVED"
	}
	held := reserve(t, l, ws, 100, 5)
	for i, step := range steps {
		for _, n := range step.on {
			if err := n.plain.Do(t.Context(), step.args...).Err(); err != nil {
				t.Fatal(step.name, err)
			}
		}
		spend(t, l, ws, 100, 1)
		if n := used(t, l, ws); n != int64(26+i) {
			t.Errorf("%s: used %d, want %d", step.name, n, 26+i)
		}
	}
	if w := settle(t, held, 5); w.Used != int64(25+len(steps)+5) {
		t.Errorf("the reservation from before the move: %+v", w)
	}
	if n := to.plain.Exists(t.Context(), key).Val(); n != 1 {
		t.Error("the workspace has not moved")
	}
}

// sentinel starts a Sentinel that watches a master called "ledger".
func sentinel(t *testing.T, master *server) *server {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &server{port: port, dir: dir, sentinel: filepath.Join(dir, "sentinel.conf")}
	config := fmt.Sprintf("logfile %q\nsentinel monitor ledger 127.0.0.1 %d 1\nsentinel down-after-milliseconds ledger 300\nsentinel failover-timeout ledger 1000\n",
		filepath.Join(dir, "log"), master.port)
	if err := os.WriteFile(s.sentinel, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// When the master dies, the ledger continues with the data of the replica.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := ownRedis(t)
	replica := ownRedis(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", master.port), "--repl-diskless-sync-delay", "0")
	watch := sentinel(t, master)
	guard := redis.NewSentinelClient(&redis.Options{Addr: watch.address()})
	t.Cleanup(func() { guard.Close() })
	eventually(t, "the Sentinel knows the replica", func() bool {
		known, err := guard.Replicas(t.Context(), "ledger").Result()
		return err == nil && len(known) == 1 && known[0]["flags"] == "slave" && known[0]["master-link-status"] == "ok"
	})

	l := ledgerOn(t, client(t, watch.url()+"?master_name=ledger,redis://127.0.0.1:1"), Options{
		Timeout: 2 * time.Second, BreakerPause: 50 * time.Millisecond,
	})
	ws := workspace(t, l)
	spend(t, l, ws, 100, 25)
	key, err := l.key(ws, 0)
	if err != nil {
		t.Fatal(err)
	}
	window := func(s *server) string { return client(t, s.url()).HGet(t.Context(), key, "w").Val() }
	eventually(t, "the replica has it", func() bool { w := window(replica); return w != "" && w == window(master) })

	master.stop()
	eventually(t, "the replica is the master", func() bool {
		r, _, err := l.Reserve(t.Context(), ws, 100, "search_accounts", 5, Key{})
		if err != nil {
			return false
		}
		_, err = r.Settle(context.Background(), 5)
		return err == nil
	})
	if n := used(t, l, ws); n != 30 {
		t.Errorf("used %d, want 25 of before and 5", n)
	}
}
