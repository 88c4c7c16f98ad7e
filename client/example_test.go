package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"

	"atlas/client"
)

func open() *client.Client {
	c, err := client.New(os.Getenv("ATLAS_URL"), client.WithAPIKey(os.Getenv("ATLAS_API_KEY")))
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A page of projects.
func ExampleSource_Search() {
	page, err := open().Projects.Search(context.Background(), client.Search{
		Query:     "garage",
		Filters:   client.Filters{"stage": client.AnyOf("permitted", "under_construction"), "cost": client.AtLeast(10_000)},
		Relations: client.Relations{"has_signal": {"signal_type": client.Is("permit_issued")}},
		Sort:      client.Desc("cost"),
		Limit:     10,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range page.Records {
		fmt.Println(p.Name, p.Stage)
	}
	fmt.Println("credits:", page.Credits, "left:", page.Window.Remaining)
}

// Every account of a city, however many there are.
func ExampleSource_All() {
	q := client.Search{Filters: client.Filters{"city": client.Is("Calgary")}}
	for account, err := range open().Accounts.All(context.Background(), q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(account.Name, account.ProjectsCount)
	}
}

// A walk that is interrupted goes on from the cursor of its last page.
func ExampleSource_Pages() {
	var cursor string // kept somewhere
	for page, err := range open().Signals.Pages(context.Background(), client.Search{Sort: client.Asc("created_at"), SearchAfter: cursor}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Records), "signals")
		cursor = page.Next
	}
}

// Annotating many accounts, found by their domains.
func ExampleBook_UpsertAll() {
	ctx, book := context.Background(), open().Book.Accounts
	domains := []string{"a.example", "b.example"}
	for some := range slices.Chunk(domains, client.MaxBatch) {
		var upserts []client.AccountUpsert
		for _, d := range some {
			upserts = append(upserts, client.AccountUpsert{Match: &client.AccountMatch{Domain: d}, ICPTier: client.To("tier_1"), Notes: client.Clear()})
		}
		batch, err := book.UpsertAll(ctx, upserts)
		if err != nil {
			log.Fatal(err)
		}
		for _, item := range batch.Items {
			if errors.Is(item.Err, client.ErrNotFound) {
				fmt.Println("nobody has", some[item.Index])
			}
		}
	}
}

// Which error it is.
func ExampleError() {
	_, err := open().Accounts.Get(context.Background(), "0f0c3ad5-8a3e-5c1b-9d5e-3a1f0b7c2d11", "projects")
	if out, ok := errors.AsType[*client.OutOfCreditsError](err); ok {
		fmt.Println("used", out.Window.Used, "credits; all are back by", out.Back)
	} else if errors.Is(err, client.ErrNotFound) {
		fmt.Println("no such account")
	} else if e, ok := errors.AsType[*client.Error](err); ok {
		for _, issue := range e.Issues {
			fmt.Println(issue.Path, issue.Message)
		}
	}
}
