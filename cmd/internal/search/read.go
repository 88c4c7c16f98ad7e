package search

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Read is `atlas read`.
type Read struct {
	apiAccess
	JSON bool `help:"Print the conditions as JSON, as the body of a search request has them."`

	Dataset  string   `arg:"" enum:"accounts,contacts,projects,signals" help:"accounts, contacts, projects or signals."`
	Question []string `arg:"" help:"Such as: multifamily under construction calgary over 1m."`
	Book     bool     `help:"Ask the book of the workspace."`
	TimeZone string   `default:"UTC" placeholder:"NAME" help:"Time zone whose day it is, such as America/Edmonton (default: UTC)."`
}

// Help is shown below the options.
func (Read) Help() string {
	return "It shows the conditions that a question says, the words that stay text, and how many records match. It costs no credits and searches nothing.\n\nStatus: 0 asked (perhaps nothing is read), 1 failed, 2 arguments make no sense."
}

func (c *Read) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	if c.Book && c.Dataset == "signals" {
		f.Add("--book has no signals")
	}
	if _, err := time.LoadLocation(c.TimeZone); err != nil {
		f.Add("--time-zone must be the name of a time zone, such as America/Edmonton")
	}
	return f.Err()
}

// Run asks and prints the reading.
func (c *Read) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	q := client.ReadRequest{Query: strings.Join(c.Question, " "), TimeZone: c.TimeZone}
	read := api.Dataset(client.DatasetName(c.Dataset)).Read
	if c.Book {
		read = map[string]func(context.Context, client.ReadRequest) (client.Reading, error){
			"accounts": api.Book.Accounts.Read, "contacts": api.Book.Contacts.Read, "projects": api.Book.Projects.Read,
		}[c.Dataset]
	}
	found, err := read(ctx, q)
	if err != nil {
		return apiError(s.Err, err)
	}
	if c.JSON {
		lines := json.NewEncoder(s.Out)
		lines.SetEscapeHTML(false)
		return lines.Encode(client.Search{Query: found.Query, Filters: found.Filters, Relations: found.Relations})
	}
	if found.Sentence == "" {
		fmt.Fprintf(s.Out, "Nothing is read. The text: %s.\n", counted(found.Count, c.Dataset))
		return nil
	}
	fmt.Fprintln(s.Out, found.Sentence)
	if found.Query != "" {
		fmt.Fprintf(s.Out, "with the text: %s\n", found.Query)
	}
	fmt.Fprintln(s.Out, counted(found.Count, c.Dataset))
	return nil
}

func counted(n int64, dataset string) string {
	if n == 1 {
		return "1 " + strings.TrimSuffix(dataset, "s")
	}
	return fmt.Sprintf("%d %s", n, dataset)
}
