package search

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/words"
)

// TotalCap is the highest total that a search counts exactly, unless it is a dry run.
const TotalCap = 1_000

// pageOf is q's page without rows, with a total of its matches.
func pageOf(q query.Query, total int) query.Page {
	if q.DryRun {
		return query.Page{Total: total}
	}
	return query.Page{Total: min(total, TotalCap), Capped: total > TotalCap}
}

// Compile returns the body of Elasticsearch's _search for a query. after has the sort
// values of the row before the page; nil means the first row, or the offset. The body
// requests one row more than the page has, which shows whether there is a next page.
// Compile is pure. The texts of a query must be valid UTF-8.
func Compile(q query.Query, after json.RawMessage) []byte {
	return compile(q, options{after: after})
}

// options are what a search requests in addition to its Query. The zero value is the first
// page.
type options struct {
	after      json.RawMessage // the sort values of the row before the page
	seek       clause          // a condition on the rows (seekFilter), or nil
	sortOnly   bool            // rows have only their sort values
	exactTotal bool            // all matches are counted
}

// clause is a query in Elasticsearch's DSL.
type clause []byte

func compile(q query.Query, o options) []byte {
	c := newCompiler(1024)
	c.raw(`{`)
	if q.Offset > 0 && len(o.after) == 0 && !q.CountOnly {
		c.raw(`"from":`).integer(q.Offset).raw(`,`)
	}
	c.raw(`"query":`).condition(q, o.seek)
	if q.CountOnly {
		c.raw(`,"size":0,"track_total_hits":`)
		if q.DryRun {
			c.raw(`true}`)
		} else {
			c.integer(max(TotalCap, q.Offset) + 1).raw(`}`)
		}
		return c.b
	}
	if len(o.after) > 0 {
		c.raw(`,"search_after":`)
		c.b = append(c.b, o.after...)
	}
	c.raw(`,"size":`).integer(q.Limit + 1).raw(`,"sort":`).order(q.Sort)
	if o.sortOnly {
		// Without any stored field, not even the id, Elasticsearch reads only the
		// doc values of a row: an eighth of the work.
		c.raw(`,"_source":false,"stored_fields":"_none_"`)
	}
	if o.exactTotal || q.DryRun {
		c.raw(`,"track_total_hits":true}`)
	} else {
		c.raw(`,"track_total_hits":`).integer(TotalCap + 1).raw(`}`)
	}
	return c.b
}

// compiler appends JSON to b. Marshalling maps instead made a third of the
// allocations of a search.
type compiler struct {
	b  []byte
	at FieldPrefix // of the fields of the node that is visited
	// public are the fields in which a free route searches a text; nil: all.
	public []*catalog.Field
	border map[query.Outline]query.Border // query.Query.Border
	// folding is that of the index.
	folding catalog.Folding
	words   *words.Tables // for reading texts
	dataset catalog.Dataset
}

var _ query.Visitor = (*compiler)(nil)

func newCompiler(capacity int) *compiler {
	return &compiler{b: make([]byte, 0, capacity), at: Root, words: words.Published}
}

// clauseOf compiles a node on its own.
func clauseOf(n query.Node) clause {
	c := newCompiler(64)
	n.Accept(c)
	return c.b
}

func (c *compiler) raw(json string) *compiler {
	c.b = append(c.b, json...)
	return c
}

func (c *compiler) text(s string) *compiler {
	c.b, _ = jsontext.AppendQuote(c.b, s) // fails only for invalid UTF-8
	return c
}

func (c *compiler) integer(n int) *compiler {
	c.b = strconv.AppendInt(c.b, int64(n), 10)
	return c
}

func (c *compiler) order(s query.Sort) {
	direction := "asc"
	if s.Desc {
		direction = "desc"
	}
	if s.Relevance() {
		c.raw(`[{"_score":{`)
	} else {
		c.raw(`[{`).text(Root.ExactPath(&s.Field)).raw(`:{"missing":"_last",`)
	}
	c.raw(`"order":"`).raw(direction).raw(`"}}`)
	for _, path := range TiebreakPaths {
		c.raw(`,{`).text(path).raw(`:{"order":"asc"}}`)
	}
	c.raw(`]`)
}

// condition compiles the query's tree and text. Scores are computed only if the
// rows are sorted by them.
func (c *compiler) condition(q query.Query, seek clause) *compiler {
	scored := q.Text != "" && q.Sort.Relevance() && !q.CountOnly
	if q.DryRun || q.WithoutPrivate && q.Text == "" {
		c.public = catalog.PublicText(q.Dataset)
	}
	c.border, c.folding, c.words, c.dataset = q.Border, q.Folding, tablesOf(q), q.Dataset
	start := len(c.b)
	c.raw(`{"bool":{"filter":[`)
	first := len(c.b)
	if q.Held {
		// This clause does not depend on the routing or on the caller's conditions.
		c.term(workspacePath, q.Base.Workspace).raw(`,`)
	}
	for _, node := range q.Where {
		node.Accept(c)
		c.raw(`,`)
	}
	if seek != nil {
		c.b = append(append(c.b, seek...), ',')
	}
	var w wordSearch
	if q.Text != "" && !q.Exact {
		w = wordsOf(c.words.Read(q.Text, q.Folding.Fold), q.DryRun || q.WithoutPrivate, q)
		w.code = codeOf(q, w)
		c.filterWords(w, scored)
	}
	text := query.MatchRecord{Text: q.Folding.Fold(q.Text)}
	onlyPublic := q.WithoutPrivate && catalog.HasPrivate(q.Dataset)
	if q.Text != "" && q.Exact && (!scored || q.Typos || onlyPublic) {
		ofViews := c.public
		if onlyPublic { // the scores stay those of pages without an offset
			c.public = catalog.PublicText(q.Dataset)
		}
		if q.Typos {
			c.nearly(q, text.Text)
		} else {
			c.VisitMatchRecord(text)
		}
		c.public = ofViews
		c.raw(`,`)
	}
	filtered := len(c.b) > first
	switch {
	case filtered:
		c.b[len(c.b)-1] = ']'
	case scored:
		c.b = append(c.b[:start], `{"bool":{`...)
	default:
		c.b = append(c.b[:start], `{"match_all":{}}`...)
		return c
	}
	if scored {
		if filtered {
			c.raw(`,`)
		}
		switch {
		case !q.Exact:
			return c.scoreWords(w, q.Dataset, text.Text).raw(`}}`)
		case q.Typos:
			c.raw(`"should":[`).scoreNearly(q.Dataset, text.Text)
		default:
			c.raw(`"must":[`).VisitMatchRecord(text)
			c.raw(`],"should":[`)
		}
		c.headline(q.Dataset, text.Text).raw(`]`)
	}
	return c.raw(`}}`)
}

// headline ranks records with the terms in their name above records with the terms in other
// fields.
func (c *compiler) headline(d catalog.Dataset, text string) *compiler {
	f := catalog.Headline(d)
	c.raw(`{"match":{`).text(Root.TextPath(&f)).raw(`:{"boost":2,"query":`).text(text)
	c.raw(`}}},{"term":{`).text(Root.ExactPath(&f)).raw(`:{"boost":4,"value":`).text(catalog.ExactValue(f, text))
	return c.raw(`}}}`)
}

func (c *compiler) VisitAll(n query.All) {
	if len(n) == 0 {
		c.raw(`{"match_all":{}}`)
		return
	}
	c.raw(`{"bool":{"filter":`).list(n).raw(`}}`)
}

func (c *compiler) VisitAny(n query.Any) {
	if len(n) == 0 {
		c.raw(`{"match_none":{}}`)
		return
	}
	c.raw(`{"bool":{"minimum_should_match":1,"should":`).list(n).raw(`}}`)
}

func (c *compiler) list(nodes []query.Node) *compiler {
	c.raw(`[`)
	for _, n := range nodes {
		n.Accept(c)
		c.raw(`,`)
	}
	c.b[len(c.b)-1] = ']'
	return c
}

func (c *compiler) VisitNot(n query.Not) {
	n.Node.Accept(c.raw(`{"bool":{"must_not":[`))
	c.raw(`]}}`)
}

func (c *compiler) VisitTerms(n query.Terms) {
	values := n.Values
	if n.Field.Folded() {
		values = make([]string, len(n.Values))
		for i, v := range n.Values {
			values[i] = catalog.ExactValue(*n.Field, c.folding.Fold(v))
		}
	}
	c.terms(c.at.ExactPath(n.Field), values)
}

func (c *compiler) terms(path string, values []string) {
	switch len(values) {
	case 0:
		c.raw(`{"match_none":{}}`)
		return
	case 1:
		c.term(path, values[0])
		return
	}
	c.raw(`{"terms":{`).text(path).raw(`:[`)
	for _, v := range values {
		c.text(v).raw(`,`)
	}
	c.b[len(c.b)-1] = ']'
	c.raw(`}}`)
}

func (c *compiler) term(path, value string) *compiler {
	return c.raw(`{"term":{`).text(path).raw(`:`).text(value).raw(`}}`)
}

func (c *compiler) VisitMatch(n query.Match) {
	c.match(c.at.TextPath(n.Field), c.folding.Fold(n.Text))
}

func (c *compiler) VisitMatchRecord(n query.MatchRecord) {
	text := c.folding.Fold(n.Text)
	if c.public == nil {
		c.match(QueryPath, text)
		return
	}
	c.raw(`{"multi_match":{"type":"cross_fields","operator":"and","fields":[`)
	for _, f := range c.public {
		c.text(c.at.TextPath(f)).raw(`,`)
	}
	c.b[len(c.b)-1] = ']'
	c.raw(`,"query":`).text(text).raw(`}}`)
}

func (c *compiler) match(path, text string) {
	c.raw(`{"match":{`).text(path).raw(`:{"operator":"and","query":`).text(text).raw(`}}}`)
}

func (c *compiler) VisitRange(n query.Range) {
	if n.From.Open() && n.To.Open() {
		c.VisitExists(query.Exists{Field: n.Field})
		return
	}
	c.between(c.at.ExactPath(n.Field), n.From, n.To)
}

// between requires at least one bound that is not open.
func (c *compiler) between(path string, from, to query.Bound) {
	c.raw(`{"range":{`).text(path).raw(`:{`)
	if !from.Open() {
		c.b = append(from.AppendJSON(c.raw(`"gte":`).b), ',')
	}
	if !to.Open() {
		c.b = append(to.AppendJSON(c.raw(`"lte":`).b), ',')
	}
	c.b[len(c.b)-1] = '}'
	c.raw(`}}`)
}

func (c *compiler) VisitExists(n query.Exists) { c.exists(c.at.ExactPath(n.Field)) }

func (c *compiler) exists(path string) { c.raw(`{"exists":{"field":`).text(path).raw(`}}`) }

func (c *compiler) VisitNested(n query.Nested) {
	child := n.Relation.Child
	c.raw(`{"nested":{"path":`).text(NestedPath(child)).raw(`,"query":`)
	c.at = NestedPrefix(child)
	n.Node.Accept(c)
	c.at = Root
	c.raw(`,"score_mode":"none"}}`)
}

func (c *compiler) VisitInBook(query.InBook)       { c.term(inBookPath, "true") }
func (c *compiler) VisitInView(n query.InView)     { c.terms(viewsPath, n.IDs) }
func (c *compiler) VisitInAnyView(query.InAnyView) { c.exists(viewsPath) }
