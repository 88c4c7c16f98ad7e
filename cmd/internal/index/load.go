package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/internal/fault"
	"atlas/mappings"
)

// Load is `atlas index load`.
type Load struct {
	generationsConfig
	cli.Log
	waitConfig
	retryConfig

	Dir               string  `arg:"" type:"existingdir" help:"Folder with accounts, contacts, projects and signals as .ndjson, .ndjson.gz or .ndjson.zst."`
	AllowMissing      bool    `help:"Load a dataset that has no file as an empty one."`
	Strict            bool    `help:"End with status 3 when lines or documents were left out; the rest is loaded and served all the same."`
	DeadLetters       string  `name:"dead-letters" type:"path" placeholder:"FILE" help:"Write each line and document that is left out to this NDJSON file, with the reason; default: dead-letters.ndjson in the work folder."`
	WorkDir           string  `name:"work-dir" env:"ATLAS_WORK_DIR" type:"path" placeholder:"DIR" help:"Folder for what is sorted and for checkpoints, about twice the size of the unpacked input; a load that was not finished there is resumed. Default: one in --temp-dir for each folder and index prefix."`
	TempDir           string  `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder of the default work folders; default: atlas in the user's folder for caches."`
	Restart           bool    `help:"Drop a load that was not finished, and begin anew."`
	MinShare          float64 `name:"min-share" default:"0.9" help:"Least share of the records that are served, for each dataset, that the new generation must have to be switched to, 0 to 1 (default: 0.9)."`
	Force             bool    `help:"Switch to the new generation however few records it has."`
	CheckpointRecords int64   `name:"checkpoint-records" default:"100000" help:"Records between two checkpoints, 1 to 100000000 (default: 100000)."`
	MetricsListen     string  `name:"metrics-listen" env:"ATLAS_LOAD_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Serve Prometheus metrics of the work at /metrics there; default: nowhere."`
	Shards            int     `env:"ATLAS_INDEX_SHARDS" default:"1" help:"Primary shards of each new index, 1 to 1024 (default: 1); plan one for 30 GB."`
	Replicas          int     `env:"ATLAS_INDEX_REPLICAS" default:"0" help:"Copies of each shard once the index is full, 0 to 10 (default: 0)."`
	Unreplicated      bool    `help:"Keep no copies of the new indices while they are filled, also in a cluster: faster, but the loss of a node then ends the load."`
	Workers           int     `default:"0" help:"Goroutines that read lines and build documents, 0 to 256 (default: one for each processor)."`
	Senders           int     `default:"2" help:"_bulk requests under way at once, 1 to 64 (default: 2)."`
	BatchMiB          int     `name:"batch-mib" default:"4" help:"Size of a _bulk request in MiB, 1 to 64 (default: 4)."`
	JSON              bool    `name:"json" help:"Print the report as JSON."`
}

// Help is shown below the options.
func (Load) Help() string {
	return `Lines that are no records are reported and left out. A file that is not what its name says ends the load, and the records served before are served on. A load that ended, however that was, is resumed by the same command.

Status: 0 loaded and served (lines may have been left out: see the report), 1 not loaded (the same command goes on with it, if anything had been done), 2 arguments or configuration make no sense, 3 loaded and served, but with --strict and something left out, 4 loaded and not served, because there are too few records (--min-share; --force serves them), 5 an unfinished load is there, and its inputs or options have changed since (--restart drops it).`
}

// Exit statuses in addition to 0, 1 and 2.
const (
	leftOutStatus = 3
	guardStatus   = 4
	changedStatus = 5
)

func (c *Load) Check() error {
	var f cli.Problems
	c.generationsConfig.Check(&f)
	for _, n := range []struct {
		option          string
		value, from, to int
	}{
		{"--shards (ATLAS_INDEX_SHARDS)", c.Shards, 1, 1024}, {"--replicas (ATLAS_INDEX_REPLICAS)", c.Replicas, 0, 10},
		{"--workers", c.Workers, 0, 256}, {"--senders", c.Senders, 1, 64}, {"--batch-mib", c.BatchMiB, 1, 64},
	} {
		if n.value < n.from || n.value > n.to {
			f.Add("%s must be %d to %d", n.option, n.from, n.to)
		}
	}
	c.retryConfig.Check(&f)
	c.waitConfig.Check(&f)
	if !(c.MinShare >= 0 && c.MinShare <= 1) {
		f.Add("--min-share must be 0 to 1")
	}
	if c.CheckpointRecords < 1 || c.CheckpointRecords > 100_000_000 {
		f.Add("--checkpoint-records must be 1 to 100000000")
	}
	return f.Err()
}

// Run loads the folder and prints the report.
func (c *Load) Run(ctx context.Context, s *cli.Streams) error {
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	limitMemory()
	log := c.Logger(s.Err)
	metrics, stop, err := serveLoadMetrics(c.MetricsListen)
	if err != nil {
		return err
	}
	defer stop()
	shown := &loadProgress{to: s.Err}
	w.feed.Log = log
	report, err := indexer.Load(ctx, indexer.Options{
		Dir: c.Dir, Elastic: w.elastic, Names: c.Names(),
		Settings: mappings.Settings{Shards: c.Shards, Replicas: c.Replicas}, Unreplicated: c.Unreplicated,
		Lease: c.lease(w.System, s.Err), Listener: w.listener, Feed: w.feed, Suppressions: w.eraser, AllowMissing: c.AllowMissing,
		DeadLetters: c.DeadLetters, WorkDir: c.WorkDir, TempDir: c.TempDir, Restart: c.Restart,
		MinShare: c.MinShare, Force: c.Force, CheckpointRecords: c.CheckpointRecords,
		Workers: c.Workers, Senders: c.Senders, BatchBytes: c.BatchMiB << 20,
		Retry: c.retry(), Log: log, Now: w.Clock().Now,
		Progress: func(p indexer.Progress) {
			metrics.take(p)
			shown.show(p)
		},
	})
	shown.clear()
	if c.JSON {
		if err := cli.PrintJSON(s.Out, report); err != nil {
			return err
		}
	} else if err := printLoad(s, report); err != nil {
		return err
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "atlas:", loadError(err, report))
		return cli.ExitError(loadStatus(err))
	}
	w.eraseLeftOut(ctx, s, c.waitConfig, c.retryConfig)
	if c.Strict && report.LeftOut() > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return nil
}

// memoryLimit is the soft limit of the Go heap in bytes. A load needs much
// less; with the limit the process stays below 400 MB.
const memoryLimit = 320 << 20

// limitMemory sets memoryLimit unless GOMEMLIMIT is set.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// loadStatus is the exit status of a failed load.
func loadStatus(err error) int {
	if _, ok := errors.AsType[*indexer.GuardError](err); ok {
		return guardStatus
	}
	if _, ok := errors.AsType[*indexer.ChangedError](err); ok {
		return changedStatus
	}
	return 1
}

// loadError adds to an error which generation is served and how to continue.
func loadError(err error, report indexer.Report) error {
	served := "nothing was switched: what was served before is served on"
	_, small := errors.AsType[*indexer.GuardError](err)
	_, changed := errors.AsType[*indexer.ChangedError](err)
	switch {
	case report.Switched:
		served = "the new generation is served all the same"
	case small:
		served += "; the new generation is complete and stays: the same command with --force serves it, with --restart loads anew"
	case changed:
		served += "; --restart drops the unfinished load"
	case report.WorkDir != "":
		served += "; the same command goes on with the load"
	}
	if e, ok := err.(*fault.Error); ok {
		if cause := e.Unwrap(); e.Code == fault.Unavailable && cause != nil {
			return fmt.Errorf("%w (%s)", cause, served)
		} else if cause != nil {
			return fmt.Errorf("%s: %w (%s)", e.Message, cause, served)
		}
		return fmt.Errorf("%s (%s)", e.Message, served)
	}
	return fmt.Errorf("%w (%s)", err, served)
}
