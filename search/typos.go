package search

import (
	"strconv"

	"atlas/search/catalog"
	"atlas/search/query"
)

// nearTerms lets a term match those within catalog.MaxEdits of it. Elasticsearch does not
// limit the expansions of a term only with this rewrite.
var nearTerms = `"fuzziness":"AUTO:` + strconv.Itoa(catalog.OneEditFrom) + `,` + strconv.Itoa(catalog.TwoEditsFrom) + `",`

// nearly is VisitMatchRecord for a folded text with typos. On free routes, in a dataset
// with Private fields, each of q.Terms must match in one of the other fields.
func (c *compiler) nearly(q query.Query, text string) *compiler {
	if c.public == nil {
		return c.raw(`{"match":{`).text(QueryPath).raw(`:{"operator":"and",` + nearTerms +
			`"fuzzy_rewrite":"constant_score","query":`).text(text).raw(`}}}`)
	}
	if len(q.Terms) == 0 {
		return c.raw(`{"match_none":{}}`)
	}
	c.raw(`{"bool":{"filter":[`)
	for _, term := range q.Terms {
		c.raw(`{"bool":{"should":[`)
		for _, f := range c.public {
			c.raw(`{"fuzzy":{`).text(Root.TextPath(f)).raw(`:{` + nearTerms + `"rewrite":"constant_score","value":`).text(term).raw(`}}},`)
		}
		c.closeList().raw(`]}},`)
	}
	return c.closeList().raw(`]}}`)
}

// scoreNearly scores exact matches of the terms, and lower the similar terms in the
// headline.
func (c *compiler) scoreNearly(d catalog.Dataset, text string) *compiler {
	f := catalog.Headline(d)
	c.raw(`{"match":{`).text(QueryPath).raw(`:{"query":`).text(text)
	c.raw(`}}},{"match":{`).text(Root.TextPath(&f)).raw(`:{"boost":0.1,` + nearTerms + `"fuzzy_rewrite":"constant_score","query":`).text(text)
	return c.raw(`}}},`)
}
