package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"atlas/client"
)

// atlas stands in for the service: it answers each path below /api/v1 with a body.
func atlas(status int, answers map[string]string) (c *client.Client, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answers[strings.TrimPrefix(r.URL.Path, "/api/v1")])
	}))
	c, err := client.New(server.URL+"/api/v1", client.WithAPIKey("atlas_example"))
	if err != nil {
		panic(err)
	}
	return c, server.Close
}

// A page of projects.
func ExampleSource_Search() {
	c, stop := atlas(http.StatusOK, map[string]string{
		"/data/projects/search": `{"data":[{"name":"12 River Rd, garage","stage":"permitted","cost":25000}],"metadata":{"total":1,"limit":10,"credits":1}}`,
	})
	defer stop()
	page, err := c.Projects.Search(context.Background(), client.Search{
		Query:     "garage",
		Filters:   client.Filters{"stage": client.AnyOf(client.StagePermitted, client.StageUnderConstruction), "cost": client.AtLeast(10_000)},
		Relations: client.Relations{"has_signal": {"signal_type": client.Is(client.SignalPermitIssued)}},
		Sort:      client.Desc("cost"),
		Limit:     10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range page.Records {
		fmt.Println(p.Name, p.Stage, *p.Cost)
	}
	fmt.Println("credits:", page.Credits)
	// Output:
	// 12 River Rd, garage permitted 25000
	// credits: 1
}

// Every account of a city, however many there are.
func ExampleSource_All() {
	c, stop := atlas(http.StatusOK, map[string]string{
		"/data/accounts/search": `{"data":[{"name":"Acme Builders","projects_count":4},{"name":"River Homes","projects_count":1}],"metadata":{"total":2}}`,
	})
	defer stop()
	q := client.Search{Filters: client.Filters{"city": client.Is("Calgary")}}
	for account, err := range c.Accounts.All(context.Background(), q) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(account.Name, account.ProjectsCount)
	}
	// Output:
	// Acme Builders 4
	// River Homes 1
}

// An interrupted walk resumes from the cursor of its last page.
func ExampleSource_Pages() {
	c, stop := atlas(http.StatusOK, map[string]string{
		"/data/signals/search": `{"data":[{"title":"Permit issued"}],"metadata":{"total":1}}`,
	})
	defer stop()
	var cursor string // read it from where the last run stored it
	for page, err := range c.Signals.Pages(context.Background(), client.Search{Sort: client.Asc("created_at"), SearchAfter: cursor}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(page.Records), "signal")
		cursor = page.Next // store it
	}
	// Output: 1 signal
}

// Annotating many accounts, found by their domains.
func ExampleBook_UpsertAll() {
	c, stop := atlas(http.StatusOK, map[string]string{
		"/workspace/accounts/upsert/batch": `{"data":{"results":[{"index":0,"status":"ok","account_id":"5df858d1-c7cc-5b7c-9b68-bd7c73d72aa4","data":{}},` +
			`{"index":1,"status":"error","error":{"code":"not_found","message":"no such account"}}]},"metadata":{"succeeded":1,"failed":1}}`,
	})
	defer stop()
	domains := []string{"a.example", "b.example"}
	for some := range slices.Chunk(domains, client.MaxBatch) {
		var upserts []client.AccountUpsert
		for _, d := range some {
			upserts = append(upserts, client.AccountUpsert{
				Match: &client.AccountMatch{Domain: d}, ICPTier: client.To(client.ICPTier1), Notes: client.Clear(),
			})
		}
		batch, err := c.Book.Accounts.UpsertAll(context.Background(), upserts)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, item := range batch.Items {
			if errors.Is(item.Err, client.ErrNotFound) {
				fmt.Println("no account has the domain", some[item.Index])
			}
		}
	}
	// Output: no account has the domain b.example
}

// Telling errors apart.
func ExampleError() {
	c, stop := atlas(http.StatusNotFound, map[string]string{
		"/data/accounts/0f0c3ad5-8a3e-5c1b-9d5e-3a1f0b7c2d11": `{"error":{"code":"not_found","message":"no such account"}}`,
	})
	defer stop()
	_, err := c.Accounts.Get(context.Background(), "0f0c3ad5-8a3e-5c1b-9d5e-3a1f0b7c2d11", "projects")
	if out, ok := errors.AsType[*client.OutOfCreditsError](err); ok {
		fmt.Println("used", out.Window.Used, "credits; all are back by", out.Back)
	} else if errors.Is(err, client.ErrNotFound) {
		fmt.Println("no such account")
	} else if e, ok := errors.AsType[*client.Error](err); ok {
		for _, issue := range e.Issues {
			fmt.Println(issue.Path, issue.Message)
		}
	}
	// Output: no such account
}
