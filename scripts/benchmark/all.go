package main

import (
	"context"
	"errors"
	"fmt"
)

// allCmd runs every benchmark that compares Atlas with a bare backend, with
// sizes that fit into an hour: those that search on one stack and one dataset,
// then loading on a stack of its own.
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

// Validate leaves it to the benchmarks.
func (c *allCmd) Validate() error {
	search, book, views, ledger, index := c.parts()
	return errors.Join(search.Validate(), book.Validate(), views.Validate(), ledger.Validate(), index.Validate())
}

func (c *allCmd) parts() (*searchCmd, *bookCmd, *viewsCmd, *creditsCmd, *indexCmd) {
	return &searchCmd{place: c.place, Records: c.Records, Seed: c.Seed, Requests: c.Requests, Seconds: c.Seconds, Rounds: c.Rounds, Connections: connections, Write: c.Write},
		&bookCmd{place: c.place, Records: c.Records, Seed: c.Seed, Book: c.Held, Seconds: c.Seconds, Rounds: c.Rounds, Write: c.Write},
		&viewsCmd{place: c.place, Records: c.Records, Seed: c.Seed, Members: c.Held, Seconds: c.Seconds, Rounds: c.Rounds, Write: c.Write},
		&creditsCmd{Atlas: c.Atlas, Callers: []int{1, 8, 64}, Seconds: max(1, c.Seconds/2), Rounds: c.Rounds, Write: c.Write},
		&indexCmd{Atlas: c.Atlas, Records: c.IndexRecords, Seed: c.Seed, Rounds: c.Rounds, Connections: 2, BatchMiB: 4, Write: c.Write}
}

// Run measures and prints. A benchmark that fails does not keep the next one
// from being run.
func (c *allCmd) Run(ctx context.Context) error {
	search, book, views, ledger, index := c.parts()
	for _, name := range []string{"search", "book", "views", "credits", "index"} {
		if err := hasSection(c.Write, name); err != nil {
			return err
		}
	}
	before := machineOf() // before the run itself loads it
	err := withInstallation(ctx, c.place, c.Records, c.Seed, func(ctx context.Context, i *installation, _ machine) (err error) {
		for _, b := range []struct {
			name string
			on   func(context.Context, *installation, machine) error
		}{{"search", search.on}, {"book", book.on}, {"views", views.on}, {"credits", ledger.on}} {
			err = errors.Join(err, c.one(ctx, b.name, func() error { return b.on(ctx, i, before) }))
		}
		return err
	})
	return errors.Join(err, c.one(ctx, "index", func() error { return index.on(ctx, before) }))
}

// one runs one of them, unless the run has been ended.
func (c *allCmd) one(ctx context.Context, name string, run func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	say("\n%s", name)
	fmt.Printf("## %s\n\n", name)
	if err := run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
