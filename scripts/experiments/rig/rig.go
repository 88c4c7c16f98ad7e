// Package rig runs Atlas for experiments and benchmarks: its own real backends,
// atlas as processes, proxies between them, and a client of the API. Everything
// that a rig starts ends with its test.
//
// A rig uses Atlas as its users do: by command line, environment and API. Methods
// without an error result fail the test and must run in its goroutine; methods for
// other goroutines return an error.
package rig

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atlas/internal/devstack"
)

// TB is the part of testing.TB that a rig uses, so that commands can run one too.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Options of a rig. The zero value is one small stack with 4,000 records.
type Options struct {
	// Dir holds backends and data, and is not deleted. Default: a temporary folder.
	Dir string
	// Atlas is the binary. Default: that of ATLAS_BINARY, or one built now.
	Atlas string
	// Containers lets backends run in containers, which cannot be killed one by one.
	Containers bool
	// Prefix begins the names of all indices. Default: "faults-".
	Prefix string
	// Records are generated and loaded; 0 means 4,000, -1 none.
	Records int64
	// Seed of the generated records.
	Seed uint64
	// ESHeap is the heap of each node of Elasticsearch; default 1g, 512m in a cluster.
	ESHeap string
	// Nodes of Elasticsearch. 0 means one node that can be killed and resumed, more
	// mean a cluster whose nodes can be killed.
	Nodes int
	// Replicated starts Postgres with a standby and Redis under Sentinels too
	// (Rig.Cluster), and makes a copy of each shard. It needs Nodes. EnvCluster sets
	// it for a rig without Nodes.
	Replicated bool
	// Load are further arguments of `atlas index load`.
	Load []string
	// Disk, when not 0, is the size in bytes of a file system for the backends'
	// data, which FillDisk fills.
	Disk int64
	// Clock makes Postgres use a clock that SetClock sets.
	Clock bool
}

// Rig is the stack and the paths of its files.
type Rig struct {
	// Dir is a temporary folder for whatever the test writes.
	Dir string
	// Records is the folder of records that was loaded, if any was.
	Records string
	// Stack can kill, halt and resume single backends; see also Kill and Resume.
	Stack *devstack.Stack
	// Cluster is set if Options.Nodes is. Only with Options.Replicated Stack has no
	// backends.
	Cluster *devstack.Cluster
	// Elasticsearch are the addresses of its nodes.
	Elasticsearch []string
	// Postgres is the database of Atlas as the administrator, who sees all rows.
	Postgres string

	t      TB
	atlas  string // the binary
	prefix string
	// Addresses of the backends for Atlas.
	app, system, redisDB string
	servers              int
	disk                 string // mount point of Options.Disk
	clock                string // the file of Postgres's clock (Options.Clock)
	replicated           bool
	fallen               map[devstack.Backend]string // the server that Kill or Halt ended
}

const (
	jwtSecret      = "the experiments' secret of at least 32 bytes"
	defaultRecords = 4_000
	stopWithin     = time.Minute
)

// Start starts the backends, loads records and prepares the database.
func Start(t TB, o Options) *Rig {
	t.Helper()
	began := time.Now()
	if os.Getenv(EnvCluster) != "" && o.Nodes == 0 {
		o.Nodes, o.Replicated, o.ESHeap = 3, true, ""
	}
	r := &Rig{
		t: t, Dir: o.Dir, atlas: o.Atlas, prefix: cmp.Or(o.Prefix, "faults-"), replicated: o.Replicated,
		fallen: map[devstack.Backend]string{},
	}
	if r.Dir == "" {
		r.Dir = Folder(t, "")
	}
	if r.atlas == "" {
		r.atlas = binary(t, r.Dir)
	}
	given := devstack.Options{
		Dir: filepath.Join(r.Dir, "stack"), Local: !o.Containers, ESHeap: o.ESHeap,
		Log: func(format string, args ...any) { t.Logf(format, args...) },
	}
	if o.Disk > 0 {
		r.mount(given.Dir, o.Disk)
	}
	if o.Clock {
		given.Env = r.fakedClock()
	}
	if o.Nodes > 0 {
		r.startCluster(given, o)
		given.ElasticsearchURL, given.PostgresURL, given.RedisURL = r.Cluster.URLs[0], r.Cluster.PostgresURL, r.Cluster.RedisURL
	}
	var err error
	if r.Stack, err = devstack.Start(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ended(t, "the stack", r.Stack.Stop) })
	if r.Elasticsearch == nil {
		r.Elasticsearch = []string{r.Stack.ElasticsearchURL}
	}
	r.redisDB = r.Stack.RedisURL
	r.Postgres = database(t, r.Stack.PostgresURL, "postgres")
	r.app, r.system = database(t, r.Stack.PostgresURL, "atlas_app"), database(t, r.Stack.PostgresURL, "atlas_system")
	r.Atlas("migrate", "--postgres-admin-url", r.Stack.PostgresURL)
	if o.Records >= 0 {
		if o.Records == 0 {
			o.Records = defaultRecords
		}
		r.Records = filepath.Join(r.Dir, "records")
		r.Generate(r.Records, o.Records, o.Seed)
		r.Load(r.Records, o.Load...)
	}
	t.Logf("the rig stands after %.0f s", time.Since(began).Seconds())
	return r
}

func (r *Rig) startCluster(given devstack.Options, o Options) {
	r.t.Helper()
	given.Dir = filepath.Join(r.Dir, "cluster")
	start := devstack.StartCluster
	if o.Replicated {
		start = devstack.StartReplicated
	}
	cluster, err := start(r.t.Context(), given, o.Nodes)
	Check(r.t, err)
	r.t.Cleanup(func() { ended(r.t, "the cluster", cluster.Stop) })
	r.Cluster, r.Elasticsearch = cluster, cluster.URLs
}

func ended(t TB, what string, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if err := stop(ctx); err != nil {
		t.Errorf("stopping %s: %v", what, err)
	}
}

// Folder makes a temporary folder below another one, "" for the system's. The
// backends' own user may read it.
func Folder(t TB, below string) string {
	t.Helper()
	dir, err := os.MkdirTemp(below, "atlas-rig-")
	Check(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	Check(t, os.Chmod(dir, 0o755)) // #nosec G302 -- the account of the servers enters it
	return dir
}

// Generate writes a synthetic dataset to a folder.
func (r *Rig) Generate(dir string, records int64, seed uint64) {
	r.t.Helper()
	r.Atlas("generate", "--records", strconv.FormatInt(records, 10), "--seed", strconv.FormatUint(seed, 10), "--out", dir)
}

// Load loads a folder of records into a new generation, and waits until searches
// use it. Use Command to load concurrently.
func (r *Rig) Load(dir string, args ...string) {
	r.t.Helper()
	r.Atlas(append([]string{"index", "load", dir}, args...)...)
}

// Environment is the environment of every atlas command of the rig: the settings of
// this rig, without the caller's environment.
func (r *Rig) Environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ATLAS_") && !strings.HasPrefix(e, "OTEL_") {
			env = append(env, e)
		}
	}
	if r.replicated {
		env = append(env, "ATLAS_INDEX_REPLICAS=1", "ATLAS_HELD_REPLICAS=1")
	}
	return append(env,
		"ATLAS_ELASTICSEARCH_URL="+strings.Join(r.Elasticsearch, ","), "ATLAS_INDEX_PREFIX="+r.prefix,
		"ATLAS_POSTGRES_URL="+r.app, "ATLAS_POSTGRES_SYSTEM_URL="+r.system,
		"ATLAS_REDIS_URL="+r.redisDB,
		"ATLAS_CURSOR_KEYS=the experiments' cursor key", "ATLAS_JWT_SECRET="+jwtSecret,
		"ATLAS_MAX_BOOK_ADDITIONS=1000000000", // experiments remove and add records for hours
		"ATLAS_TEMP_DIR="+filepath.Join(r.Dir, "work"), "ATLAS_DELTA_DIR="+filepath.Join(r.Dir, "delta"))
}

// Index is the name of the alias that searches of a global dataset use.
func (r *Rig) Index(dataset string) string { return r.prefix + dataset }

// Held is the name of the alias of a dataset's held records.
func (r *Rig) Held(dataset string) string { return r.prefix + "held-" + dataset }
