package query

import (
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Coverage requests which fields of a dataset's records are known, for each value of one
// field (docs/api.md, "Coverage").
type Coverage struct {
	Dataset catalog.Dataset
	// By is an enum.
	By    catalog.Field
	Limit int
}

// DefaultCoverage is the number of values that a coverage lists by default.
const DefaultCoverage = 10

// MaxCoverage is the largest number of values that a coverage lists.
const MaxCoverage = 100

// CoverageRule reads { dataset, by, limit? }. `by` is a filter key of an enum, closed
// or dynamic.
var CoverageRule = func() rule.Rule[Coverage] {
	datasets := make([]string, len(catalog.Datasets))
	byDataset := map[string]rule.Rule[Coverage]{}
	var shapes []*schema.Schema
	for i, d := range []catalog.Dataset{catalog.Accounts, catalog.Contacts, catalog.Projects, catalog.Signals} {
		datasets[i] = string(d)
		r := coverageOf(d)
		byDataset[string(d)] = r
		shapes = append(shapes, r.Schema)
	}
	named := rule.Enum(datasets...)
	return rule.New(
		&schema.Schema{OneOf: shapes}, input.Object, "an object",
		func(s *input.Issues, v input.Value, path []string) (Coverage, bool) {
			r, ok := byDataset[v.Get("dataset").Text]
			if v.Get("dataset").Kind != input.String || !ok {
				of := s.Object(v, path...)
				of.Expect([]string{"dataset", "by", "limit"})
				named.Member(s, of, "dataset", true)
				rule.Exact().Member(s, of, "by", true)
				coverageLimit.Member(s, of, "limit", false)
				of.Done()
				return Coverage{}, false
			}
			return r.Read(s, v, path...), true
		},
	).Named("CoverageRequest")
}()

var coverageLimit = rule.Integer(1, MaxCoverage).Default(DefaultCoverage)

// coverageOf is the rule of a request on one dataset.
func coverageOf(d catalog.Dataset) rule.Rule[Coverage] {
	var keys []string
	byKey := map[string]catalog.Field{}
	for _, f := range catalog.FilterFields(d, catalog.Data) {
		if f.Kind == catalog.Enum {
			keys, byKey[f.Key] = append(keys, f.Key), f
		}
	}
	r := rule.Object(
		rule.Fixed[Coverage]("dataset", rule.Enum(string(d)).As(schema.Const(string(d)))),
		rule.Required(
			"by", rule.Map(rule.Enum(keys...), func(key string) catalog.Field { return byKey[key] }),
			func(c *Coverage) *catalog.Field { return &c.By },
		),
		rule.Optional("limit", coverageLimit, func(c *Coverage) *int { return &c.Limit }),
	)
	return rule.Map(r, func(c Coverage) Coverage {
		c.Dataset = d
		return c
	}).Named(d.Title() + "CoverageRequest")
}
