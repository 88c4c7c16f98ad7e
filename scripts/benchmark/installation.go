package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/internal/devstack"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

// place is where a benchmark keeps its data, and what it measures.
type place struct {
	Dir   string `type:"path" help:"Folder of backends and data, kept for the next run with the same records and seed (default: a temporary one, removed at the end)."`
	Atlas string `type:"path" placeholder:"FILE" help:"The atlas binary to measure (default: the one beside this program)."`
}

// installation is everything but the service: backends that run, a dataset that
// is loaded and, once it is opened, a workspace that may use a trillion credits
// a day.
type installation struct {
	dir   string
	atlas string // the binary
	stack *devstack.Stack
	urls  postgres.URLs
	es    *elastic.Client
	names mappings.Names
	// key is an API key of the workspace, with all scopes.
	key     string
	dataset dataset
}

// dataset says what is loaded. It is kept beside the data: an equal one need
// not be loaded again.
type dataset struct {
	generate.Report
	// Mappings is a digest of the index definitions.
	Mappings string `json:"mappings"`
}

// stopWithin bounds stopping the backends at the end, also after a Ctrl-C.
const stopWithin = 40 * time.Second

// install starts the backends and fills them. Without an error, what it returns
// must be closed.
func install(ctx context.Context, p place, records int64, seed uint64) (_ *installation, err error) {
	i := &installation{dir: p.Dir, atlas: p.Atlas, names: mappings.Names{Prefix: "benchmark-"}}
	if i.atlas == "" {
		i.atlas = besideThis()
	}
	if _, err := os.Stat(i.atlas); err != nil {
		return nil, fmt.Errorf("the atlas binary: %w", err)
	}
	temporary := i.dir == ""
	if temporary {
		if i.dir, err = os.MkdirTemp("", "atlas-benchmark-"); err != nil {
			return nil, err
		}
		// The servers may run as another user, who has to pass through it.
		if err := os.Chmod(i.dir, 0o755); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.close(ctx, temporary))
		}
	}()
	wanted := dataset{Report: generate.Report{Total: records, Seed: seed}, Mappings: mappingsDigest()}
	kept, err := i.kept(wanted)
	if err != nil {
		return nil, err
	}
	if i.stack, err = devstack.Start(ctx, devstack.Options{Dir: i.dir, Fresh: !kept, Log: say}); err != nil {
		return nil, err
	}
	if i.es, err = elastic.New(elastic.Config{Addresses: []string{i.stack.ElasticsearchURL}}); err != nil {
		return nil, err
	}
	if !kept {
		if err := i.fill(ctx, wanted); err != nil {
			return nil, err
		}
	}
	return i, i.settle(ctx)
}

// besideThis is the atlas binary that was built with this program.
func besideThis() string {
	self, err := os.Executable()
	if err != nil {
		return "atlas" // looked for in the working folder
	}
	return filepath.Join(filepath.Dir(self), "atlas")
}

// close stops the backends; remove takes the folder away too.
func (i *installation) close(ctx context.Context, remove bool) (err error) {
	if i.stack != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err = i.stack.Stop(stop)
	}
	if remove {
		err = errors.Join(err, os.RemoveAll(i.dir))
	}
	return err
}

func (i *installation) records() string { return filepath.Join(i.dir, "records") }
func (i *installation) marker() string  { return filepath.Join(i.dir, "dataset.json") }

// kept tells whether the folder holds the wanted dataset already, and reads
// what is known of it. A folder that is used for something else is refused,
// because what it holds would be removed.
func (i *installation) kept(wanted dataset) (bool, error) {
	raw, err := os.ReadFile(i.marker())
	switch {
	case errors.Is(err, os.ErrNotExist):
		entries, err := os.ReadDir(i.dir)
		if err == nil && len(entries) > 0 {
			return false, fmt.Errorf("%s holds what no benchmark put there: give another folder", i.dir)
		}
		if err := os.MkdirAll(i.dir, 0o755); err != nil {
			return false, err
		}
		return false, os.WriteFile(i.marker(), []byte("{}\n"), 0o644) // ours, and not filled yet
	case err != nil:
		return false, err
	}
	var d dataset
	if json.Unmarshal(raw, &d) != nil || d.Total != wanted.Total || d.Seed != wanted.Seed || d.Mappings != wanted.Mappings {
		return false, os.WriteFile(i.marker(), []byte("{}\n"), 0o644)
	}
	i.dataset = d
	return true, nil
}

// fill generates the records and loads them.
func (i *installation) fill(ctx context.Context, wanted dataset) error {
	began := time.Now()
	report, err := generate.Generate(ctx, generate.Options{Records: wanted.Total, Seed: wanted.Seed, Dir: i.records()})
	if err != nil {
		return err
	}
	say("generated %d records in %.1f s", report.Total, time.Since(began).Seconds())
	began = time.Now()
	loaded, err := indexer.Load(ctx, indexer.Options{Dir: i.records(), Elastic: i.es, Names: i.names, TempDir: i.dir})
	if err != nil {
		return fmt.Errorf("loading the dataset: %w", err)
	}
	var documents int64
	for _, d := range loaded.Datasets {
		documents += d.Documents
	}
	if documents != report.Total {
		return fmt.Errorf("loaded %d of %d records", documents, report.Total)
	}
	say("loaded %d records in %.1f s", documents, time.Since(began).Seconds())
	i.dataset = dataset{Report: report, Mappings: wanted.Mappings}
	raw, err := json.Marshal(i.dataset)
	if err != nil {
		return err
	}
	return os.WriteFile(i.marker(), raw, 0o644)
}

// settledWithin is what the merges of many million records may take.
const settledWithin = 20 * time.Minute

// settle waits until Elasticsearch merges no more segments of a fresh load.
func (i *installation) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settledWithin, fmt.Errorf("segments are still being merged after %s", settledWithin))
	defer cancel()
	for quiet := 0; quiet < 3; {
		var stats struct {
			All struct {
				Primaries struct {
					Merges struct {
						Current int `json:"current"`
					} `json:"merges"`
				} `json:"primaries"`
			} `json:"_all"`
		}
		if err := ask(ctx, i.es, "/"+i.names.Prefix+"*/_stats/merge", &stats); err != nil {
			return err
		}
		if quiet++; stats.All.Primaries.Merges.Current > 0 {
			quiet = 0
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// openWorkspace makes a new workspace and key, so that nothing of an earlier
// run is in its window.
func (i *installation) openWorkspace(ctx context.Context) (err error) {
	if i.urls, err = postgres.Prepare(ctx, i.stack.PostgresURL, "benchmark"); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, i.urls.System); err != nil {
		return err
	}
	system, err := postgres.OpenSystem(ctx, i.urls.System, postgres.Options{})
	if err != nil {
		return err
	}
	defer system.Close()
	directory := workspace.NewDirectory(system, nil)
	w, err := directory.CreateWorkspace(ctx, "Benchmark", workspace.Pro, workspace.MaxCeiling)
	if err != nil {
		return err
	}
	_, i.key, err = directory.CreateKey(ctx, workspace.NewKey{Name: "Benchmark", Workspaces: []workspace.ID{w.ID}, Scopes: workspace.AllScopes()})
	return err
}

// mappingsDigest changes with the index definitions and with the folding, after
// either of which loaded data is not what it would be now.
func mappingsDigest() string {
	sum := sha256.New()
	for _, d := range query.Datasets {
		body, err := mappings.Index(string(d), mappings.Settings{})
		if err != nil {
			panic(err) // the files are part of the program
		}
		sum.Write(body)
	}
	fmt.Fprint(sum, query.FoldVersion)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// ask reads an answer of Elasticsearch about itself.
func ask(ctx context.Context, es *elastic.Client, target string, answer any) error {
	path, params, _ := strings.Cut(target, "?")
	q, err := url.ParseQuery(params)
	if err != nil {
		return err
	}
	res, err := es.Do(ctx, elastic.Request{Method: http.MethodGet, Path: path, Query: q})
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Body, answer)
}
