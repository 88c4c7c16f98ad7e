package main

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/elastic"
)

// usage is the CPU time that each process has used.
type usage struct {
	atlas, elasticsearch, redis, client time.Duration
}

func (u usage) minus(earlier usage) usage {
	return usage{u.atlas - earlier.atlas, u.elasticsearch - earlier.elasticsearch, u.redis - earlier.redis, u.client - earlier.client}
}

// cpuMeter reads it. Elasticsearch and Redis are asked themselves, since they
// may be containers.
type cpuMeter struct {
	pid   int // of the service
	es    *elastic.Client
	redis redis.UniversalClient
}

func (m cpuMeter) read(ctx context.Context) (u usage, err error) {
	if u.atlas, err = processCPU(m.pid); err != nil {
		return u, err
	}
	if u.elasticsearch, err = elasticsearchCPU(ctx, m.es); err != nil {
		return u, err
	}
	if u.redis, err = redisCPU(ctx, m.redis); err != nil {
		return u, err
	}
	var self syscall.Rusage
	if err = syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, err
	}
	u.client = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	return u, nil
}

// elasticsearchCPU adds up the nodes.
func elasticsearchCPU(ctx context.Context, es *elastic.Client) (time.Duration, error) {
	var stats struct {
		Nodes map[string]struct {
			Process struct {
				CPU struct {
					TotalInMillis int64 `json:"total_in_millis"`
				} `json:"cpu"`
			} `json:"process"`
		} `json:"nodes"`
	}
	err := ask(ctx, es, "/_nodes/stats/process?filter_path=nodes.*.process.cpu.total_in_millis", &stats)
	var sum time.Duration
	for _, n := range stats.Nodes {
		sum += time.Duration(n.Process.CPU.TotalInMillis) * time.Millisecond
	}
	return sum, err
}

func redisCPU(ctx context.Context, r redis.UniversalClient) (time.Duration, error) {
	info, err := r.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var seconds float64
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		n, err := strconv.ParseFloat(infoValue(info, name), 64)
		if err != nil {
			return 0, err
		}
		seconds += n
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// infoValue finds a value in what Redis says of itself.
func infoValue(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
