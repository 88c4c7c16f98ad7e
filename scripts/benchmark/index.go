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
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// indexCmd compares a load with minimal programs that send the same documents,
// built beforehand.
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
	report.Output
}

// Validate implements kong's interface.
func (c *indexCmd) Validate() error {
	var memory error
	if c.Memory != 0 {
		memory = within("memory", 1_000, 100_000_000, c.Memory)
	}
	return errors.Join(within("records", 10_000, 100_000_000, c.Records), within("rounds", 1, 100, c.Rounds),
		within("connections", 1, 16, c.Connections), within("batch-mib", 1, 64, c.BatchMiB), memory)
}

// Run measures and prints.
func (c *indexCmd) Run(ctx context.Context) error {
	if err := c.Check("index"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(&installation{run: r, before: machineOf()}) })
}

// indexReport is the result.
type indexReport struct {
	heading
	Rounds      int `json:"rounds"`
	Connections int `json:"connections"`
	BatchMiB    int `json:"batch_mib"`
	// Apart means that sender and Elasticsearch shared no processor.
	Apart bool `json:"apart"`
	// Bytes is the size of all documents, as they are sent.
	Bytes    int64             `json:"document_bytes"`
	Datasets []*indexedDataset `json:"datasets"`
	Loader   wayCost           `json:"loader"`
	Bare     wayCost           `json:"bare"`
	Esutil   wayCost           `json:"esutil"`
	Memory   []memoryAt        `json:"loader_memory"`
}

// indexedDataset is the number of documents of a dataset that each way writes per
// second.
type indexedDataset struct {
	Dataset   catalog.Dataset `json:"dataset"`
	Documents int64           `json:"documents"`
	Bytes     int64           `json:"bytes"`
	// Loader includes all work of a load for the dataset: reading, sorting,
	// joining, building and sending. Indexing leaves out reading and sorting.
	Loader   report.Spread `json:"loader_documents_per_second"`
	Indexing report.Spread `json:"loader_indexing_documents_per_second"`
	Bare     report.Spread `json:"bare_documents_per_second"`
	Esutil   report.Spread `json:"esutil_documents_per_second"`
	// ToBare and ToEsutil are the loader's rate divided by theirs.
	ToBare   report.Spread `json:"loader_to_bare"`
	ToEsutil report.Spread `json:"loader_to_esutil"`
}

// wayCost is the cost of one way for all datasets together.
type wayCost struct {
	Seconds report.Spread `json:"seconds"`
	// CPU seconds of the process that sends, and of Elasticsearch.
	CPU           report.Spread `json:"cpu_seconds"`
	Elasticsearch report.Spread `json:"elasticsearch_cpu_seconds"`
	// Peak is the maximum memory of the process, in MiB.
	Peak report.Spread `json:"peak_mib"`
}

// memoryAt is the maximum memory of a load of this many records, in MiB.
type memoryAt struct {
	Records int64   `json:"records"`
	Peak    float64 `json:"peak_mib"`
	Seconds float64 `json:"seconds"`
	// Sink means that the documents were discarded, see newSink.
	Sink bool `json:"sink"`
}

// aims are the minimum ratios to the bare loop.
var aims = map[catalog.Dataset]float64{catalog.Signals: 0.9, catalog.Contacts: 0.9, catalog.Projects: 0.6, catalog.Accounts: 0.6}

// indexBench is one run, on a stack of its own.
type indexBench struct {
	*indexCmd
	*installation
	built  map[catalog.Dataset]*builtFile
	report indexReport
}

// on runs the benchmark on its own stack, after another one has stopped, and prints
// the result.
func (c *indexCmd) on(after *installation) {
	b := &indexBench{indexCmd: c, installation: startBackends(after.run, place{Dir: rig.Folder(after.run, c.Dir), Atlas: c.Atlas})}
	b.before = after.before
	if c.Apart {
		b.apart()
	}
	began := time.Now()
	generated := must(generate.Generate(b.ctx, generate.Options{Records: c.Records, Seed: c.Seed, Dir: b.records()}))
	b.dataset = dataset{Report: generated, Mappings: mappingsDigest()}
	say("generated %d records in %.1f s", generated.Total, time.Since(began).Seconds())
	b.report = indexReport{heading: b.heading(), Rounds: c.Rounds, Connections: c.Connections, BatchMiB: c.BatchMiB, Apart: c.Apart}
	b.built = must(buildDocuments(b.ctx, b.records(), b.installation.Dir, c.BatchMiB<<20))
	for _, d := range catalog.Datasets {
		part := b.built[d]
		b.report.Bytes += part.bytes
		b.report.Datasets = append(b.report.Datasets, &indexedDataset{Dataset: d, Documents: part.documents, Bytes: part.bytes})
	}
	b.measure()
	check(c.Emit("index", b.report))
}

// warmUpFor is the time of sending before anything counts. All documents are sent
// at least once.
const warmUpFor = time.Minute

// measure runs every way once in each round. Each round begins with another way.
func (b *indexBench) measure() {
	say("warming up for %s at least", warmUpFor)
	// Run until the JVM has compiled its hot code: a first load is half as fast as
	// the next.
	for end := time.Now().Add(warmUpFor); ; {
		b.send(bareWay)
		if time.Now().After(end) {
			break
		}
	}
	ways := []string{loaderWay, bareWay, esutilWay}
	for round := range b.Rounds {
		took := map[string]wayResult{}
		for i := range ways {
			way := ways[(round+i)%len(ways)]
			if way == loaderWay {
				took[way] = b.load(b.records(), b.Elasticsearch[0])
			} else {
				took[way] = b.send(way)
			}
			say("round %d of %d, %s: %.1f s", round+1, b.Rounds, way, took[way].seconds)
		}
		b.report.add(took)
	}
	b.measureMemory()
}

// apart gives Elasticsearch all processors except the first.
func (b *indexBench) apart() {
	if runtime.NumCPU() < 2 {
		failf("--apart needs two processors")
	}
	var nodes struct {
		Nodes map[string]struct{ Process struct{ ID int } }
	}
	check(b.Ask(b.ctx, "GET", "/_nodes/process?filter_path=nodes.*.process.id", "", &nodes))
	for _, n := range nodes.Nodes {
		check(pinTo(n.Process.ID, fmt.Sprintf("1-%d", runtime.NumCPU()-1)))
	}
}

func (r *indexReport) add(took map[string]wayResult) {
	for _, d := range r.Datasets {
		rate := func(seconds float64) float64 { return float64(d.Documents) / max(seconds, 0.001) }
		loader, bare, esutil := took[loaderWay].datasets[d.Dataset], took[bareWay].datasets[d.Dataset], took[esutilWay].datasets[d.Dataset]
		d.Loader.Add(rate(loader.seconds))
		if loader.indexing > 0 {
			d.Indexing.Add(rate(loader.indexing))
		}
		d.Bare.Add(rate(bare.seconds))
		d.Esutil.Add(rate(esutil.seconds))
		d.ToBare.Add(bare.seconds / loader.seconds)
		d.ToEsutil.Add(esutil.seconds / loader.seconds)
	}
	for way, cost := range map[string]*wayCost{loaderWay: &r.Loader, bareWay: &r.Bare, esutilWay: &r.Esutil} {
		cost.Seconds.Add(took[way].seconds)
		cost.CPU.Add(took[way].cpu)
		cost.Elasticsearch.Add(took[way].elasticsearch)
		cost.Peak.Add(took[way].peak)
	}
}

// measureMemory loads other numbers of records, once each: a tenth and, on request,
// many and a tenth of those into a sink.
func (b *indexBench) measureMemory() {
	b.report.Memory = append(b.report.Memory, memoryAt{b.Records, b.report.Loader.Peak.Median, b.report.Loader.Seconds.Median, false})
	one := func(n int64, elasticsearch string) {
		dir := filepath.Join(b.installation.Dir, fmt.Sprintf("memory-%d", n))
		must(generate.Generate(b.ctx, generate.Options{Records: n, Seed: b.Seed, Dir: dir}))
		result := b.load(dir, elasticsearch)
		say("%d records: %.0f MiB at most", n, result.peak)
		b.report.Memory = append(b.report.Memory, memoryAt{n, result.peak, result.seconds, elasticsearch != b.Elasticsearch[0]})
		check(os.RemoveAll(dir))
	}
	one(b.Records/10, b.Elasticsearch[0])
	if b.Memory > 0 {
		sink := must(newSink(b.Elasticsearch[0]))
		defer sink.Close()
		one(b.Memory/10, sink.URL)
		one(b.Memory, sink.URL)
	}
	if b.Profile != "" {
		b.profile()
	}
}

// Markdown writes the tables. Figures are medians of the rounds, in brackets
// the lowest and the highest round.
func (r indexReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(
		&b, "- %d connections and requests of %d MiB each way; %.0f bytes a document\n", r.Connections, r.BatchMiB,
		float64(r.Bytes)/float64(max(1, r.Dataset.Records.Total())),
	)
	if r.Apart {
		fmt.Fprintln(&b, "- the process that sends has the first processor to itself, and Elasticsearch the others")
	}
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; the ways by turns, each into new indices, after a warm-up that does not count; every index was counted afterwards\n\n", r.Rounds)
	fmt.Fprintf(&b, "**Documents a second**\n\n")
	t := report.Table{Head: []string{
		"dataset", "bytes", "`index load`", "its indexing alone", "bare `_bulk`", "`esutil.BulkIndexer`",
		"load to bare", "aim", "load to esutil",
	}}
	for _, d := range r.Datasets {
		t.Add(
			string(d.Dataset), fmt.Sprintf("%.0f", float64(d.Bytes)/float64(max(1, d.Documents))), d.Loader.Text(0),
			d.Indexing.Text(0), d.Bare.Text(0), d.Esutil.Text(0),
			d.ToBare.Text(2), fmt.Sprintf("≥ %.1f", aims[d.Dataset]), d.ToEsutil.Text(2),
		)
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**All datasets together**; `index load` from the files to the switch, the others from documents that were built before.\n\n")
	t = report.Table{Head: []string{"", "`index load`", "bare `_bulk`", "`esutil.BulkIndexer`"}}
	row := func(what string, digits int, of func(wayCost) report.Spread) {
		t.Add(what, of(r.Loader).Text(digits), of(r.Bare).Text(digits), of(r.Esutil).Text(digits))
	}
	row("seconds", 1, func(c wayCost) report.Spread { return c.Seconds })
	row("CPU seconds of the process", 1, func(c wayCost) report.Spread { return c.CPU })
	row("CPU seconds of Elasticsearch", 1, func(c wayCost) report.Spread { return c.Elasticsearch })
	row("peak memory of the process, MiB", 0, func(c wayCost) report.Spread { return c.Peak })
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**Memory of `index load`**; aims: at most 400 MiB, and at most 1.2 times as much for ten times the records.\n\n")
	t = report.Table{Head: []string{"records", "into", "peak MiB", "seconds"}}
	for _, m := range r.Memory {
		into := "Elasticsearch"
		if m.Sink {
			into = "a sink"
		}
		t.Add(fmt.Sprint(m.Records), into, fmt.Sprintf("%.0f", m.Peak), fmt.Sprintf("%.1f", m.Seconds))
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
