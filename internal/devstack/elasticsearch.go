package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// elasticsearchArtifact is the server that Elastic publishes for
	// integration tests, without a JDK and with few modules.
	elasticsearchArtifact = "org.elasticsearch.distribution.integ-test-zip:elasticsearch:" + ElasticsearchVersion + ":zip"
	// unpackGoal fetches an artifact by its coordinates, checks and unpacks it.
	unpackGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack"
)

// elasticsearch starts one node and returns its address.
func (m *machine) elasticsearch(ctx context.Context) (string, error) {
	node := esNode{kind: "elasticsearch", settings: []string{
		"cluster.name: atlas-dev",
		`node.name: "atlas"`,
		"discovery.type: single-node",
		"xpack.security.enabled: false",
	}}
	port, err := m.startNode(ctx, node, plainNodeAnswers)
	return "http://" + loopback(port), err
}

// startNode starts a node and waits until the probe succeeds.
func (m *machine) startNode(ctx context.Context, node esNode, probe func(ctx context.Context, port int) error) (port int, err error) {
	java, err := findJava(ctx, m.account)
	if err != nil {
		return 0, err
	}
	dist, err := m.distribution(ctx, java)
	if err != nil {
		return 0, err
	}
	home, err := m.home(node.kind)
	if err != nil {
		return 0, err
	}
	if err := m.writeConfig(home, node); err != nil {
		return 0, err
	}
	return m.serve(ctx, server{
		kind:       node.kind,
		stopSignal: syscall.SIGTERM,
		home:       home,
		within:     node.within,
		command: func(port int) *exec.Cmd {
			cmd := exec.Command(filepath.Join(dist, "bin", "elasticsearch"), "-Ehttp.port="+strconv.Itoa(port)) // #nosec G204 -- a program of this machine, with arguments of this one
			cmd.Env = []string{
				"ES_JAVA_HOME=" + java,
				"ES_PATH_CONF=" + filepath.Join(home, "config"),
				"ES_TMPDIR=" + filepath.Join(home, "tmp"),
				"ES_JAVA_OPTS=" + m.opts.jvmOptions(),
			}
			return cmd
		},
		probe: probe,
	})
}

// jvmOptions are the heap and the compiler's tiers.
func (o Options) jvmOptions() string {
	heap := "-Xms" + o.ESHeap + " -Xmx" + o.ESHeap
	if o.Ephemeral || o.FastStart {
		return heap + " -XX:TieredStopAtLevel=1"
	}
	return heap
}

// elasticsearchAnswers waits for the shards: a node answers earlier, but then
// refuses searches. user may be nil.
func elasticsearchAnswers(ctx context.Context, transport *http.Transport, address string, user *url.Userinfo) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/_cluster/health?wait_for_status=yellow&timeout=3s", nil)
	if err != nil {
		return err
	}
	req.URL.User = user
	// One connection per call: none stays open.
	transport.DisableKeepAlives = true
	client := http.Client{Transport: transport}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var health struct {
		Status   string `json:"status"`
		TimedOut bool   `json:"timed_out"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&health); err != nil {
		return fmt.Errorf("health: %s: %w", resp.Status, err)
	}
	if resp.StatusCode != http.StatusOK || health.TimedOut {
		return fmt.Errorf("health: %s, shards %q", resp.Status, health.Status)
	}
	return nil
}

// plainNodeAnswers probes a node without security.
func plainNodeAnswers(ctx context.Context, port int) error {
	return elasticsearchAnswers(ctx, &http.Transport{}, "http://"+loopback(port), nil)
}

// esNode is a node of Elasticsearch. kind names its process, its log and its
// folder.
type esNode struct {
	kind string
	// settings are lines of elasticsearch.yml beyond those of every node.
	settings []string
	// files are further files of the folder config: name → content.
	files map[string]string
	// within bounds the start, 0 means readyWithin.
	within time.Duration
}

// The node's log4j2.properties and jvm.options. The node logs to its standard
// output, which goes to a file of the machine, and exits when its heap is full.
const (
	esLogging = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}]%marker %m%consoleException%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
`
	esJVM = `-XX:+UseG1GC
-Djava.io.tmpdir=${ES_TMPDIR}
20-:--add-modules=jdk.incubator.vector
23-:-XX:CompileCommand=dontinline,java/lang/invoke/MethodHandle.setAsTypeCache
23-:-XX:CompileCommand=dontinline,java/lang/invoke/MethodHandle.asTypeUncached
-Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1
-XX:+ExitOnOutOfMemoryError
-XX:ErrorFile=hs_err_pid%p.log
`
)

// writeConfig makes the node's folder. A folder tmp of an earlier run is removed.
func (m *machine) writeConfig(home string, n esNode) error {
	if err := os.RemoveAll(filepath.Join(home, "tmp")); err != nil {
		return err
	}
	for _, dir := range []string{"config", "config/jvm.options.d", "data", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil { // #nosec G301 -- the account of the servers enters it
			return err
		}
	}
	settings := append([]string{
		"network.host: 127.0.0.1",
		"path.data: " + strconv.Quote(filepath.Join(home, "data")),
		"path.logs: " + strconv.Quote(filepath.Join(home, "logs")),
		// A full disk must not turn a developer's indices read-only.
		"cluster.routing.allocation.disk.threshold_enabled: false",
	}, n.settings...)
	files := map[string]string{
		"elasticsearch.yml": strings.Join(settings, "\n") + "\n",
		"log4j2.properties": esLogging,
		"jvm.options":       esJVM,
	}
	maps.Copy(files, n.files)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, "config", name), []byte(text), 0o644); err != nil { // #nosec G306 -- the account of the servers reads it
			return err
		}
	}
	for _, dir := range []string{"config", "data", "logs", "tmp"} {
		if err := m.own(filepath.Join(home, dir)); err != nil {
			return err
		}
	}
	return nil
}

// cacheDir returns the folder of unpacked servers, which the account can read.
func (m *machine) cacheDir() (string, error) {
	dir := m.opts.Cache
	if !canEnter(dir, m.account) {
		// Only root gets here, and only root may write there.
		dir = "/var/cache/atlas"
	}
	return dir, makeDir(dir)
}

// distribution returns the folder of the unpacked server. It fetches it once
// per cache.
func (m *machine) distribution(ctx context.Context, java string) (string, error) {
	cache, err := m.cacheDir()
	if err != nil {
		return "", err
	}
	name := "elasticsearch-" + ElasticsearchVersion
	return fetchOnce(ctx, cache, name, filepath.Join("bin", "elasticsearch"), func(tmp string) (string, error) {
		m.opts.Log("fetching Elasticsearch %s with Maven (98 MB, once)", ElasticsearchVersion)
		mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", unpackGoal, "-Dartifact="+elasticsearchArtifact, "-DoutputDirectory="+tmp) // #nosec G204 -- a program of this machine, with arguments of this one
		mvn.Dir = tmp
		mvn.Env = append(os.Environ(), "JAVA_HOME="+java)
		out, err := mvn.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("mvn is needed to fetch it: install Maven")
		}
		if err != nil {
			return "", fmt.Errorf("mvn: %w\n%s", err, out)
		}
		// The archive and the umask may deny access to the account of the servers.
		if out, err := exec.CommandContext(ctx, "chmod", "-R", "a+rX", tmp).CombinedOutput(); err != nil { // #nosec G204 -- a program of this machine, with arguments of this one
			return "", fmt.Errorf("chmod: %w\n%s", err, out)
		}
		return filepath.Join(tmp, name), nil
	})
}

// fetchOnce returns the folder cache/name, which contains the file proof. If it
// is missing, fetch creates it below a temporary folder, and a rename moves it
// into place. Concurrent callers, in any process, fetch once.
func fetchOnce(ctx context.Context, cache, name, proof string, fetch func(tmp string) (string, error)) (string, error) {
	final := filepath.Join(cache, name)
	complete := func() bool {
		_, err := os.Stat(filepath.Join(final, proof))
		return err == nil
	}
	if complete() {
		return final, nil
	}
	unlock, err := lockFile(ctx, final+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete() {
		return final, nil
	}
	tmp := final + ".unpacking" // the lock is held, so a killed process left an existing folder
	if err := errors.Join(os.RemoveAll(tmp), os.RemoveAll(final)); err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := makeDir(tmp); err != nil {
		return "", err
	}
	got, err := fetch(tmp)
	if err != nil {
		return "", err
	}
	if err := os.Rename(got, final); err != nil {
		return "", err
	}
	if !complete() {
		return "", fmt.Errorf("%s has no %s", final, proof)
	}
	return final, nil
}
