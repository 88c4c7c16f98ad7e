package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"github.com/redis/go-redis/v9"

	"atlas/scripts/experiments/rig"
)

// machine describes the machine of a measurement.
type machine struct {
	Processors int     `json:"processors"`
	CPU        string  `json:"cpu"`
	MemoryGiB  float64 `json:"memory_gib"`
	System     string  `json:"system"`
	// LoadBefore is the load average of the minute before the run: above a few
	// tenths, other programs used the machine too.
	LoadBefore string `json:"load_before"`
}

func (m machine) String() string {
	return fmt.Sprintf("%d × %s, %.0f GiB of memory, %s; load average before %s", m.Processors, m.CPU, m.MemoryGiB, m.System, m.LoadBefore)
}

// machineOf reads /proc. Values that are not there stay empty.
func machineOf() machine {
	m := machine{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
		m.CPU = cpus[0].ModelName
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotal != nil {
		m.MemoryGiB = float64(*memory.MemTotal) / (1 << 20)
	}
	if release, err := fs.SysctlStrings("kernel.osrelease"); err == nil && len(release) > 0 {
		m.System = "Linux " + release[0] + ", " + runtime.GOARCH
	}
	if load, err := fs.LoadAvg(); err == nil {
		m.LoadBefore = strconv.FormatFloat(load.Load1, 'f', 2, 64)
	}
	return m
}

// versions are those of the measured programs.
type versions struct {
	Atlas         string `json:"atlas"` // commit
	Go            string `json:"go"`    // that atlas was built with
	Elasticsearch string `json:"elasticsearch"`
	JVM           string `json:"jvm"`
	Redis         string `json:"redis"`
}

func (v versions) String() string {
	return fmt.Sprintf("Atlas %s, Go %s, Elasticsearch %s on JVM %s, Redis %s", v.Atlas, v.Go, v.Elasticsearch, v.JVM, v.Redis)
}

// versionsOf asks the binary and the backends.
func versionsOf(ctx context.Context, binary string, r *rig.Rig, c *redis.Client) versions {
	built := must(buildinfo.ReadFile(binary))
	v := versions{Go: built.GoVersion[len("go"):], Atlas: "of an unknown commit"}
	for _, s := range built.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Atlas = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Atlas += " with changes"
		}
	}
	if commit := os.Getenv("BENCHMARK_COMMIT"); commit != "" && binary == atlasBesideThis() {
		v.Atlas = commit // scripts/bench has just built it
	}
	var nodes struct {
		Nodes map[string]struct {
			Version string
			JVM     struct {
				Version string
				Mem     struct {
					Heap int64 `json:"heap_max_in_bytes"`
				}
			}
		}
	}
	check(r.Ask(ctx, "GET", "/_nodes/jvm?filter_path=nodes.*.version,nodes.*.jvm.version,nodes.*.jvm.mem.heap_max_in_bytes", "", &nodes))
	for _, n := range nodes.Nodes {
		v.Elasticsearch = n.Version
		v.JVM = fmt.Sprintf("%s with a heap of %d MiB", n.JVM.Version, n.JVM.Mem.Heap>>20)
	}
	info := c.InfoMap(ctx, "server")
	check(info.Err())
	v.Redis = info.Item("Server", "redis_version")
	return v
}

// heading is the beginning of every result.
type heading struct {
	Date     time.Time `json:"date"`
	Command  string    `json:"command"`
	Machine  machine   `json:"machine"`
	Versions versions  `json:"versions"`
	Dataset  dataset   `json:"dataset"`
}

// where says when, how and where the result was measured.
func (h heading) where() string {
	return fmt.Sprintf("- %s, `%s`\n- %s\n- %s\n", h.Date.Format("2006-01-02 15:04 UTC"), h.Command, h.Machine, h.Versions)
}

// whole is where, and the dataset.
func (h heading) whole() string {
	n := h.Dataset.Records
	return h.where() + fmt.Sprintf("- %d records (%d accounts, %d contacts, %d projects, %d signals), seed %d, one shard a dataset; client, service and backends share the machine\n",
		n.Total(), n.Accounts, n.Contacts, n.Projects, n.Signals, h.Dataset.Seed)
}
