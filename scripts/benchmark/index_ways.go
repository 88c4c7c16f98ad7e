package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer"
	"atlas/mappings"
	"atlas/search/query"
)

// The ways to write documents.
const (
	loaderWay = "load"
	bareWay   = "bare"
	esutilWay = "esutil"
)

// wayResult is what one way took, once.
type wayResult struct {
	seconds, cpu, elasticsearch float64 // seconds
	peak                        float64 // MiB
	datasets                    map[query.Dataset]datasetTime
}

// datasetTime is in seconds; indexing is 0 where it is not told apart.
type datasetTime struct{ seconds, indexing float64 }

// once does one way from nothing, and removes what it made.
func (b *indexBench) once(ctx context.Context, way string) (wayResult, error) {
	if way == loaderWay {
		return b.load(ctx, b.records(b.Records), b.stack.ElasticsearchURL)
	}
	return b.send(ctx, way)
}

// load runs `atlas index load`.
func (b *indexBench) load(ctx context.Context, dir, elasticsearch string) (wayResult, error) {
	result := wayResult{datasets: map[query.Dataset]datasetTime{}}
	var report indexer.Report
	err := b.costOf(ctx, &result, func() error {
		began := time.Now()
		defer func() { result.seconds = time.Since(began).Seconds() }()
		return b.child(ctx, &result, &report, b.Atlas, "index", "load", dir, "--json",
			"--elasticsearch-url", elasticsearch, "--postgres-system-url", b.urls.System, "--index-prefix", names(loaderWay).Prefix,
			"--senders", strconv.Itoa(b.Connections), "--batch-mib", strconv.Itoa(b.BatchMiB), "--log-level", "warn")
	})
	if err != nil {
		return result, err
	}
	for _, d := range report.Datasets {
		result.datasets[d.Dataset] = datasetTime{seconds: d.Seconds, indexing: d.IndexSeconds}
	}
	if report.LeftOut() > 0 || !report.Switched {
		return result, fmt.Errorf("the load left out %d records", report.LeftOut())
	}
	return result, b.clear(ctx, loaderWay)
}

// send sends the documents that were built, dataset after dataset as a load
// does, by a process of this program.
func (b *indexBench) send(ctx context.Context, way string) (wayResult, error) {
	result := wayResult{datasets: map[query.Dataset]datasetTime{}}
	self, err := os.Executable()
	if err != nil {
		return result, err
	}
	args := []string{"send", "--way", way, "--url", b.stack.ElasticsearchURL,
		"--connections", strconv.Itoa(b.Connections), "--batch-bytes", strconv.Itoa(b.BatchMiB << 20)}
	for _, d := range query.Datasets {
		index := names(way).Alias(string(d))
		body, err := loadingIndex(d)
		if err != nil {
			return result, err
		}
		if err := b.es.CreateIndex(ctx, index, body); err != nil {
			return result, err
		}
		args = append(args, "--file", b.built.datasets[d].path, "--index", index)
	}
	var sent []sentFile
	err = b.costOf(ctx, &result, func() error {
		began := time.Now()
		if err := b.child(ctx, &result, &sent, self, args...); err != nil {
			return err
		}
		// As a load ends: what Elasticsearch put off is done.
		err := b.refresh(ctx, way)
		result.seconds = time.Since(began).Seconds()
		return err
	})
	if err != nil {
		return result, err
	}
	for i, d := range query.Datasets {
		index := names(way).Alias(string(d))
		if n, err := b.es.Count(ctx, index); err != nil || n != b.built.datasets[d].documents || n != sent[i].Documents {
			return result, errors.Join(err, fmt.Errorf("%s has %d documents of %d", index, n, b.built.datasets[d].documents))
		}
		result.datasets[d] = datasetTime{seconds: sent[i].Seconds, indexing: sent[i].Seconds}
	}
	return result, b.clear(ctx, way)
}

// refresh makes all that a way wrote visible.
func (b *indexBench) refresh(ctx context.Context, way string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, d := range query.Datasets {
		group.Go(func() error { return b.es.Refresh(ctx, names(way).Alias(string(d))) })
	}
	return group.Wait()
}

// loadingIndex is the index as a load makes it while it is filled.
func loadingIndex(d query.Dataset) ([]byte, error) {
	raw, err := mappings.Index(string(d), mappings.Settings{})
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	body["settings"].(map[string]any)["index"].(map[string]any)["refresh_interval"] = "-1"
	return json.Marshal(body)
}

// costOf adds what Elasticsearch used while work went on.
func (b *indexBench) costOf(ctx context.Context, result *wayResult, work func() error) error {
	time.Sleep(elasticsearchLooks)
	before, err := elasticsearchCPU(ctx, b.es)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	time.Sleep(elasticsearchLooks)
	after, err := elasticsearchCPU(ctx, b.es)
	result.elasticsearch += (after - before).Seconds()
	return err
}

// child runs a program whose standard output is JSON, and takes what it used.
func (b *indexBench) child(ctx context.Context, result *wayResult, into any, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	// Nothing of the caller's own configuration; what is written goes where the
	// backends are.
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ATLAS_") && !strings.HasPrefix(e, "TMPDIR=") && !strings.HasPrefix(e, "XDG_CACHE_HOME=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+b.dir, "XDG_CACHE_HOME="+b.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if b.Apart {
		if err := runOn(cmd.Process.Pid, 0); err != nil {
			return errors.Join(err, cmd.Cancel(), cmd.Wait())
		}
	}
	peak := make(chan float64)
	exited := make(chan struct{})
	go func() { peak <- watchPeak(cmd.Process.Pid, exited) }()
	err := cmd.Wait()
	close(exited)
	result.peak = <-peak
	if err != nil {
		said := stderr.String()
		return fmt.Errorf("%w: %s", err, said[max(0, len(said)-2_000):])
	}
	result.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return json.Unmarshal(stdout.Bytes(), into)
}

// peakEvery is how often the memory of a process is looked at. What is read is
// its highest since it began, so that only a rise of the last moment is missed.
const peakEvery = 20 * time.Millisecond

// watchPeak returns the most memory that a process had until it exited, in MiB.
// (What wait tells is at least what its parent had when it was started.)
func watchPeak(pid int, exited <-chan struct{}) (peak float64) {
	tick := time.NewTicker(peakEvery)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return peak
		case <-tick.C:
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(raw), "VmHWM:")
		line, _, _ := strings.Cut(rest, "\n")
		if kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 64); err == nil {
			peak = max(peak, kb/1024)
		}
	}
}

// clear removes the indices of a way and waits until Elasticsearch is at rest.
func (b *indexBench) clear(ctx context.Context, way string) error {
	for _, d := range query.Datasets {
		indices, err := b.es.Aliases(ctx, names(way).Alias(string(d))+"*")
		if err != nil {
			return err
		}
		for index := range indices {
			if err := b.es.DeleteIndices(ctx, index); err != nil {
				return err
			}
		}
	}
	return (&installation{es: b.es, names: mappings.Names{Prefix: "bench-"}}).settle(ctx)
}

// profile loads once more in this process.
func (b *indexBench) profile(ctx context.Context) error {
	file, err := os.Create(b.Profile)
	if err != nil {
		return err
	}
	runtime.GC()
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = indexer.Load(ctx, indexer.Options{
		Dir: b.records(b.Records), Elastic: b.es, Names: names(loaderWay), TempDir: b.dir, Senders: b.Connections, BatchBytes: b.BatchMiB << 20,
	})
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close(), b.clear(ctx, loaderWay))
}
