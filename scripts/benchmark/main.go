// Command benchmark measures Atlas beside the bare backends it is built on, in
// one run, turn by turn, so that what the machine does meanwhile hits both
// alike. Each subcommand starts real backends on loopback, fills them with a
// synthetic dataset, measures, prints a table and stops what it started.
//
// It is not a test of what answers say, though every one is compared with the
// first of its kind, and not a tool to load a service that others use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	goredis "github.com/redis/go-redis/v9"
)

type cli struct {
	Search  searchCmd  `cmd:"" help:"Searches through Atlas beside the same ones sent straight to Elasticsearch."`
	Views   viewsCmd   `cmd:"" help:"Large Static Views beside small ones, Dynamic Views beside the same Data searches."`
	Book    bookCmd    `cmd:"" help:"Upserts beside bare writes, searches of a large book beside those of a small one."`
	Index   indexCmd   `cmd:"" help:"A load beside sending the same documents, built beforehand, by a bare loop and by the client library's indexer."`
	Credits creditsCmd `cmd:"" help:"The ledger beside the least commands of Redis that count."`
	Growth  growthCmd  `cmd:"" help:"How cost grows with records, connections, the size of a book and the depth of a page; tables and pictures."`
	All     allCmd     `cmd:"" help:"search, book, views, credits and index, one after the other, in less than an hour."`
	Send    sendCmd    `cmd:"" hidden:"" help:"Send a file of documents; a part of index."`
}

func main() {
	goredis.SetLogger(quiet{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var c cli
	if len(os.Args) == 1 {
		os.Args = append(os.Args, "--help") // what there is
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

// say tells of progress; results alone go to the standard output.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// quiet drops what the Redis client prints of itself.
type quiet struct{}

// Printf implements the client's logging interface.
func (quiet) Printf(context.Context, string, ...any) {}
