package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Cluster is several nodes of Elasticsearch on this machine, for tests of what
// the loss of one does. It is not for development: it takes a heap for each node
// and, on two cores, most of a minute to start.
type Cluster struct {
	// URLs are the addresses of the nodes, each without a slash at the end.
	URLs []string

	machine *machine
	kinds   []string // of the nodes, as the machine calls them
	stop    func(context.Context) error
}

// clusterWithin bounds the wait for each node: all start at once, and none
// answers before a second one does.
const clusterWithin = 10 * time.Minute

// clusterHeap is the heap of each node unless Options say another.
const clusterHeap = "512m"

// StartCluster starts nodes that find each other, and returns when all are in
// one cluster. opts is as for Start, with an empty Dir for a temporary folder;
// the data is always ephemeral.
func StartCluster(ctx context.Context, opts Options, nodes int) (_ *Cluster, err error) {
	if nodes < 1 || nodes > 9 {
		return nil, errors.New("devstack: a cluster has 1 to 9 nodes")
	}
	removeDir := func() error { return nil }
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "atlas-cluster-"); err != nil {
			return nil, fmt.Errorf("devstack: %w", err)
		}
		dir := opts.Dir
		removeDir = func() error { return os.RemoveAll(dir) }
		// The servers' user has to pass through, when it is another one.
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, errors.Join(err, removeDir())
		}
	}
	if opts.ESHeap == "" {
		opts.ESHeap = clusterHeap
	}
	opts.Ephemeral = true
	if err := opts.complete(); err != nil {
		return nil, errors.Join(err, removeDir())
	}
	local, err := openMachine(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, removeDir())
	}
	c := &Cluster{
		URLs: make([]string, nodes), machine: local,
		stop: func(ctx context.Context) error { return errors.Join(local.stop(ctx), removeDir()) },
	}
	if err := c.start(ctx); err != nil {
		// The cause is told, not how the clean-up of it went.
		_ = c.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return c, nil
}

// Stop ends the nodes that run and removes their data.
func (c *Cluster) Stop(ctx context.Context) error { return c.stop(ctx) }

// Kill ends a node, counted from 0, as a loss of power would end its process.
// What it wrote stays on disk, and it is not started again.
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
	m, n := c.machine, len(c.URLs)
	java, err := findJava(ctx, m.account)
	if err != nil {
		return err
	}
	dist, err := m.distribution(ctx, java)
	if err != nil {
		return err
	}
	var names, seeds []string
	transports := make([]int, n)
	for i := range n {
		c.kinds = append(c.kinds, "elasticsearch-"+strconv.Itoa(i+1))
		transports[i] = m.choosePort(c.kinds[i] + "-transport")
		names = append(names, strconv.Quote(c.kinds[i]))
		seeds = append(seeds, strconv.Quote(loopback(transports[i])))
	}
	shared := []string{
		"cluster.name: atlas-cluster",
		"discovery.seed_hosts: [" + strings.Join(seeds, ", ") + "]",
		"cluster.initial_master_nodes: [" + strings.Join(names, ", ") + "]",
		"network.host: 127.0.0.1",
		"xpack.security.enabled: false",
		"cluster.routing.allocation.disk.threshold_enabled: false",
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i := range n {
		wg.Go(func() {
			if c.URLs[i], errs[i] = c.startNode(ctx, java, dist, c.kinds[i], transports[i], shared); errs[i] != nil {
				giveUp() // the others wait for it in vain
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err // the first cause, not the others' cancellation by it
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.wait(ctx)
}

func (c *Cluster) startNode(ctx context.Context, java, dist, kind string, transport int, shared []string) (string, error) {
	m := c.machine
	home, err := m.home(kind)
	if err != nil {
		return "", err
	}
	quote := strconv.Quote // a double-quoted YAML string
	settings := append([]string{
		"node.name: " + quote(kind),
		"transport.port: " + strconv.Itoa(transport),
		"path.data: " + quote(filepath.Join(home, "data")),
		"path.logs: " + quote(filepath.Join(home, "logs")),
	}, shared...)
	node := esNode{name: kind, home: home, files: map[string]string{"elasticsearch.yml": strings.Join(settings, "\n") + "\n"}}
	if err := m.writeConfig(node); err != nil {
		return "", err
	}
	port, err := m.serve(ctx, server{
		kind: kind, stopSignal: syscall.SIGTERM, home: home, within: clusterWithin,
		command: func(port int) *exec.Cmd {
			cmd := exec.Command(filepath.Join(dist, "bin", "elasticsearch"), "-Ehttp.port="+strconv.Itoa(port))
			cmd.Env = []string{
				"ES_JAVA_HOME=" + java,
				"ES_PATH_CONF=" + filepath.Join(home, "config"),
				"ES_TMPDIR=" + filepath.Join(home, "tmp"),
				"ES_JAVA_OPTS=" + m.jvmOptions(),
			}
			return cmd
		},
		probe: func(ctx context.Context, port int) error {
			return elasticsearchAnswers(ctx, &http.Transport{}, "http://"+loopback(port), nil)
		},
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", kind, err)
	}
	m.opts.Log("%s answers", kind)
	return "http://" + loopback(port), nil
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
			if res.StatusCode == http.StatusOK { // it is 408 when the time was over
				return nil
			}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
