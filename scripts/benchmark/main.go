// Command benchmark compares Atlas with the bare backends that it uses. It measures
// both in one run and in rotation, so that other load on the machine affects both
// alike. Each subcommand starts real backends on loopback, fills them with a
// synthetic dataset, measures, prints tables and stops what it started.
//
// It does not test the content of answers, except that it compares every answer
// with the first one to the same request. It is not a load generator for a service
// that others use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"

	"atlas/scripts/benchmark/report"
)

type cli struct {
	Search    searchCmd    `cmd:"" help:"Searches through Atlas beside the same ones sent straight to Elasticsearch."`
	Batch     batchCmd     `cmd:"" help:"Batches of searches beside the same searches one by one, through Atlas and straight to Elasticsearch."`
	Views     viewsCmd     `cmd:"" help:"Large Static Views beside small ones, Dynamic Views beside the same Data searches."`
	Book      bookCmd      `cmd:"" help:"Upserts beside bare writes, searches of a large book beside those of a small one."`
	Index     indexCmd     `cmd:"" help:"A load beside sending the same documents, built beforehand, by a bare loop and by the client library's indexer."`
	Credits   creditsCmd   `cmd:"" help:"The ledger beside the least commands of Redis that count."`
	Growth    growthCmd    `cmd:"" help:"How cost grows with records, connections, the size of a book and the depth of a page; tables and pictures."`
	Service   serviceCmd   `cmd:"" help:"Memory, goroutines and connections of a server at rest and with many searches at once, and how fast it starts."`
	Tails     tailsCmd     `cmd:"" help:"Latencies at 30, 60 and 80 % of saturation, and what the slowest requests have in common."`
	Peers     peersCmd     `cmd:"" help:"Atlas beside what users would pick instead: Postgres full text, Elasticsearch by hand, Searchkit."`
	Kinds     kindsCmd     `cmd:"" help:"What each kind of search costs Elasticsearch, by the number of records, or of nodes."`
	Facets    facetsCmd    `cmd:"" help:"Facets through Atlas beside the same aggregations sent straight to Elasticsearch."`
	Changes   changesCmd   `cmd:"" help:"What the feed of changes adds to loads and deltas, and how fast it is read and followed."`
	Webhooks  webhooksCmd  `cmd:"" help:"How fast one server delivers webhooks to a local receiver."`
	Relevance relevanceCmd `cmd:"" help:"How good the results of judged queries are, beside Postgres, MiniSearch and Elasticsearch."`
	All       allCmd       `cmd:"" help:"search, book, views, credits and index, one after the other, in less than an hour."`
	Send      sendCmd      `cmd:"" hidden:"" help:"Send a file of documents; a part of index."`
}

func main() {
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var c cli
	if len(os.Args) == 1 {
		os.Args = append(os.Args, "--help") // lists the subcommands
	}
	k := kong.Parse(&c,
		kong.Name("benchmark"),
		kong.Description("Measures Atlas beside the bare backends it is built on."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	err := k.Run()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		if errors.Is(err, context.Canceled) {
			os.Exit(130)
		}
		os.Exit(1)
	}
}

// allCmd runs every benchmark that compares Atlas with a bare backend, in sizes
// that fit into an hour: those that search on one stack and one dataset, then
// loading on a stack of its own.
type allCmd struct {
	place
	Records      int64  `default:"400000" help:"Records of the dataset that is searched, 10000 to 100000000 (default: 400000, of which 104000 are projects)."`
	IndexRecords int64  `default:"200000" help:"Records of the dataset that is loaded each way, 10000 to 100000000 (default: 200000)."`
	Seed         uint64 `default:"1" help:"Seed of the datasets and of the requests (default: 1)."`
	Requests     int    `default:"1000" help:"Different searches, 100 to 100000; a result to be kept has at least 1000 (default: 1000)."`
	Held         int    `default:"100000" help:"Records of the large book and the large View, 2000 to 100000; as many as there are in a smaller dataset (default: 100000)."`
	Seconds      int    `default:"8" help:"About how long each measurement takes, in seconds (default: 8)."`
	Rounds       int    `default:"5" help:"How often each is repeated; a result to be kept has at least 5 (default: 5)."`
	Write        string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, each when it is there, between the markers bench:search, bench:book and so on."`
}

// part is a benchmark that allCmd runs on an installation; index runs on its own.
type part struct {
	name string
	cmd  interface{ Validate() error }
	on   func(*installation)
}

func (c *allCmd) parts() []part {
	out := report.Output{Write: c.Write}
	search := &searchCmd{
		place: c.place, Records: c.Records, Seed: c.Seed, Requests: c.Requests, Seconds: c.Seconds, Rounds: c.Rounds,
		Connections: connections, Output: out,
	}
	book := &bookCmd{place: c.place, Records: c.Records, Seed: c.Seed, Book: c.Held, Seconds: c.Seconds, Rounds: c.Rounds, Output: out}
	views := &viewsCmd{place: c.place, Records: c.Records, Seed: c.Seed, Members: c.Held, Seconds: c.Seconds, Rounds: c.Rounds, Output: out}
	credits := &creditsCmd{Atlas: c.Atlas, Callers: []int{1, 8, 64}, Seconds: max(1, c.Seconds/2), Rounds: c.Rounds, Output: out}
	index := &indexCmd{Atlas: c.Atlas, Records: c.IndexRecords, Seed: c.Seed, Rounds: c.Rounds, Connections: 2, BatchMiB: 4, Output: out}
	return []part{
		{"search", search, search.on}, {"book", book, book.on}, {"views", views, views.on},
		{"credits", credits, credits.on}, {"index", index, index.on},
	}
}

// Validate implements kong's interface.
func (c *allCmd) Validate() (err error) {
	for _, p := range c.parts() {
		err = errors.Join(err, p.cmd.Validate())
	}
	return err
}

// Run measures and prints. After a failed benchmark the next one still runs.
func (c *allCmd) Run(ctx context.Context) error {
	parts := c.parts()
	for _, p := range parts {
		if err := (report.Output{Write: c.Write}).Check(p.name); err != nil {
			return err
		}
	}
	var errs []error
	one := func(p part, i *installation) {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			return
		}
		say("\n%s", p.name)
		fmt.Printf("## %s\n\n", p.name)
		if err := try(ctx, func(*run) { p.on(i) }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	before := machineOf()
	errs = append(errs, try(ctx, func(r *run) {
		i := install(r, c.place, c.Records, c.Seed)
		for _, p := range parts[:4] {
			one(p, i)
		}
	}))
	errs = append(errs, try(ctx, func(r *run) { one(parts[4], &installation{run: r, before: before}) }))
	return errors.Join(errs...)
}

// defaultReport is the path of the document of results, relative to the root of the
// repository.
const defaultReport = "docs/benchmarks.md"

// commandLine is the command with which others repeat a run: without the paths of
// its data and of the binary.
func commandLine(args []string) string {
	words := []string{"scripts/bench"}
	for i := 0; i < len(args); i++ {
		name, _, together := strings.Cut(args[i], "=")
		if name == "--dir" || name == "--atlas" {
			if !together {
				i++ // its value
			}
			continue
		}
		word := args[i]
		if at := strings.LastIndex(word, "/"+defaultReport); at >= 0 && strings.HasSuffix(word, defaultReport) {
			word = defaultReport
			if together {
				word = name + "=" + defaultReport
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
