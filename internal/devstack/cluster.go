package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"atlas/internal/timer"
)

// Cluster is several nodes of Elasticsearch on this machine, for tests of the
// loss of a node. It is not for development: each node has its own heap, and on
// two cores the start takes most of a minute.
type Cluster struct {
	// URLs are the addresses of the nodes, each without a slash at the end.
	URLs []string

	machine *machine
	kinds   []string // of the nodes, as the machine calls them
	stop    func(context.Context) error
}

// clusterWithin bounds the wait for each node. All start at once, and no node
// answers before a second one runs.
const clusterWithin = 10 * time.Minute

// clusterHeap is the default heap of each node.
const clusterHeap = "512m"

// StartCluster starts nodes and returns when all have joined one cluster. opts
// is as for Start; an empty Dir means a temporary folder. The data is always
// ephemeral.
func StartCluster(ctx context.Context, opts Options, nodes int) (_ *Cluster, err error) {
	if nodes < 1 || nodes > 9 {
		return nil, errors.New("devstack: a cluster has 1 to 9 nodes")
	}
	if opts.ESHeap == "" {
		opts.ESHeap = clusterHeap
	}
	c := &Cluster{URLs: make([]string, nodes)}
	if c.machine, c.stop, err = openEphemeral(ctx, opts, "atlas-cluster-"); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		_ = c.Stop(context.WithoutCancel(ctx)) // the first error says more
		return nil, err
	}
	return c, nil
}

// Stop ends the nodes that run and removes their data.
func (c *Cluster) Stop(ctx context.Context) error { return c.stop(ctx) }

// Kill ends a node, counted from 0, with SIGKILL. Its files stay, and it is not
// started again.
func (c *Cluster) Kill(node int) error {
	victim := c.machine.latest(c.kinds[node])
	if victim == nil || victim.gone() {
		return fmt.Errorf("devstack: the node %s does not run", c.kinds[node])
	}
	err := killGroup(victim.record)
	<-victim.exited
	return err
}

func (c *Cluster) start(ctx context.Context) error {
	n := len(c.URLs)
	var names, seeds []string
	transports := make([]int, n)
	for i := range n {
		c.kinds = append(c.kinds, "elasticsearch-"+strconv.Itoa(i+1))
		transports[i] = c.machine.choosePort(c.kinds[i] + "-transport")
		names = append(names, strconv.Quote(c.kinds[i]))
		seeds = append(seeds, strconv.Quote(loopback(transports[i])))
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i := range n {
		node := esNode{kind: c.kinds[i], within: clusterWithin, settings: []string{
			"cluster.name: atlas-cluster",
			"node.name: " + names[i],
			"transport.port: " + strconv.Itoa(transports[i]),
			"discovery.seed_hosts: [" + strings.Join(seeds, ", ") + "]",
			"cluster.initial_master_nodes: [" + strings.Join(names, ", ") + "]",
			"xpack.security.enabled: false",
		}}
		wg.Go(func() {
			port, err := c.machine.startNode(ctx, node, plainNodeAnswers)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", node.kind, err)
				giveUp() // without this node the others never answer
				return
			}
			c.URLs[i] = "http://" + loopback(port)
			c.machine.opts.Log("%s answers", node.kind)
		})
	}
	wg.Wait()
	if err := causes(errs); err != nil {
		return err
	}
	return c.wait(ctx)
}

// wait returns when all nodes are in the cluster.
func (c *Cluster) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterWithin, fmt.Errorf("devstack: the nodes did not find each other within %s", clusterWithin))
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/_cluster/health?wait_for_nodes=%d&timeout=5s", c.URLs[0], len(c.URLs)), nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK { // 408 after the timeout
				return nil
			}
		}
		if err := timer.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
