package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"atlas/indexer/generate"
	"atlas/internal/credits"
	"atlas/internal/devstack"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// indexCmd compares a load with sending the same documents, built beforehand,
// by the least that can send them.
type indexCmd struct {
	Dir         string `type:"existingdir" help:"Folder for a temporary one with backends and data, about 15 kB for each record (default: the system's)."`
	Atlas       string `type:"path" placeholder:"FILE" help:"The atlas binary to measure (default: the one beside this program)."`
	Records     int64  `default:"1000000" help:"Records of the dataset, 10000 to 100000000 (default: 1000000)."`
	Seed        uint64 `default:"1" help:"Seed of the dataset (default: 1)."`
	Rounds      int    `default:"3" help:"How often each way is repeated, by turns; a result to be kept has at least 3 (default: 3)."`
	Connections int    `default:"2" help:"_bulk requests under way at once, each way, 1 to 16 (default: 2)."`
	BatchMiB    int    `name:"batch-mib" default:"4" help:"Size of a _bulk request in MiB, each way, 1 to 64 (default: 4)."`
	Memory      int64  `placeholder:"RECORDS" help:"Measure the loader's memory with so many records too, and with a tenth of them, acknowledged by a sink that keeps none; it is always measured with a tenth of --records."`
	Apart       bool   `help:"Keep the first processor to the process that sends, and the others to Elasticsearch, as if each had its own machine."`
	Profile     string `type:"path" placeholder:"FILE" help:"Load once more within this process, and write a CPU profile of it here."`
	JSON        bool   `name:"json" help:"Print JSON instead of tables."`
	Write       string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, between the markers bench:index."`
}

func (c *indexCmd) Validate() error {
	if c.Records < 10_000 || c.Records > 100_000_000 || c.Memory != 0 && c.Memory < 1_000 || c.Rounds < 1 ||
		c.Connections < 1 || c.Connections > 16 || c.BatchMiB < 1 || c.BatchMiB > 64 {
		return errors.New("an option is out of its bounds: see --help")
	}
	return nil
}

// indexReport is the result.
type indexReport struct {
	heading
	Rounds      int `json:"rounds"`
	Connections int `json:"connections"`
	BatchMiB    int `json:"batch_mib"`
	// Apart: sender and Elasticsearch shared no processor.
	Apart bool `json:"apart"`
	// Bytes are those of all documents, as they are sent.
	Bytes    int64             `json:"document_bytes"`
	Datasets []*indexedDataset `json:"datasets"`
	Loader   wayCost           `json:"loader"`
	Bare     wayCost           `json:"bare"`
	Esutil   wayCost           `json:"esutil"`
	Memory   []memoryAt        `json:"loader_memory"`
}

// indexedDataset is how many documents of a dataset each way writes in a second.
type indexedDataset struct {
	Dataset   query.Dataset `json:"dataset"`
	Documents int64         `json:"documents"`
	Bytes     int64         `json:"bytes"`
	// Loader counts all that a load does for the dataset: reading, sorting,
	// joining, building and sending. Indexing leaves out reading and sorting.
	Loader   spread `json:"loader_documents_per_second"`
	Indexing spread `json:"loader_indexing_documents_per_second"`
	Bare     spread `json:"bare_documents_per_second"`
	Esutil   spread `json:"esutil_documents_per_second"`
	// ToBare and ToEsutil are ratios of the loader's rate.
	ToBare   spread `json:"loader_to_bare"`
	ToEsutil spread `json:"loader_to_esutil"`
}

// wayCost is what one way takes for all datasets together.
type wayCost struct {
	Seconds spread `json:"seconds"`
	// CPU seconds of the process that sends, and of Elasticsearch.
	CPU           spread `json:"cpu_seconds"`
	Elasticsearch spread `json:"elasticsearch_cpu_seconds"`
	// Peak is the most memory that the process had, in MiB.
	Peak spread `json:"peak_mib"`
}

// memoryAt is the most memory that a load of so many records took, in MiB.
type memoryAt struct {
	Records int64   `json:"records"`
	Peak    float64 `json:"peak_mib"`
	Seconds float64 `json:"seconds"`
	// Sink: the documents went where none is kept, see newSink.
	Sink bool `json:"sink"`
}

// aims are the least ratios to the bare loop.
var aims = map[query.Dataset]float64{query.Signals: 0.9, query.Contacts: 0.9, query.Projects: 0.6, query.Accounts: 0.6}

// indexBench is one run.
type indexBench struct {
	*indexCmd
	dir    string
	stack  *devstack.Stack
	es     *elastic.Client
	urls   postgres.URLs
	built  *builtDocuments
	report indexReport
}

// Run measures and prints.
func (c *indexCmd) Run(ctx context.Context) error {
	if err := hasSection(c.Write, "index"); err != nil {
		return err
	}
	return c.on(ctx, machineOf()) // before the run itself loads it
}

// on measures on a stack of its own and prints; before is the machine as it was.
func (c *indexCmd) on(ctx context.Context, before machine) (err error) {
	if c.Atlas == "" {
		c.Atlas = besideThis()
	}
	b := &indexBench{indexCmd: c}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.start(ctx); err != nil {
		return err
	}
	b.report = indexReport{
		heading: heading{Date: time.Now().UTC(), Command: commandLine(os.Args[1:]), Machine: before},
		Rounds:  c.Rounds, Connections: c.Connections, BatchMiB: c.BatchMiB, Apart: c.Apart,
	}
	if err := b.versions(ctx); err != nil {
		return err
	}
	began := time.Now()
	generated, err := generate.Generate(ctx, generate.Options{Records: c.Records, Seed: c.Seed, Dir: b.records(c.Records)})
	if err != nil {
		return err
	}
	b.report.Dataset = dataset{Report: generated, Mappings: mappingsDigest()}
	say("generated %d records in %.1f s", generated.Total, time.Since(began).Seconds())
	if b.built, err = buildDocuments(ctx, b.records(c.Records), b.dir, c.BatchMiB<<20); err != nil {
		return err
	}
	for _, d := range query.Datasets {
		part := b.built.datasets[d]
		b.report.Bytes += part.bytes
		b.report.Datasets = append(b.report.Datasets, &indexedDataset{Dataset: d, Documents: part.documents, Bytes: part.bytes})
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	return emit(b.report, c.JSON, c.Write, "index")
}

func (b *indexBench) records(n int64) string {
	return filepath.Join(b.dir, fmt.Sprintf("records-%d", n))
}

// start brings up backends; Redis is not used, and idle.
func (b *indexBench) start(ctx context.Context) (err error) {
	if _, err := os.Stat(b.Atlas); err != nil {
		return fmt.Errorf("the atlas binary: %w", err)
	}
	if b.dir, err = os.MkdirTemp(b.Dir, "atlas-benchmark-"); err != nil {
		return err
	}
	// The servers may run as another user, who has to pass through it.
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	if b.stack, err = devstack.Start(ctx, devstack.Options{Dir: b.dir, Log: say}); err != nil {
		return err
	}
	if b.es, err = elastic.New(elastic.Config{Addresses: []string{b.stack.ElasticsearchURL}}); err != nil {
		return err
	}
	if b.Apart {
		if err := b.apart(ctx); err != nil {
			return err
		}
	}
	if b.urls, err = postgres.Prepare(ctx, b.stack.PostgresURL, "benchmark"); err != nil {
		return err
	}
	_, err = postgres.Migrate(ctx, b.urls.System)
	return err
}

func (b *indexBench) close(ctx context.Context) (err error) {
	if b.stack != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err = b.stack.Stop(stop)
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

func (b *indexBench) versions(ctx context.Context) error {
	redis, err := credits.Open(b.stack.RedisURL)
	if err != nil {
		return err
	}
	defer redis.Close()
	b.report.Versions, err = versionsOf(ctx, b.Atlas, b.es, redis)
	return err
}

// warmUpFor is what is sent before anything counts, at least once all documents.
const warmUpFor = time.Minute

// measure does every way once in each round, each round beginning with another.
func (b *indexBench) measure(ctx context.Context) error {
	say("warming up for %s at least", warmUpFor)
	// Until the virtual machine has compiled what it will: a first load is half
	// as fast as the next.
	for end := time.Now().Add(warmUpFor); ; {
		if _, err := b.send(ctx, bareWay); err != nil {
			return err
		}
		if time.Now().After(end) {
			break
		}
	}
	ways := []string{loaderWay, bareWay, esutilWay}
	for round := range b.Rounds {
		took := map[string]wayResult{}
		for i := range ways {
			way := ways[(round+i)%len(ways)]
			result, err := b.once(ctx, way)
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			took[way] = result
			say("round %d of %d, %s: %.1f s", round+1, b.Rounds, way, result.seconds)
		}
		b.add(took)
	}
	return b.measureMemory(ctx)
}

// apart gives Elasticsearch all processors but the first.
func (b *indexBench) apart(ctx context.Context) error {
	others := make([]int, 0, runtime.NumCPU())
	for p := 1; p < runtime.NumCPU(); p++ {
		others = append(others, p)
	}
	if len(others) == 0 {
		return errors.New("--apart needs two processors")
	}
	var nodes struct {
		Nodes map[string]struct {
			Process struct {
				ID int `json:"id"`
			} `json:"process"`
		} `json:"nodes"`
	}
	if err := ask(ctx, b.es, "/_nodes/process?filter_path=nodes.*.process.id", &nodes); err != nil {
		return err
	}
	for _, n := range nodes.Nodes {
		if err := runOn(n.Process.ID, others...); err != nil {
			return err
		}
	}
	return nil
}

func (b *indexBench) add(took map[string]wayResult) {
	for _, d := range b.report.Datasets {
		rate := func(seconds float64) float64 { return float64(d.Documents) / max(seconds, 0.001) }
		loader, bare, esutil := took[loaderWay].datasets[d.Dataset], took[bareWay].datasets[d.Dataset], took[esutilWay].datasets[d.Dataset]
		d.Loader.add(rate(loader.seconds))
		if loader.indexing > 0 {
			d.Indexing.add(rate(loader.indexing))
		}
		d.Bare.add(rate(bare.seconds))
		d.Esutil.add(rate(esutil.seconds))
		d.ToBare.add(bare.seconds / loader.seconds)
		d.ToEsutil.add(esutil.seconds / loader.seconds)
	}
	for way, cost := range map[string]*wayCost{loaderWay: &b.report.Loader, bareWay: &b.report.Bare, esutilWay: &b.report.Esutil} {
		r := took[way]
		cost.Seconds.add(r.seconds)
		cost.CPU.add(r.cpu)
		cost.Elasticsearch.add(r.elasticsearch)
		cost.Peak.add(r.peak)
	}
}

// measureMemory loads other numbers of records, once each. Memory of many is
// measured with a sink, and of a tenth of them too.
func (b *indexBench) measureMemory(ctx context.Context) error {
	b.report.Memory = append(b.report.Memory, memoryAt{b.Records, b.report.Loader.Peak.Median, b.report.Loader.Seconds.Median, false})
	if err := b.measureMemoryOf(ctx, b.Records/10, b.stack.ElasticsearchURL); err != nil {
		return err
	}
	if b.Memory > 0 {
		sink, err := newSink(b.stack.ElasticsearchURL)
		if err != nil {
			return err
		}
		defer sink.Close()
		for _, n := range []int64{b.Memory / 10, b.Memory} {
			if err := b.measureMemoryOf(ctx, n, sink.URL); err != nil {
				return err
			}
		}
	}
	if b.Profile == "" {
		return nil
	}
	return b.profile(ctx)
}

func (b *indexBench) measureMemoryOf(ctx context.Context, n int64, elasticsearch string) error {
	dir := filepath.Join(b.dir, fmt.Sprintf("memory-%d", n))
	if _, err := generate.Generate(ctx, generate.Options{Records: n, Seed: b.Seed, Dir: dir}); err != nil {
		return err
	}
	result, err := b.load(ctx, dir, elasticsearch)
	if err != nil {
		return err
	}
	say("%d records: %.0f MiB at most", n, result.peak)
	b.report.Memory = append(b.report.Memory, memoryAt{n, result.peak, result.seconds, elasticsearch != b.stack.ElasticsearchURL})
	return os.RemoveAll(dir)
}

// hasSection tells before a long run that its result could not be written.
func hasSection(path, name string) error {
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(raw), "<!-- bench:"+name+" -->") {
		err = fmt.Errorf("%s has no section <!-- bench:%s -->", path, name)
	}
	return err
}

// names are those of a way's indices.
func names(way string) mappings.Names { return mappings.Names{Prefix: "bench-" + way + "-"} }

// markdown writes the tables. Figures are medians of the rounds, in brackets
// the lowest and the highest round.
func (r indexReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.heading.markdown())
	fmt.Fprintf(&b, "- %d connections and requests of %d MiB each way; %.0f bytes a document\n", r.Connections, r.BatchMiB, float64(r.Bytes)/float64(max(1, r.Dataset.Records.Total())))
	if r.Apart {
		fmt.Fprintln(&b, "- the process that sends has the first processor to itself, and Elasticsearch the others")
	}
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; the ways by turns, each into new indices, after a warm-up that does not count; every index was counted afterwards\n\n", r.Rounds)
	fmt.Fprintf(&b, "**Documents a second**\n\n")
	t := table{head: []string{"dataset", "bytes", "`index load`", "its indexing alone", "bare `_bulk`", "`esutil.BulkIndexer`", "load to bare", "aim", "load to esutil"}}
	for _, d := range r.Datasets {
		t.add(string(d.Dataset), fmt.Sprintf("%.0f", float64(d.Bytes)/float64(max(1, d.Documents))), d.Loader.text(0), d.Indexing.text(0), d.Bare.text(0), d.Esutil.text(0),
			d.ToBare.text(2), fmt.Sprintf("≥ %.1f", aims[d.Dataset]), d.ToEsutil.text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**All datasets together**; `index load` from the files to the switch, the others from documents that were built before.\n\n")
	t = table{head: []string{"", "`index load`", "bare `_bulk`", "`esutil.BulkIndexer`"}}
	row := func(what string, digits int, of func(wayCost) spread) {
		t.add(what, of(r.Loader).text(digits), of(r.Bare).text(digits), of(r.Esutil).text(digits))
	}
	row("seconds", 1, func(c wayCost) spread { return c.Seconds })
	row("CPU seconds of the process", 1, func(c wayCost) spread { return c.CPU })
	row("CPU seconds of Elasticsearch", 1, func(c wayCost) spread { return c.Elasticsearch })
	row("peak memory of the process, MiB", 0, func(c wayCost) spread { return c.Peak })
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**Memory of `index load`**; aims: at most 400 MiB, and at most 1.2 times as much for ten times the records.\n\n")
	t = table{head: []string{"records", "into", "peak MiB", "seconds"}}
	for _, m := range r.Memory {
		into := "Elasticsearch"
		if m.Sink {
			into = "a sink"
		}
		t.add(fmt.Sprint(m.Records), into, fmt.Sprintf("%.0f", m.Peak), fmt.Sprintf("%.1f", m.Seconds))
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
