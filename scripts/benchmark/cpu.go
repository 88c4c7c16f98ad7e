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

// cpu is CPU time in milliseconds per request.
type cpu struct {
	Atlas         spread `json:"atlas"`
	Elasticsearch spread `json:"elasticsearch"`
	Redis         spread `json:"redis"`
	Client        spread `json:"client"`
}

func (c *cpu) add(u usage, requests int) {
	per := func(d time.Duration) float64 { return milliseconds(d) / float64(requests) }
	c.Atlas.add(per(u.atlas))
	c.Elasticsearch.add(per(u.elasticsearch))
	c.Redis.add(per(u.redis))
	c.Client.add(per(u.client))
}

// Elasticsearch looks at its own use once in so long, and answers what it saw.
const elasticsearchLooks = 1_100 * time.Millisecond

// closedLoop is the client's, and adds to used what the calls cost.
func (m cpuMeter) closedLoop(ctx context.Context, c client, calls []*call, n, total int, used *cpu) (time.Duration, error) {
	before, err := m.read(ctx)
	if err != nil {
		return 0, err
	}
	took, err := c.closedLoop(ctx, calls, n, total)
	if err != nil {
		return 0, err
	}
	time.Sleep(elasticsearchLooks - took) // after a short loop only
	after, err := m.read(ctx)
	used.add(after.minus(before), total)
	return took, err
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
