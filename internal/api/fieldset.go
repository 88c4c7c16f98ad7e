package api

import (
	"strings"

	"atlas/internal/api/openapi"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/query"
)

// The rules of `fields` of gets.
var (
	fieldsOfRecord = func() map[query.Dataset]rule.Rule[query.FieldSet] {
		all := map[query.Dataset]rule.Rule[query.FieldSet]{}
		for _, d := range query.Datasets {
			all[d] = query.RecordFieldsRule(d)
		}
		return all
	}()
	fieldsOfBook = ofHeld(func(d query.Dataset) rule.Rule[query.FieldSet] {
		return query.FieldSetRule("Workspace"+d.Title()+"Field", query.RowFields(d, query.BookRecord))
	})
)

// fieldsParam describes the query parameter that fields reads.
func fieldsParam(d query.Dataset, r rule.Rule[query.FieldSet]) openapi.Parameter {
	list := *r.Schema
	list.Description = ""
	return openapi.Parameter{
		Name: "fields", In: "query", Style: "form", Explode: new(bool),
		Description: r.Schema.Description, Schema: &list, Example: []string{"id", query.Headline(d).Name},
	}
}

// fields reads the query parameter `fields`: comma-separated names.
func (c *call) fields(r rule.Rule[query.FieldSet]) (query.FieldSet, error) {
	text, given, err := c.param("fields")
	if err != nil || !given {
		return query.FieldSet{}, err
	}
	names := input.Value{Kind: input.Array}
	if text != "" {
		for name := range strings.SplitSeq(text, ",") {
			names.Items = append(names.Items, input.Value{Kind: input.String, Text: strings.TrimSpace(name)})
		}
	}
	var issues input.Issues
	set := r.Read(&issues, names, "fields")
	return set, issues.Err()
}

// withIncluded is the set with the keys of the related records that a get embeds.
func withIncluded(fields query.FieldSet, includes []query.Include) query.FieldSet {
	for _, inc := range includes {
		fields = fields.With(inc.Key)
	}
	return fields
}
