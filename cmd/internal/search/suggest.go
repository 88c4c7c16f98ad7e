package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Suggest is `atlas suggest`.
type Suggest struct {
	apiAccess
	cli.Output

	Dataset string   `arg:"" enum:"accounts,contacts,projects,signals" help:"accounts, contacts, projects or signals."`
	Prefix  []string `arg:"" help:"Beginnings of words, with typos perhaps."`
	Field   string   `help:"Suggest only values of this field: name, city, state, country."`
	Filter  []string `short:"f" sep:"none" placeholder:"KEY=VALUE" help:"Condition on the records, as in atlas search; may be repeated."`
	Limit   int      `default:"10" help:"Suggestions to show, 1 to 20 (default: 10)."`
}

// Help is shown below the options.
func (Suggest) Help() string {
	return "It costs no credits.\n\nStatus: 0 asked (perhaps without a find), 1 failed, 2 arguments make no sense."
}

func (c *Suggest) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	if c.Limit < 1 || c.Limit > 20 {
		f.Add("--limit must be 1 to 20")
	}
	return f.Err()
}

// Run asks and prints the suggestions.
func (c *Suggest) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	filters, relations, err := parseFilters(c.Filter, func() ([]client.Field, error) {
		fields, _, err := api.Fields.Search(ctx, client.FieldSearch{Dataset: client.DatasetName(c.Dataset)})
		return fields, err
	})
	if err != nil {
		return apiError(s.Err, err)
	}
	if relations != nil {
		return cli.ConfigError{"--filter: suggestions take no relations"}
	}
	found, err := api.Dataset(client.DatasetName(c.Dataset)).Suggest(ctx, client.SuggestRequest{
		Prefix: strings.Join(c.Prefix, " "), Field: c.Field, Filters: filters, Limit: c.Limit,
	})
	if err != nil {
		return apiError(s.Err, err)
	}
	if c.JSON {
		lines := json.NewEncoder(s.Out)
		lines.SetEscapeHTML(false)
		for _, one := range found {
			if err := lines.Encode(one); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, len(found))
	for i, one := range found {
		value, err := json.Marshal(one.Value)
		if err != nil {
			return err
		}
		rows[i] = []string{one.Field, shownCell(value), fmt.Sprint(one.Count), cmp.Or(one.ID, "-")}
	}
	return c.Print(s.Out, nil, "FIELD VALUE COUNT ID", rows) // JSON was printed line by line
}
