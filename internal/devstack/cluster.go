package devstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"atlas/internal/timer"
)

// Cluster is several nodes of Elasticsearch on this machine and, from
// StartReplicated, replicated servers of the other backends, for tests of the loss of
// a server. It is not for development: each node has its own heap, and on two cores
// the start takes most of a minute.
//
// A member is one server, such as elasticsearch-1, postgres-2, redis-3 or sentinel-1.
type Cluster struct {
	// URLs are the addresses of the nodes of Elasticsearch, each without a slash at
	// the end.
	URLs []string
	// PostgresURL has both servers of Postgres, of which a client uses the one that accepts
	// writes: the database "postgres" as a superuser. "" for none.
	PostgresURL string
	// RedisURL has the Sentinels, as ATLAS_REDIS_URL takes them. "" for none.
	RedisURL string

	machine *machine
	// starts start or restart each member and return its port.
	starts map[string]func(context.Context) (port int, err error)
	stop   func(context.Context) error
	// postgresBin is the folder of the binaries.
	postgresBin string
}

// clusterWithin bounds the wait for each node. All start at once, and no node
// answers before a second one runs.
const clusterWithin = 10 * time.Minute

// clusterHeap is the default heap of each node.
const clusterHeap = "512m"

// StartCluster starts nodes of Elasticsearch and returns when all have joined one
// cluster. opts is as for Start; an empty Dir means a temporary folder. The data is
// always removed at the start and the end.
func StartCluster(ctx context.Context, opts Options, nodes int) (*Cluster, error) {
	return startCluster(ctx, opts, nodes, (*Cluster).startNodes)
}

// StartReplicated is StartCluster with a primary and a synchronous standby of Postgres,
// and with a master and two replicas of Redis under three Sentinels.
func StartReplicated(ctx context.Context, opts Options, nodes int) (*Cluster, error) {
	return startCluster(ctx, opts, nodes, (*Cluster).startNodes, (*Cluster).startPostgres, (*Cluster).startRedis)
}

func startCluster(ctx context.Context, opts Options, nodes int, parts ...func(*Cluster, context.Context) error) (_ *Cluster, err error) {
	if nodes < 1 || nodes > 9 {
		return nil, errors.New("devstack: a cluster has 1 to 9 nodes")
	}
	if opts.ESHeap == "" {
		opts.ESHeap = clusterHeap
	}
	c := &Cluster{URLs: make([]string, nodes), starts: map[string]func(context.Context) (int, error){}}
	if c.machine, c.stop, err = openEphemeral(ctx, opts, "atlas-cluster-"); err != nil {
		return nil, err
	}
	for _, start := range parts {
		if err := start(c, ctx); err != nil {
			_ = c.Stop(context.WithoutCancel(ctx)) // the first error says more
			return nil, err
		}
	}
	return c, nil
}

// Stop ends the members that run and removes their data.
func (c *Cluster) Stop(ctx context.Context) error { return c.stop(ctx) }

// Node is the name of a node of Elasticsearch, counted from 0.
func Node(node int) (member string) { return "elasticsearch-" + strconv.Itoa(node+1) }

// Kill ends a member with SIGKILL. Its data stays.
func (c *Cluster) Kill(member string) error { return c.machine.kill(member) }

// Halt stops a member gracefully; Postgres by its fast shutdown.
func (c *Cluster) Halt(ctx context.Context, member string) error { return c.machine.halt(ctx, member) }

// Resume starts a member that has ended, on its data and at its address, and returns when
// it answers. A Postgres server that was the primary would continue as one: Rejoin makes it
// a standby.
func (c *Cluster) Resume(ctx context.Context, member string) error {
	if err := c.machine.stopped(member); err != nil {
		return err
	}
	before := c.port(member)
	after, err := c.starts[member](ctx)
	if err != nil {
		return fmt.Errorf("devstack: start %s again: %w", member, err)
	}
	return samePlace(member, before, after)
}

// Member is the state of a member.
type Member struct {
	Name, Address string
	PID           int // of the process that was started last
	Running       bool
}

// Members are all members, by name.
func (c *Cluster) Members() (all []Member) {
	for _, name := range slices.Sorted(maps.Keys(c.starts)) {
		if p := c.machine.latest(name); p != nil {
			all = append(all, Member{name, loopback(p.record.Port), p.record.PID, !p.gone()})
		}
	}
	return all
}

// port is that of the last process of a member.
func (c *Cluster) port(member string) int { return c.machine.latest(member).record.Port }

// runs reports whether a member runs.
func (c *Cluster) runs(member string) bool {
	_, err := c.machine.process(member)
	return err == nil
}

// start starts members for the first time, in parallel.
func (c *Cluster) start(ctx context.Context, members ...string) error {
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i, member := range members {
		wg.Go(func() {
			if _, err := c.starts[member](ctx); err != nil {
				errs[i] = fmt.Errorf("%s: %w", member, err)
				giveUp() // without this node the others never answer
				return
			}
			c.machine.opts.Log("%s answers", member)
		})
	}
	wg.Wait()
	return causes(errs)
}

func (c *Cluster) startNodes(ctx context.Context) error {
	var members, names, seeds []string
	transports := make([]int, len(c.URLs))
	for i := range c.URLs {
		members = append(members, Node(i))
		transports[i] = c.machine.choosePort(members[i] + transport)
		names = append(names, strconv.Quote(members[i]))
		seeds = append(seeds, strconv.Quote(loopback(transports[i])))
	}
	for i, member := range members {
		node := esNode{kind: member, within: clusterWithin, settings: []string{
			"cluster.name: atlas-cluster",
			"node.name: " + names[i],
			"transport.port: " + strconv.Itoa(transports[i]),
			"discovery.seed_hosts: [" + strings.Join(seeds, ", ") + "]",
			"cluster.initial_master_nodes: [" + strings.Join(names, ", ") + "]",
			"xpack.security.enabled: false",
		}}
		c.starts[member] = func(ctx context.Context) (int, error) {
			return c.machine.startNode(ctx, node, plainNodeAnswers)
		}
	}
	if err := c.start(ctx, members...); err != nil {
		return err
	}
	for i, member := range members {
		c.URLs[i] = "http://" + loopback(c.port(member))
	}
	return c.awaitHealth(ctx, fmt.Sprintf("wait_for_nodes=%d", len(c.URLs)))
}

// AwaitGreen returns when all nodes are in the cluster and each shard has all copies.
func (c *Cluster) AwaitGreen(ctx context.Context) error {
	return c.awaitHealth(ctx, fmt.Sprintf("wait_for_nodes=%d&wait_for_status=green&wait_for_no_relocating_shards=true", len(c.URLs)))
}

func (c *Cluster) awaitHealth(ctx context.Context, condition string) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return await(ctx, "the nodes are not in the cluster or not "+condition, func(ctx context.Context) error {
		at := 0
		for at < len(c.URLs)-1 && !c.runs(Node(at)) {
			at++
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URLs[at]+"/_cluster/health?timeout=5s&"+condition, nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK { // 408 after the timeout
			return errors.New(res.Status)
		}
		return nil
	})
}

// await returns when a condition holds. otherwise is the error after clusterWithin.
func await(ctx context.Context, otherwise string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterWithin, fmt.Errorf("devstack: after %s %s", clusterWithin, otherwise))
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if timer.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
