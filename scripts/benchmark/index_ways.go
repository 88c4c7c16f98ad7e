package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
)

// The ways to write documents.
const (
	loaderWay = "load"
	bareWay   = "bare"
	esutilWay = "esutil"
)

// wayResult is the cost of one run of one way.
type wayResult struct {
	seconds, cpu, elasticsearch float64 // seconds
	peak                        float64 // MiB
	datasets                    map[catalog.Dataset]datasetTime
}

// datasetTime is in seconds; indexing is 0 if it was not measured separately.
type datasetTime struct{ seconds, indexing float64 }

// indexOf is the index, or alias, of a way. Its prefix differs from that of the
// installation.
func indexOf(way string, d catalog.Dataset) string { return waysPrefix + way + "-" + string(d) }

const waysPrefix = "bench-"

// load runs `atlas index load`, and removes its indices.
func (b *indexBench) load(dir, elasticsearch string) wayResult {
	result := wayResult{datasets: map[catalog.Dataset]datasetTime{}}
	var report indexer.Report
	b.cost(&result, func() {
		began := time.Now()
		b.child(&result, &report, b.Command(b.ctx, "index", "load", dir, "--json",
			"--elasticsearch-url", elasticsearch, "--index-prefix", waysPrefix+loaderWay+"-",
			"--senders", strconv.Itoa(b.Connections), "--batch-mib", strconv.Itoa(b.BatchMiB), "--log-level", "warn"))
		result.seconds = time.Since(began).Seconds()
	})
	for _, d := range report.Datasets {
		result.datasets[d.Dataset] = datasetTime{seconds: d.Seconds, indexing: d.IndexSeconds}
	}
	if report.LeftOut() > 0 || !report.Switched {
		failf("the load left out %d records", report.LeftOut())
	}
	b.clear()
	return result
}

// send sends the built documents, dataset after dataset as a load does, with a
// process of this program, and removes its indices.
func (b *indexBench) send(way string) wayResult {
	result := wayResult{datasets: map[catalog.Dataset]datasetTime{}}
	args := []string{"send", "--way", way, "--url", b.Elasticsearch[0],
		"--connections", strconv.Itoa(b.Connections), "--batch-bytes", strconv.Itoa(b.BatchMiB << 20)}
	for _, d := range catalog.Datasets {
		// The settings that an index has while a load fills it.
		var body map[string]any
		check(json.Unmarshal(must(mappings.Index(string(d), mappings.Settings{})), &body))
		body["settings"].(map[string]any)["index"].(map[string]any)["refresh_interval"] = "-1"
		check(b.Ask(b.ctx, "PUT", "/"+indexOf(way, d), string(must(json.Marshal(body))), nil))
		args = append(args, "--file", b.built[d].path, "--index", indexOf(way, d))
	}
	var sent []sentFile
	b.cost(&result, func() {
		began := time.Now()
		b.child(&result, &sent, exec.CommandContext(b.ctx, must(os.Executable()), args...)) // #nosec G204 -- this program
		// End as a load does: Elasticsearch completes the work that it deferred.
		check(b.Ask(b.ctx, "POST", "/"+waysPrefix+way+"-*/_refresh", "", nil))
		result.seconds = time.Since(began).Seconds()
	})
	for i, d := range catalog.Datasets {
		var counted struct{ Count int64 }
		check(b.Ask(b.ctx, "GET", "/"+indexOf(way, d)+"/_count", "", &counted))
		if n := counted.Count; n != b.built[d].documents || n != sent[i].Documents {
			failf("%s has %d documents of %d", indexOf(way, d), n, b.built[d].documents)
		}
		result.datasets[d] = datasetTime{seconds: sent[i].Seconds, indexing: sent[i].Seconds}
	}
	b.clear()
	return result
}

// cost adds what Elasticsearch used during the work.
func (b *indexBench) cost(result *wayResult, work func()) {
	time.Sleep(elasticsearchLooks)
	before := elasticsearchCPU(b.ctx, b.Rig)
	work()
	time.Sleep(elasticsearchLooks)
	result.elasticsearch += elasticsearchCPU(b.ctx, b.Rig) - before
}

// child runs a program whose standard output is JSON, and measures its CPU and
// memory.
func (b *indexBench) child(result *wayResult, into any, cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	check(cmd.Start())
	if b.Apart {
		check(pinTo(cmd.Process.Pid, "0"))
	}
	peak := make(chan float64)
	exited := make(chan struct{})
	go func() { peak <- watchPeak(cmd.Process.Pid, exited) }()
	err := cmd.Wait()
	close(exited)
	result.peak = <-peak
	if err != nil {
		said := stderr.String()
		failf("%w: %s", err, said[max(0, len(said)-2_000):])
	}
	result.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	check(json.Unmarshal(stdout.Bytes(), into))
}

// pinTo restricts a process, and those that it will start, to a list of processors.
func pinTo(pid int, processors string) error {
	out, err := exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", processors, strconv.Itoa(pid)).CombinedOutput() // #nosec G204 -- a program of this machine, with arguments of this one
	if err != nil {
		err = fmt.Errorf("taskset: %w: %s", err, out)
	}
	return err
}

// peakEvery is the interval of reading the memory of a process. Each reading is the
// peak since the start, so that only a rise at the very end is missed.
const peakEvery = 20 * time.Millisecond

// watchPeak returns the peak memory of a process until it exited, in MiB. (wait
// returns at least what the parent had when it started the process.)
func watchPeak(pid int, exited <-chan struct{}) (peak float64) {
	tick := time.NewTicker(peakEvery)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return peak
		case <-tick.C:
		}
		if p, err := procfs.NewProc(pid); err == nil {
			if status, err := p.NewStatus(); err == nil {
				peak = max(peak, float64(status.VmHWM)/(1<<20))
			}
		}
	}
}

// clear removes the indices of all ways and waits until Elasticsearch is at rest.
func (b *indexBench) clear() {
	var indices map[string]json.RawMessage
	check(b.Ask(b.ctx, "GET", "/"+waysPrefix+"*", "", &indices))
	for index := range indices {
		check(b.Ask(b.ctx, "DELETE", "/"+index, "", nil))
	}
	b.settle()
}

// profile loads once more in this process.
func (b *indexBench) profile() {
	file := must(os.Create(b.Profile))
	defer file.Close()
	es := must(elastic.New(elastic.Config{Addresses: b.Elasticsearch}))
	runtime.GC()
	check(pprof.StartCPUProfile(file))
	must(indexer.Load(b.ctx, indexer.Options{
		Dir: b.records(), Elastic: es, Names: mappings.Names{Prefix: waysPrefix + loaderWay + "-"},
		TempDir: b.installation.Dir, Senders: b.Connections, BatchBytes: b.BatchMiB << 20,
	}))
	pprof.StopCPUProfile()
	b.clear()
}
