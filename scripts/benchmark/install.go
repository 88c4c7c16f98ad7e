package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/mappings"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
	"atlas/workspace"
)

// place says where a benchmark stores its data, and which binary it measures.
type place struct {
	Dir   string `type:"path" help:"Folder of backends and data, kept for the next run with the same records and seed (default: a temporary one, removed at the end)."`
	Atlas string `type:"path" placeholder:"FILE" help:"The atlas binary to measure (default: the one beside this program)."`

	// nodes of a cluster of Elasticsearch, which has as many shards a dataset; 0 is a
	// single node outside of a cluster.
	nodes int
}

// installation is running backends with a loaded dataset.
type installation struct {
	*run
	*rig.Rig
	before  machine // its state before this run
	atlas   string  // the binary
	redis   *redis.Client
	dataset dataset
	// loaded is how long the load of the dataset took, 0 if it was reused.
	loaded time.Duration
	shards int  // of each dataset
	limit  int  // of the searches of bothWays, 0: as they are drawn
	found  bool // bothWays has only requests that find something
}

// dataset describes the loaded data. It is stored with the data: an equal one need
// not be loaded again.
type dataset struct {
	generate.Report
	// Mappings is a digest of the index definitions.
	Mappings string `json:"mappings"`
}

// atlasBesideThis is the path of the atlas binary that was built with this program.
func atlasBesideThis() string {
	self, err := os.Executable()
	if err != nil {
		return "atlas" // in the working folder
	}
	return filepath.Join(filepath.Dir(self), "atlas")
}

// indexPrefix begins the names of all indices.
const indexPrefix = "benchmark-"

// startBackends starts the backends, empty or in a persistent folder.
func startBackends(r *run, p place) *installation {
	i := &installation{run: r, before: machineOf(), atlas: p.Atlas}
	if i.atlas == "" {
		i.atlas = atlasBesideThis()
	}
	_, err := os.Stat(i.atlas)
	check(err)
	i.Rig = rig.Start(r, rig.Options{Dir: p.Dir, Atlas: i.atlas, Containers: true, Prefix: indexPrefix, Records: -1, Nodes: p.nodes})
	i.shards = max(1, p.nodes)
	i.redis = i.Redis()
	return i
}

// install starts the backends and loads the dataset, unless the folder has it.
func install(r *run, p place, records int64, seed uint64) *installation {
	wanted := dataset{Report: generate.Report{Total: records, Seed: seed}, Mappings: mappingsDigest()}
	kept, is := false, dataset{}
	if p.Dir != "" {
		kept, is = find(p.Dir, wanted)
	}
	i := startBackends(r, p)
	if i.dataset = is; !kept {
		i.fill(wanted)
	}
	i.settle()
	return i
}

func (i *installation) records() string { return filepath.Join(i.Dir, "records") }

// marker is the file that says what a folder holds. Folders of earlier versions,
// with data elsewhere in them, have another one and are refused.
func marker(dir string) string { return filepath.Join(dir, "installation.json") }

// find returns the dataset of a persistent folder, if it is the wanted one; otherwise it
// empties the folder. A folder that holds anything else is refused.
func find(dir string, wanted dataset) (kept bool, d dataset) {
	raw, err := os.ReadFile(marker(dir))
	if errors.Is(err, os.ErrNotExist) {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			failf("%s holds what no benchmark put there: give another folder", dir)
		}
	} else {
		check(err)
		if json.Unmarshal(raw, &d) == nil && d.Total == wanted.Total && d.Seed == wanted.Seed && d.Mappings == wanted.Mappings {
			return true, d
		}
		check(os.RemoveAll(dir))
	}
	check(os.MkdirAll(dir, 0o755))                          // #nosec G301 -- the account of the servers enters it
	check(os.WriteFile(marker(dir), []byte("{}\n"), 0o600)) // a folder of a benchmark, not filled yet
	return false, dataset{}
}

// fill generates the records and loads them.
func (i *installation) fill(wanted dataset) {
	began := time.Now()
	generated := must(generate.Generate(i.ctx, generate.Options{Records: wanted.Total, Seed: wanted.Seed, Dir: i.records()}))
	say("generated %d records in %.1f s", generated.Total, time.Since(began).Seconds())
	began = time.Now()
	loaded := i.load()
	if loaded != generated.Total {
		failf("loaded %d of %d records", loaded, generated.Total)
	}
	i.loaded = time.Since(began)
	say("loaded %d records in %.1f s", loaded, i.loaded.Seconds())
	i.dataset = dataset{Report: generated, Mappings: wanted.Mappings}
	check(os.WriteFile(marker(i.Dir), must(json.Marshal(i.dataset)), 0o600))
}

// load loads the records into a new generation, and returns how many there are.
func (i *installation) load() int64 {
	var loaded indexer.Report
	check(json.Unmarshal([]byte(i.Rig.Atlas("index", "load", i.records(), "--shards", strconv.Itoa(i.shards), "--json")), &loaded))
	return loaded.Documents()
}

// settledWithin bounds the time of merging segments of many million records.
const settledWithin = 20 * time.Minute

// settle waits until Elasticsearch has merged no segments of the benchmark (of either
// prefix) for three looks.
func (i *installation) settle() {
	quiet := 0
	i.await(settledWithin, "no segments are merged", func() error {
		var stats struct {
			All struct {
				Primaries struct{ Merges struct{ Current int } }
			} `json:"_all"`
		}
		if err := i.Ask(i.ctx, "GET", "/bench*/_stats/merge", "", &stats); err != nil {
			return err
		}
		if quiet++; stats.All.Primaries.Merges.Current > 0 {
			quiet = 0
		}
		if quiet < 3 {
			time.Sleep(500 * time.Millisecond)
			return fmt.Errorf("%d are", stats.All.Primaries.Merges.Current)
		}
		return nil
	})
}

// await is rig.Until, but ends with the run.
func (i *installation) await(most time.Duration, what string, holds func() error) {
	check(rig.Until(most, what, func() error {
		if i.ctx.Err() != nil {
			return errors.Join(rig.ErrNeverHolds, i.ctx.Err())
		}
		return holds()
	}))
}

// setting is a variable of the environment that the rig gives to Atlas.
func (i *installation) setting(name string) string {
	for _, s := range i.Environment() {
		if value, ok := strings.CutPrefix(s, name+"="); ok {
			return value
		}
	}
	failf("the rig sets no %s", name)
	return ""
}

// mappingsDigest changes with the index definitions and with the folding: after a
// change, a load would produce other data than is loaded.
func mappingsDigest() string {
	sum := sha256.New()
	for _, d := range catalog.Datasets {
		sum.Write(must(mappings.Index(string(d), mappings.Settings{})))
	}
	fmt.Fprint(sum, catalog.NewestFolding)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// heading describes a run on the installation.
func (i *installation) heading() heading {
	return heading{
		Date: time.Now().UTC(), Command: commandLine(os.Args[1:]), Machine: i.before,
		Versions: versionsOf(i.ctx, i.atlas, i.Rig, i.redis), Dataset: i.dataset,
	}
}

// serve starts a service. All services of the rig accept its cursors.
func (i *installation) serve(settings ...string) *rig.Server {
	// A slow moment must be measured and not become an error.
	return i.Serve(append([]string{"ATLAS_REDIS_TIMEOUT=10s", "ATLAS_SEARCH_TIMEOUT=60s"}, settings...)...)
}

// serving is an installation with a service, and a client of the service in a
// workspace.
type serving struct {
	*installation
	server *rig.Server
	// key is an API key of the workspace, with all scopes.
	key    string
	client load.Client
	meter  cpuMeter
}

// connections is the number of connections of a service's client.
const connections = 8

// newKey returns the key of a new workspace with the highest credit ceiling. Its
// window has no credits of an earlier run.
func (i *installation) newKey() string { return i.Workspace(workspace.MaxCeiling).Key }

// serving runs measure with a service with further settings, for the workspace of a key.
func (i *installation) serving(key string, measure func(*serving), settings ...string) {
	s := &serving{installation: i, server: i.serve(settings...), key: key, client: load.NewClient(connections)}
	defer func() { check(s.server.Stop()) }()
	defer s.client.CloseIdleConnections()
	s.meter = newMeter(i.ctx, i.Rig, i.redis, true, s.server.PID())
	measure(s)
}

// inNewWorkspace returns the same service with the key of a new workspace.
func (s *serving) inNewWorkspace() *serving {
	other := *s
	other.key = s.newKey()
	return &other
}
