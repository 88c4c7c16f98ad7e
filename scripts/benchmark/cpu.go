package main

import (
	"context"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
	"github.com/redis/go-redis/v9"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
)

// cpu is CPU time in milliseconds per request. A process without rounds was not
// measured.
type cpu struct {
	Atlas         report.Spread `json:"atlas"`
	Elasticsearch report.Spread `json:"elasticsearch"`
	Postgres      report.Spread `json:"postgres"`
	Redis         report.Spread `json:"redis"`
	Client        report.Spread `json:"client"`
}

// processNames are in the order of the rows of a table and of cpuMeter.
var processNames = [...]string{"Elasticsearch", "Atlas", "Postgres", "Redis", "this client"}

func (c *cpu) process(i int) *report.Spread {
	return [...]*report.Spread{&c.Elasticsearch, &c.Atlas, &c.Postgres, &c.Redis, &c.Client}[i]
}

// addProcesses adds a row for each process that was measured for any column. A
// column also shows processes that do not take part: that is their background work.
func addProcesses(t *report.Table, unit string, columns ...cpu) {
	for i, name := range processNames {
		cells, measured := []string{"CPU of " + name + ", " + unit}, false
		for _, c := range columns {
			s := c.process(i)
			cells, measured = append(cells, s.Text(3)), measured || len(s.Rounds) > 0
		}
		if measured {
			t.Add(cells...)
		}
	}
}

// cpuMeter reads the CPU time of each process in seconds; it skips nil functions.
// Elasticsearch and Redis report their own CPU time, because they may run in
// containers.
type cpuMeter [len(processNames)]func() float64

// newMeter measures this process and Redis. With es it also measures Elasticsearch.
// Unless atlas is 0, it also measures that process and Postgres.
func newMeter(ctx context.Context, r *rig.Rig, c *redis.Client, es bool, atlas int) (m cpuMeter) {
	m[4] = func() float64 {
		var self syscall.Rusage
		check(syscall.Getrusage(syscall.RUSAGE_SELF, &self))
		return time.Duration(self.Utime.Nano() + self.Stime.Nano()).Seconds()
	}
	m[3] = func() (sum float64) {
		info := c.InfoMap(ctx, "cpu")
		check(info.Err())
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			sum += must(strconv.ParseFloat(info.Item("CPU", name), 64))
		}
		return sum
	}
	if es {
		m[0] = func() float64 { return elasticsearchCPU(ctx, r) }
	}
	if atlas == 0 {
		return m
	}
	m[1] = func() float64 { return must(must(procfs.NewProc(atlas)).Stat()).CPUTime() }
	if postmaster := postmasterOf(ctx, r); postmaster != 0 {
		m[2] = func() float64 { return familyCPU(postmaster) }
	} else {
		say("Postgres is in a container: its CPU time is not measured")
	}
	return m
}

// elasticsearchLooks is the interval at which Elasticsearch samples its own CPU
// time.
const elasticsearchLooks = 1_100 * time.Millisecond

// during runs work, which returns its number of requests, and adds the cost per
// request to used.
func (m cpuMeter) during(used *cpu, work func() (requests int)) {
	var before [len(m)]float64
	for i, read := range m {
		if read != nil {
			before[i] = read()
		}
	}
	began := time.Now()
	requests := work()
	for i := len(m) - 1; i >= 0; i-- {
		if m[i] == nil {
			continue
		}
		if i == 0 {
			time.Sleep(elasticsearchLooks - time.Since(began)) // after short work only
		}
		used.process(i).Add((m[i]() - before[i]) * 1e3 / float64(requests))
	}
}

// closed runs the client's closed loop, and adds the cost per request to used.
func (m cpuMeter) closed(ctx context.Context, c load.Client, requests []*load.Request, n, total int, used *cpu) (result load.Result) {
	m.during(used, func() int {
		result = must(c.Closed(ctx, requests, n, total))
		return total
	})
	return result
}

// elasticsearchCPU is the CPU time of all nodes in seconds.
func elasticsearchCPU(ctx context.Context, r *rig.Rig) (sum float64) {
	var stats struct {
		Nodes map[string]struct {
			Process struct {
				CPU struct {
					Total float64 `json:"total_in_millis"`
				}
			}
		}
	}
	check(r.Ask(ctx, "GET", "/_nodes/stats/process?filter_path=nodes.*.process.cpu.total_in_millis", "", &stats))
	for _, n := range stats.Nodes {
		sum += n.Process.CPU.Total / 1e3
	}
	return sum
}

// postmasterOf returns the pid of the postmaster, 0 if it does not run on this
// machine: a pid of another namespace is meaningless here.
func postmasterOf(ctx context.Context, r *rig.Rig) (pid int) {
	check(r.Rows(ctx, func(rows pgx.Rows) error {
		var backend int
		if err := rows.Scan(&backend); err != nil {
			return err
		}
		if p, err := procfs.NewProc(backend); err == nil {
			if s, err := p.Stat(); err == nil && s.Comm == "postgres" {
				pid = s.PPID
			}
		}
		return nil
	}, `SELECT pg_backend_pid()`))
	return pid
}

// familyCPU is the CPU time of a process and its children in seconds, including
// children that have ended. It may miss a child that ends during the reading until
// the next one.
func familyCPU(pid int) (sum float64) {
	for _, s := range familyOf(pid) {
		sum += s.CPUTime() + float64(s.CUTime+s.CSTime)/100 // ticks of 10 ms on every Linux
	}
	return sum
}

// familyOf is a process and its children.
func familyOf(pid int) (all []procfs.ProcStat) {
	for _, p := range must(procfs.AllProcs()) {
		if s, err := p.Stat(); err == nil && (s.PID == pid || s.PPID == pid) {
			all = append(all, s)
		}
	}
	return all
}
