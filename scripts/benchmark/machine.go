package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/elastic"
)

// machine is where something was measured.
type machine struct {
	Processors int     `json:"processors"`
	CPU        string  `json:"cpu"`
	MemoryGiB  float64 `json:"memory_gib"`
	System     string  `json:"system"`
	// LoadBefore is the load average of the minute before the run: above a few
	// tenths, others used the machine too.
	LoadBefore string `json:"load_before"`
}

func (m machine) String() string {
	return fmt.Sprintf("%d × %s, %.0f GiB of memory, %s; load average before %s", m.Processors, m.CPU, m.MemoryGiB, m.System, m.LoadBefore)
}

// versions are of what was measured.
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
func versionsOf(ctx context.Context, binary string, es *elastic.Client, r redis.UniversalClient) (v versions, err error) {
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		return v, err
	}
	v.Go, v.Atlas = built.GoVersion[len("go"):], "of an unknown commit"
	for _, s := range built.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Atlas = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Atlas += " with changes"
		}
	}
	if commit := os.Getenv("BENCHMARK_COMMIT"); commit != "" && binary == besideThis() {
		v.Atlas = commit // scripts/bench has just built it
	}
	var nodes struct {
		Nodes map[string]struct {
			Version string `json:"version"`
			JVM     struct {
				Version string `json:"version"`
				Mem     struct {
					HeapMaxInBytes int64 `json:"heap_max_in_bytes"`
				} `json:"mem"`
			} `json:"jvm"`
		} `json:"nodes"`
	}
	if err := ask(ctx, es, "/_nodes/jvm?filter_path=nodes.*.version,nodes.*.jvm.version,nodes.*.jvm.mem.heap_max_in_bytes", &nodes); err != nil {
		return v, err
	}
	for _, n := range nodes.Nodes {
		v.Elasticsearch = n.Version
		v.JVM = fmt.Sprintf("%s with a heap of %d MiB", n.JVM.Version, n.JVM.Mem.HeapMaxInBytes>>20)
	}
	info, err := r.Info(ctx, "server").Result()
	v.Redis = infoValue(info, "redis_version")
	return v, err
}

// heading is what every result begins with.
type heading struct {
	Date     time.Time `json:"date"`
	Command  string    `json:"command"`
	Machine  machine   `json:"machine"`
	Versions versions  `json:"versions"`
	Dataset  dataset   `json:"dataset"`
}

// where tells when, how, where and of what.
func (h heading) where() string {
	return fmt.Sprintf("- %s, `%s`\n- %s\n- %s\n", h.Date.Format("2006-01-02 15:04 UTC"), h.Command, h.Machine, h.Versions)
}

// markdown is that and the dataset.
func (h heading) markdown() string {
	n := h.Dataset.Records
	return h.where() + fmt.Sprintf("- %d records (%d accounts, %d contacts, %d projects, %d signals), seed %d, one shard a dataset; client, service and backends share the machine\n",
		n.Total(), n.Accounts, n.Contacts, n.Projects, n.Signals, h.Dataset.Seed)
}
