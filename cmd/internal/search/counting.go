package search

import (
	"context"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// counting is shared by the commands that count records: `atlas facets` and `atlas pivot`.
type counting struct {
	apiAccess
	conditions
	cli.Output
}

// check adds problems of the options.
func (c *counting) check(measure string) error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.conditions.Check(&f)
	if of, field, ok := strings.Cut(measure, ":"); measure != "" && (!ok || of == "" || field == "") {
		f.Add("--measure must be OF:FIELD, such as sum:cost")
	}
	return f.Err()
}

// begin opens the target, and reads the conditions.
func (c *counting) begin(ctx context.Context, s *cli.Streams) (
	t target, describe func() ([]client.Field, error), q client.Search, err error,
) {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return t, nil, q, err
	}
	if t, err = c.find(ctx, api); err != nil {
		return t, nil, q, err
	}
	describe = t.described(ctx, api)
	q, err = c.request(describe)
	return t, describe, q, err
}

// measureOf parses OF:FIELD; nil for "".
func measureOf(text string) *client.Measure {
	of, field, given := strings.Cut(text, ":")
	if !given {
		return nil
	}
	return &client.Measure{Of: client.MeasureOf(of), Field: field}
}
