package search

import (
	"context"
	"encoding/json"
	"fmt"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Views is `atlas views`.
type Views struct {
	Check viewsCheck `cmd:"" help:"List the Dynamic Views whose text finds more records in all forms than as typed."`
}

// viewsCheck counts the records of Views in both readings of their text.
type viewsCheck struct {
	apiAccess
	cli.Output

	All bool `help:"List Views whose counts are equal, too."`
}

// Help is shown below the options.
func (viewsCheck) Help() string {
	return "The text of a View is read in all forms, as that of a search is. EXACT is how many of its records have all words as typed. It costs no credits.\n\n" +
		"Status: 0 checked, 1 failed, 2 arguments make no sense."
}

// Check checks the options.
func (c *viewsCheck) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	return f.Err()
}

// checkedView is a View with its counts.
type checkedView struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	Dataset client.ViewDataset `json:"dataset"`
	Q       string             `json:"q"`
	Exact   int                `json:"exact"`
	Count   int                `json:"count"`
}

// Run counts and prints.
func (c *viewsCheck) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	var checked []checkedView
	for v, err := range api.Views.List(ctx, client.ViewList{Type: client.ViewDynamic}) {
		if err != nil {
			return apiError(s.Err, err)
		}
		if v.Definition.Q == "" {
			continue
		}
		all, err := api.Views.Records(v.ID).Cost(ctx, client.Search{})
		if err != nil {
			return apiError(s.Err, err)
		}
		exact, err := api.Views.Records(v.ID).Cost(ctx, client.Search{Query: v.Definition.Q, Words: client.WordsExact})
		if err != nil {
			return apiError(s.Err, err)
		}
		one := checkedView{v.ID, v.Name, v.Dataset, v.Definition.Q, exact.Count, all.Count}
		if c.All || one.Count != one.Exact {
			checked = append(checked, one)
		}
	}
	var rows [][]string
	lines := json.NewEncoder(s.Out)
	for _, v := range checked {
		if c.JSON {
			if err := lines.Encode(v); err != nil {
				return err
			}
		}
		rows = append(rows, []string{
			v.ID, cli.ShownText(v.Name), string(v.Dataset), cli.ShownText(v.Q), fmt.Sprint(v.Exact),
			fmt.Sprint(v.Count),
		})
	}
	if c.JSON {
		return nil
	}
	return c.Print(s.Out, nil, "ID NAME DATASET Q EXACT NOW", rows)
}
