package permits

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/ndjson"
	"atlas/indexer/source"
	"atlas/indexer/source/permit"
)

// Checked is the result of a description applied to files, without writing anything.
type Checked struct {
	*Report
	// Examples are resulting records.
	Examples []Example `json:"examples"`
	// Unused are columns of the files that the description does not name.
	Unused []string `json:"unused_columns"`
}

// Example is the records of one permit.
type Example struct {
	Line    int64            `json:"line"`
	Project jsontext.Value   `json:"project"`
	Signals []jsontext.Value `json:"signals"`
	Firms   []ExampleFirm    `json:"firms"`
}

// ExampleFirm is a firm of a permit.
type ExampleFirm struct {
	Name string `json:"name"`
	Type string `json:"type"`
	City string `json:"city"`
}

// Check reads files like Convert, and returns some permits, spread over the file.
func Check(ctx context.Context, d *source.Description, inputs []Input, examples int, progress func(int64)) (*Checked, error) {
	s, err := permit.Compile(d)
	if err != nil {
		return nil, err
	}
	c := &checker{source: s, most: examples, firms: newFirms(s)}
	report := newReport(s.Name)
	from := &scan{source: s, report: report, several: len(inputs) > 1, progress: progress}
	seen := map[string]struct{}{}
	err = from.inputs(ctx, inputs, func(p *permit.Permit) error {
		if _, repeated := seen[p.Key]; repeated {
			report.RepeatedPermits++
		}
		seen[p.Key] = struct{}{}
		c.see(p)
		return nil
	})
	report.Permits = int64(len(seen))
	checked := &Checked{Report: report, Examples: c.some(), Unused: []string{}}
	if err != nil {
		return checked, err
	}
	checked.Unused, err = unused(s, inputs)
	return checked, err
}

type checker struct {
	source   *permit.Source
	most     int
	every    int64
	rows     int64
	examples []Example
	firms    *firms
	object   ndjson.Object
}

// see samples every row, then every second, every fourth, so that the sample is spread over
// the file.
func (c *checker) see(p *permit.Permit) {
	c.every = max(c.every, 1)
	if c.rows%c.every == 0 && c.most > 0 {
		if len(c.examples) == 2*c.most {
			left := c.examples[:0]
			for i := 0; i < len(c.examples); i += 2 {
				left = append(left, c.examples[i])
			}
			c.examples = left
			c.every *= 2
		}
		if c.rows%c.every == 0 {
			c.examples = append(c.examples, c.example(p))
		}
	}
	c.rows++
}

// some are at most the requested number of examples, spread over the sample.
func (c *checker) some() []Example {
	step := max(1, len(c.examples)/max(c.most, 1))
	some := []Example{}
	for i := 0; i < len(c.examples) && len(some) < c.most; i += step {
		some = append(some, c.examples[i])
	}
	return some
}

func (c *checker) example(p *permit.Permit) Example {
	var ids []string
	e := Example{Line: p.Line, Firms: []ExampleFirm{}, Signals: []jsontext.Value{}}
	for _, y := range c.firms.parties(p, nil) {
		ids = append(ids, y.firm.id)
		e.Firms = append(e.Firms, ExampleFirm{y.firm.name, y.role, y.firm.city})
	}
	e.Project = slices.Clone(projectLine(&c.object, c.source, p, ids, nil))
	for _, v := range events(p, c.source.Title) {
		e.Signals = append(e.Signals, slices.Clone(signalLine(&c.object, c.source, subjectOf(c.source, p), v, ids)))
	}
	return e
}

// unused are the columns of files that a description does not name.
func unused(s *permit.Source, inputs []Input) ([]string, error) {
	used := map[string]bool{}
	for _, name := range s.Columns() {
		used[strings.ToLower(name)] = true
	}
	names := []string{}
	for _, in := range inputs {
		file, err := in.Open(s.Reading())
		if err != nil {
			return names, err
		}
		if len(file.Columns()) == 0 {
			_, _ = file.Next() // its errors were already reported
		}
		for _, name := range file.Columns() {
			if !used[strings.ToLower(name)] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if err := file.Close(); err != nil {
			return names, err
		}
	}
	return names, nil
}
