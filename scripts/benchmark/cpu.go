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
	atlas, elasticsearch, postgres, redis, client time.Duration
}

func (u usage) minus(earlier usage) usage {
	return usage{
		u.atlas - earlier.atlas, u.elasticsearch - earlier.elasticsearch, u.postgres - earlier.postgres,
		u.redis - earlier.redis, u.client - earlier.client,
	}
}

// cpuMeter reads it. Elasticsearch and Redis are asked themselves, since they
// may be containers. What is not set is not read.
type cpuMeter struct {
	atlas    int // the service's process
	postgres int // the first of Postgres's
	es       *elastic.Client
	redis    redis.UniversalClient
}

// read takes all but Elasticsearch's.
func (m cpuMeter) read(ctx context.Context) (u usage, err error) {
	if m.atlas != 0 {
		if u.atlas, err = processCPU(m.atlas); err != nil {
			return u, err
		}
	}
	if m.postgres != 0 {
		if u.postgres, err = familyCPU(m.postgres); err != nil {
			return u, err
		}
	}
	if m.redis != nil {
		if u.redis, err = redisCPU(ctx, m.redis); err != nil {
			return u, err
		}
	}
	var self syscall.Rusage
	if err = syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, err
	}
	u.client = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	return u, nil
}

// cpu is CPU time in milliseconds per request. What is without rounds was not
// read.
type cpu struct {
	Atlas         spread `json:"atlas"`
	Elasticsearch spread `json:"elasticsearch"`
	Postgres      spread `json:"postgres"`
	Redis         spread `json:"redis"`
	Client        spread `json:"client"`
}

func (m cpuMeter) add(c *cpu, u usage, requests int) {
	per := func(s *spread, d time.Duration) { s.add(milliseconds(d) / float64(requests)) }
	if m.atlas != 0 {
		per(&c.Atlas, u.atlas)
	}
	if m.postgres != 0 {
		per(&c.Postgres, u.postgres)
	}
	if m.es != nil {
		per(&c.Elasticsearch, u.elasticsearch)
	}
	if m.redis != nil {
		per(&c.Redis, u.redis)
	}
	per(&c.Client, u.client)
}

// processes are the rows of a table: what was read of any of the columns. A
// process is in a column also where it has no part: what it takes then is its
// upkeep.
func (t *table) processes(unit string, columns ...cpu) {
	for _, p := range []struct {
		name string
		of   func(cpu) spread
	}{
		{"Elasticsearch", func(c cpu) spread { return c.Elasticsearch }},
		{"Atlas", func(c cpu) spread { return c.Atlas }},
		{"Postgres", func(c cpu) spread { return c.Postgres }},
		{"Redis", func(c cpu) spread { return c.Redis }},
		{"this client", func(c cpu) spread { return c.Client }},
	} {
		cells, read := []string{"CPU of " + p.name + ", " + unit}, false
		for _, c := range columns {
			s := p.of(c)
			cells, read = append(cells, s.text(3)), read || len(s.Rounds) > 0
		}
		if read {
			for len(cells) < len(t.head) {
				cells = append(cells, "")
			}
			t.add(cells...)
		}
	}
}

// Elasticsearch looks at its own use once in so long, and answers what it saw.
const elasticsearchLooks = 1_100 * time.Millisecond

// during adds to used what each of the requests cost that work says it did.
func (m cpuMeter) during(ctx context.Context, used *cpu, work func() (requests int, err error)) error {
	node, err := elasticsearchCPU(ctx, m.es)
	if err != nil {
		return err
	}
	before, err := m.read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	n, err := work()
	if err != nil {
		return err
	}
	after, err := m.read(ctx)
	if err != nil {
		return err
	}
	if m.es != nil {
		time.Sleep(elasticsearchLooks - time.Since(began)) // after a short one only
	}
	if after.elasticsearch, err = elasticsearchCPU(ctx, m.es); err != nil {
		return err
	}
	before.elasticsearch = node
	m.add(used, after.minus(before), n)
	return nil
}

// closedLoop is the client's, and adds to used what the calls cost.
func (m cpuMeter) closedLoop(ctx context.Context, c client, calls []*call, n, total int, used *cpu) (l loop, err error) {
	err = m.during(ctx, used, func() (int, error) {
		l, err = c.closedLoop(ctx, calls, n, total)
		return total, err
	})
	return l, err
}

// elasticsearchCPU adds up the nodes; without a client there are none.
func elasticsearchCPU(ctx context.Context, es *elastic.Client) (time.Duration, error) {
	if es == nil {
		return 0, nil
	}
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
