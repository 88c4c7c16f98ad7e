//go:build !nocontainers

package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The images, the same as in docker-compose.yml.
const (
	elasticsearchImage = "docker.elastic.co/elasticsearch/elasticsearch:" + ElasticsearchVersion
	postgresImage      = "postgres:17"
	redisImage         = "redis:7.4"
)

// engineWithin bounds the search for a container engine. Most machines without
// one answer at once, some never.
const engineWithin = 2 * time.Second

// engineAnswers reports whether a container engine answers at the address in the
// environment or at one of the usual sockets.
func engineAnswers(ctx context.Context) (answers bool) {
	tclog.SetDefault(discardLog{})
	// The library's reaper is a container with the engine's socket in it, from an image
	// that not everybody can fetch; removeLeftovers does its work. The library reads this
	// once, with its first call.
	_ = os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // only a name with = or NUL fails
	ctx, cancel := context.WithTimeout(ctx, engineWithin)
	defer cancel()
	// The library panics on some invalid settings; such an engine is unusable.
	defer func() {
		if recover() != nil {
			answers = false
		}
	}()
	cli, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return false
	}
	_ = cli.Close()
	return true
}

// discardLog drops the library's progress messages: the stack logs its own.
type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

// containerSpec is one backend as a container.
type containerSpec struct {
	image string
	port  string // as in "6379/tcp"
	env   map[string]string
	cmd   []string
	data  string // data path in the container, stored in a volume
	// memory bounds the container, in bytes.
	memory int64
	ready  wait.Strategy
	url    func(address string) string
}

func elasticsearchContainer(opts Options) containerSpec {
	return containerSpec{
		image: elasticsearchImage,
		port:  "9200/tcp",
		env: map[string]string{
			"discovery.type":         "single-node",
			"xpack.security.enabled": "false",
			"cluster.routing.allocation.disk.threshold_enabled": "false",
			"ES_JAVA_OPTS": opts.jvmOptions(),
		},
		data:   "/usr/share/elasticsearch/data",
		memory: 3 << 30,
		ready: wait.ForHTTP("/_cluster/health?wait_for_status=yellow&timeout=3s").WithPort("9200/tcp").
			WithStatusCodeMatcher(func(status int) bool { return status == http.StatusOK }).WithStartupTimeout(readyWithin),
		url: func(address string) string { return "http://" + address },
	}
}

func postgresContainer(opts Options) containerSpec {
	s := containerSpec{
		image: postgresImage,
		port:  "5432/tcp",
		env: map[string]string{
			"POSTGRES_USER":             postgresAdmin,
			"POSTGRES_HOST_AUTH_METHOD": "trust", // the port is bound to loopback
			"POSTGRES_INITDB_ARGS":      postgresInit,
		},
		cmd:    []string{"postgres", "-c", "max_connections=200", "-c", "timezone=UTC"},
		data:   "/var/lib/postgresql/data",
		memory: 1 << 30,
		// By TCP: the server that sets the cluster up has only a socket.
		ready: wait.ForExec([]string{"pg_isready", "--host=127.0.0.1", "--username=" + postgresAdmin}).
			WithPollInterval(250 * time.Millisecond).WithStartupTimeout(readyWithin),
		url: func(address string) string {
			return "postgres://" + postgresAdmin + "@" + address + "/postgres?sslmode=disable"
		},
	}
	if opts.Ephemeral {
		s.cmd = append(s.cmd, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	return s
}

func redisContainer(opts Options) containerSpec {
	return containerSpec{
		image:  redisImage,
		port:   "6379/tcp",
		cmd:    append([]string{"redis-server"}, redisSettings(opts.Ephemeral)...),
		data:   "/data",
		memory: 512 << 20,
		ready:  wait.ForLog("Ready to accept connections").WithStartupTimeout(readyWithin),
		url:    func(address string) string { return "redis://" + address + "/0" },
	}
}

// engine runs the backends as containers. When this process is killed they keep running
// until the next start of any stack. Their data is in volumes named after the state folder,
// and remains unless the stack is ephemeral.
type engine struct {
	opts Options

	mu      sync.Mutex
	running []testcontainers.Container
	givenUp bool // a creation, which the engine may complete nevertheless
}

// Labels tie a container to its state folder and to the process that started it.
const (
	dirLabel     = "atlas.devstack.dir"
	starterLabel = "atlas.devstack.starter"
)

// volume returns the name of the volume for the data of a spec.
func (e *engine) volume(spec containerSpec) string {
	sum := sha256.Sum256([]byte(e.opts.Dir))
	image, _, _ := strings.Cut(spec.image[strings.LastIndexByte(spec.image, '/')+1:], ":")
	return "atlas-" + hex.EncodeToString(sum[:6]) + "-" + image
}

// removeLeftovers ends the containers of this state folder, and those that a killed starter
// left in another one, such as a temporary folder.
func (e *engine) removeLeftovers(ctx context.Context) error {
	cli, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer cli.Close()
	all, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", dirLabel)})
	if err != nil {
		return fmt.Errorf("look for containers that were left behind: %w", err)
	}
	for _, c := range all.Items {
		if c.Labels[dirLabel] != e.opts.Dir && !starterIsGone(c.Labels[starterLabel]) {
			continue
		}
		e.opts.Log("removing the container of %s, which was left behind", c.Image)
		// Stopping is graceful; another start may be faster.
		seconds := int(stopWithin.Seconds())
		_, _ = cli.ContainerStop(ctx, c.ID, client.ContainerStopOptions{Timeout: &seconds})
		remove := client.ContainerRemoveOptions{Force: true, RemoveVolumes: true} // those without a name
		if _, err := cli.ContainerRemove(ctx, c.ID, remove); err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			return fmt.Errorf("remove a container that was left behind: %w", err)
		}
	}
	return nil
}

// starterName names this process among all that use the engine.
func starterName() string { return fmt.Sprintf("%s %d", processSpace(), os.Getpid()) }

// processSpace names the scope of this process's number: the host and, on Linux, the
// namespace.
func processSpace() string {
	host, _ := os.Hostname()
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return host + "/" + namespace
}

// starterIsGone reports whether the process of that name has ended. It is false for a
// process of another scope.
func starterIsGone(name string) bool {
	pid, err := strconv.Atoi(strings.TrimPrefix(name, processSpace()+" "))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// run starts one backend, waits until it answers, and returns its address.
func (e *engine) run(ctx context.Context, describe func(Options) containerSpec) (string, error) {
	spec := describe(e.opts)
	if e.opts.Fresh {
		if err := removeVolume(ctx, e.volume(spec)); err != nil {
			return "", err
		}
	}
	port, err := network.ParsePort(spec.port)
	if err != nil {
		return "", err
	}
	c, err := testcontainers.Run(ctx, spec.image,
		testcontainers.WithEnv(spec.env),
		testcontainers.WithCmd(spec.cmd...),
		testcontainers.WithExposedPorts(spec.port),
		testcontainers.WithLabels(map[string]string{dirLabel: e.opts.Dir, starterLabel: starterName()}),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
			h.Memory = spec.memory
			if !e.opts.Ephemeral {
				h.Binds = append(h.Binds, e.volume(spec)+":"+spec.data)
			}
		}),
		testcontainers.WithWaitStrategyAndDeadline(readyWithin, spec.ready),
	)
	if c == nil {
		e.mu.Lock()
		e.givenUp = e.givenUp || ctx.Err() != nil
		e.mu.Unlock()
		return "", &undeliveredError{spec.image, err}
	}
	e.mu.Lock()
	e.running = append(e.running, c)
	e.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("container %s: %w%s", spec.image, err, containerTail(ctx, c))
	}
	address, err := c.PortEndpoint(ctx, spec.port, "")
	if err != nil {
		return "", fmt.Errorf("container %s: %w", spec.image, err)
	}
	return spec.url(address), nil
}

// stop ends and removes the containers in parallel. Named volumes stay.
func (e *engine) stop(ctx context.Context) error {
	e.mu.Lock()
	running, givenUp := e.running, e.givenUp
	e.running = nil
	e.mu.Unlock()
	errs := make([]error, len(running))
	var wg sync.WaitGroup
	for i, c := range running {
		wg.Go(func() {
			errs[i] = testcontainers.TerminateContainer(c, testcontainers.StopContext(ctx), testcontainers.StopTimeout(stopWithin))
		})
	}
	wg.Wait()
	if givenUp {
		errs = append(errs, e.removeLeftovers(ctx))
	}
	return errors.Join(errs...)
}

// removeVolume removes a volume if it exists.
func removeVolume(ctx context.Context, name string) error {
	cli, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer cli.Close()
	if _, err := cli.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true}); err != nil {
		return fmt.Errorf("remove the earlier data: %w", err)
	}
	return nil
}

// containerTail returns the end of a container's log as a suffix of an error.
func containerTail(ctx context.Context, c *testcontainers.DockerContainer) string {
	const most = 4 << 10
	r, err := c.Logs(context.WithoutCancel(ctx))
	if err != nil {
		return ""
	}
	defer r.Close()
	b, _ := io.ReadAll(io.LimitReader(r, 1<<20)) // a partial log helps too
	b = b[max(0, len(b)-most):]
	return "; the end of its log:\n" + string(b)
}
