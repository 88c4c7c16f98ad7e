package devstack

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// elasticsearchArtifact is the server as Elastic publishes it for
	// integration tests: the real one, without a JDK and with few modules.
	elasticsearchArtifact = "org.elasticsearch.distribution.integ-test-zip:elasticsearch:" + ElasticsearchVersion + ":zip"
	// copyGoal fetches an artifact by its coordinates and checks it.
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
)

// elasticsearch starts one node and returns its address.
func (m *machine) elasticsearch(ctx context.Context) (string, error) {
	home, err := m.home("elasticsearch")
	if err != nil {
		return "", err
	}
	port, err := m.startNode(ctx, esNode{name: "atlas", home: home}, func(ctx context.Context, port int) error {
		return elasticsearchAnswers(ctx, &http.Transport{}, "http://"+loopback(port), nil)
	})
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
	if err := m.writeConfig(node); err != nil {
		return 0, err
	}
	return m.serve(ctx, server{
		kind:       "elasticsearch",
		stopSignal: syscall.SIGTERM,
		home:       node.home,
		command: func(port int) *exec.Cmd {
			cmd := exec.Command(filepath.Join(dist, "bin", "elasticsearch"), "-Ehttp.port="+strconv.Itoa(port))
			cmd.Env = []string{
				"ES_JAVA_HOME=" + java,
				"ES_PATH_CONF=" + filepath.Join(node.home, "config"),
				"ES_TMPDIR=" + filepath.Join(node.home, "tmp"),
				"ES_JAVA_OPTS=" + m.jvmOptions(),
			}
			return cmd
		},
		probe: probe,
	})
}

// jvmOptions are the heap and, for tests, what starts soonest: a node that
// lives for minutes does not earn back what the second compiler costs.
func (m *machine) jvmOptions() string {
	heap := "-Xms" + m.opts.ESHeap + " -Xmx" + m.opts.ESHeap
	if m.opts.Ephemeral {
		return heap + " -XX:TieredStopAtLevel=1"
	}
	return heap
}

// elasticsearchAnswers asks for the state of the shards: the node answers
// earlier, but then refuses searches. user may be nil.
func elasticsearchAnswers(ctx context.Context, transport *http.Transport, address string, user *url.Userinfo) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/_cluster/health?wait_for_status=yellow&timeout=3s", nil)
	if err != nil {
		return err
	}
	req.URL.User = user
	// A connection of its own: none stays open behind the caller's back.
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

// esNode is one node's name and folder; below it lie config, data, logs, tmp.
type esNode struct {
	name string
	home string
	// secured turns security and TLS on; files are then its certificate and
	// its users, by their names in the folder config.
	secured bool
	files   map[string]string
}

// settings are the node's elasticsearch.yml. A full disk must not turn a
// developer's indices read-only, so the disk is not watched.
func (n esNode) settings() string {
	quote := strconv.Quote // a double-quoted YAML string
	return strings.Join(append([]string{
		"cluster.name: atlas-dev",
		"node.name: " + quote(n.name),
		"discovery.type: single-node",
		"network.host: 127.0.0.1",
		"path.data: " + quote(filepath.Join(n.home, "data")),
		"path.logs: " + quote(filepath.Join(n.home, "logs")),
		"xpack.security.enabled: " + strconv.FormatBool(n.secured),
		"cluster.routing.allocation.disk.threshold_enabled: false",
	}, n.security()...), "\n") + "\n"
}

// What the node's log4j2.properties and jvm.options hold: its log goes to the
// standard output, which the machine keeps, and an overfull heap ends it.
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

// writeConfig lays out the node's folder. What a killed node left in tmp goes.
func (m *machine) writeConfig(n esNode) error {
	if err := os.RemoveAll(filepath.Join(n.home, "tmp")); err != nil {
		return err
	}
	for _, dir := range []string{"config", "config/jvm.options.d", "data", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(n.home, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{"elasticsearch.yml": n.settings(), "log4j2.properties": esLogging, "jvm.options": esJVM}
	maps.Copy(files, n.files)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(n.home, "config", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, dir := range []string{"config", "data", "logs", "tmp"} {
		if err := m.own(filepath.Join(n.home, dir)); err != nil {
			return err
		}
	}
	return nil
}

// cacheDir returns the folder of unpacked servers, which the account can read.
func (m *machine) cacheDir() (string, error) {
	dir := m.opts.Cache
	if !passable(dir, m.account) {
		// Only root gets here, and only root may write there.
		dir = "/var/cache/atlas"
	}
	return dir, makeDir(dir)
}

// distribution returns the folder of the unpacked server, which it fetches
// once per cache.
func (m *machine) distribution(ctx context.Context, java string) (string, error) {
	cache, err := m.cacheDir()
	if err != nil {
		return "", err
	}
	name := "elasticsearch-" + ElasticsearchVersion
	return fetchOnce(ctx, cache, name, filepath.Join("bin", "elasticsearch"), func(tmp string) (string, error) {
		m.opts.Log("fetching Elasticsearch %s with Maven (98 MB, once)", ElasticsearchVersion)
		mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", copyGoal, "-Dartifact="+elasticsearchArtifact, "-DoutputDirectory="+tmp)
		mvn.Dir = tmp
		mvn.Env = append(os.Environ(), "JAVA_HOME="+java)
		out, err := mvn.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("mvn is needed to fetch it: install Maven")
		}
		if err != nil {
			return "", fmt.Errorf("mvn: %w\n%s", err, out)
		}
		if err := unzip(filepath.Join(tmp, name+".zip"), tmp); err != nil {
			return "", err
		}
		return filepath.Join(tmp, name), nil
	})
}

// fetchOnce returns the folder cache/name, which holds the file proof. When it
// is not there, fetch makes it below a temporary folder and it is moved into
// place whole. Two at once, of any process, fetch once.
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
	tmp := final + ".unpacking" // under the lock: another's is a killed one's
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

// unzip unpacks an archive so that every user may read and run what is in it.
func unzip(archive, into string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	defer r.Close()
	for _, f := range r.File {
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("unpack %s: %q leads out of it", filepath.Base(archive), f.Name)
		}
		if err := unzipFile(f, filepath.Join(into, f.Name)); err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
	}
	return nil
}

func unzipFile(f *zip.File, path string) error {
	if f.FileInfo().IsDir() {
		return mkdirAllOpen(path)
	}
	if !f.Mode().IsRegular() {
		return errors.New("is neither a file nor a folder")
	}
	if err := mkdirAllOpen(filepath.Dir(path)); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if f.Mode()&0o111 != 0 {
		mode = 0o755
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(mode), out.Close())
}

// mkdirAllOpen is os.MkdirAll whatever the umask.
func mkdirAllOpen(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := mkdirAllOpen(filepath.Dir(dir)); err != nil {
		return err
	}
	return makeDir(dir)
}
