package api

import (
	"strings"

	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
)

// The rules of `fields` of gets.
var (
	fieldsOfRecord = func() map[catalog.Dataset]rule.Rule[catalog.FieldSet] {
		all := map[catalog.Dataset]rule.Rule[catalog.FieldSet]{}
		for _, d := range catalog.Datasets {
			all[d] = catalog.RecordFieldsRule(d)
		}
		return all
	}()
	fieldsOfBook = ofHeld(func(d catalog.Dataset) rule.Rule[catalog.FieldSet] {
		return catalog.FieldSetRule("Workspace"+d.Title()+"Field", catalog.RowFields(d, catalog.BookRecord))
	})
)

// fieldsParam describes the query parameter that fields reads.
func fieldsParam(d catalog.Dataset, r rule.Rule[catalog.FieldSet]) openapi.Parameter {
	list := *r.Schema
	list.Description = ""
	return openapi.Parameter{
		Name: "fields", In: "query", Style: "form", Explode: new(bool),
		Description: r.Schema.Description, Schema: &list, Example: []string{"id", catalog.Headline(d).Name},
	}
}

// fields reads the query parameter `fields`: comma-separated names.
func fields(c *endpoint.Call, r rule.Rule[catalog.FieldSet]) (catalog.FieldSet, error) {
	text, given, err := c.Param("fields")
	if err != nil || !given {
		return catalog.FieldSet{}, err
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

// withIncluded adds the keys of the related records that a get embeds.
func withIncluded(fields catalog.FieldSet, includes []query.Include) catalog.FieldSet {
	for _, inc := range includes {
		fields = fields.With(inc.Key)
	}
	return fields
}
