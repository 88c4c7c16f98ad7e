package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// suggestion is a query.Suggestion with its folded value.
type suggestion struct {
	query.Suggestion
	folded string
}

// suggest is Suggest without the cache. The version is that of the records, nil if it is
// not known.
func (e *Engine) suggest(ctx context.Context, r query.SuggestRequest, version []byte) ([]query.Suggestion, error) {
	prepared, err := e.prepared(ctx, true, r.Query)
	if err != nil {
		return nil, err
	}
	r.Query = prepared[0]
	var names, values []suggestion
	both, ctx := errgroup.WithContext(ctx)
	if slices.ContainsFunc(r.Fields, func(f *catalog.Field) bool { return f.Headline }) {
		both.Go(func() (err error) {
			names, err = e.suggestNames(ctx, r)
			return err
		})
	}
	if slices.ContainsFunc(r.Fields, func(f *catalog.Field) bool { return f.Dynamic() }) {
		both.Go(func() error {
			of, err := e.valuesOf(ctx, r, version)
			values = suggestValues(r, of)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	all := append(names, values...)
	slices.SortFunc(all, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.folded, b.folded), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Field, b.Field))
	})
	list := make([]query.Suggestion, min(len(all), r.Limit))
	for i := range list {
		list[i] = all[i].Suggestion
	}
	return list, nil
}

// suggestNames returns the first names in the order of Suggest.
func (e *Engine) suggestNames(ctx context.Context, r query.SuggestRequest) ([]suggestion, error) {
	found, err := e.search(ctx, e.global(r.Dataset, compileSuggest(r, fewTerms)), "")
	if fault.CodeOf(err) == fault.InvalidInput {
		found, err = e.search(ctx, e.global(r.Dataset, compileSuggest(r, anyTerms)), "")
	}
	if err != nil {
		return nil, err
	}
	by, _ := catalog.SuggestCount(r.Dataset)
	f := catalog.Headline(r.Dataset)
	names := make([]suggestion, len(found.rows))
	for i, row := range found.rows {
		var record map[string]any
		if err := unmarshal(row.source, &record); err != nil {
			return nil, err
		}
		name, _ := record[f.Name].(string)
		id, _ := record["id"].(string)
		count, _ := record[by.Name].(float64)
		names[i] = suggestion{query.Suggestion{Field: f.Key, Value: name, ID: id, Count: int64(count)}, r.Folding.Fold(name)}
	}
	return names, nil
}

// How Elasticsearch rewrites a fuzzy term. Both take all matching terms; the default takes
// fifty.
const (
	// fewTerms fails if more terms match than a query may have clauses, at least 1,024.
	fewTerms = "constant_score_boolean"
	// anyTerms builds the automata of the term for each segment. That takes 0.2 ms for one
	// typo and 2 ms for two.
	anyTerms = "constant_score_blended"
)

// compileSuggest returns the body of the search of suggestNames. The rewrite is that of
// words with two typos.
func compileSuggest(r query.SuggestRequest, rewrite string) []byte {
	by, _ := catalog.SuggestCount(r.Dataset)
	f := catalog.Headline(r.Dataset)
	words := newCompiler(128 * len(r.Typed))
	for i, w := range r.Typed {
		if i > 0 {
			words.raw(`,`)
		}
		if w.Typos == 0 {
			words.term(suggestTermsPath, w.Text)
			continue
		}
		of := rewrite
		if w.Typos == 1 {
			of = anyTerms
		}
		words.raw(`{"fuzzy":{`).text(suggestTermsPath).raw(`:{"value":`).text(w.Text)
		words.raw(`,"fuzziness":`).integer(w.Typos).raw(`,"rewrite":"`).raw(of).raw(`"}}}`)
	}
	c := newCompiler(1024)
	c.raw(`{"query":`).condition(r.Query, words.b)
	c.raw(`,"size":`).integer(r.Limit).raw(`,"track_total_hits":false,"_source":["id",`).text(f.Name).raw(`,`).text(by.Name)
	c.raw(`],"sort":[{`).text(Root.ExactPath(by)).raw(`:"desc"},{`).text(Root.ExactPath(&f)).raw(`:"asc"}`)
	for _, path := range TiebreakPaths {
		c.raw(`,{`).text(path).raw(`:"asc"}`)
	}
	return c.raw(`]}`).b
}

// fieldValue is a value of a dynamic enum.
type fieldValue struct {
	field    *catalog.Field
	folded   string
	spelling string // the most frequent one
	count    int64
	words    []string // of catalog.Words
}

// fewValues is the maximum number of values that are counted individually. One search takes
// 65,536 terms.
const fewValues = 1_000

// valuesOf returns the values of the dynamic enums in the records of a request, at least
// those that the request selects. With filters it counts only these: counting all values
// takes longer than the rest of the request.
func (e *Engine) valuesOf(ctx context.Context, r query.SuggestRequest, version []byte) ([]fieldValue, error) {
	fields := slices.DeleteFunc(slices.Clone(r.Fields), func(f *catalog.Field) bool { return !f.Dynamic() })
	if version == nil {
		return e.countValues(ctx, r, fields)
	}
	all, err := e.allValues(ctx, r, version)
	if err != nil || len(r.Where) == 0 {
		return all, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(v fieldValue) bool { return !v.suggestedTo(r) })
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > fewValues:
		return e.countValues(ctx, r, fields)
	}
	var within query.Any
	fields = slices.DeleteFunc(fields, func(f *catalog.Field) bool {
		of := query.Terms{Field: f}
		for _, v := range found {
			if v.field == f {
				of.Values = append(of.Values, catalog.ExactValue(*f, v.folded))
			}
		}
		if of.Values != nil {
			within = append(within, of)
		}
		return of.Values == nil
	})
	r.Where = append(slices.Clip(r.Where), within)
	return e.countValues(ctx, r, fields)
}

// countValues counts the values of the fields in the records of a request.
func (e *Engine) countValues(ctx context.Context, r query.SuggestRequest, fields []*catalog.Field) ([]fieldValue, error) {
	s := query.FacetSearch{Request: query.FacetRequest{Query: r.Query}, Sets: []query.Query{r.Query}}
	for _, f := range fields {
		s.Request.Facets = append(s.Request.Facets, query.Facet{Field: f, Limit: math.MaxInt, CountOwn: true})
	}
	counted, err := resultOf(ctx, e, operation[query.Facets]{
		workspace: r.Workspace, counts: true, run: func(ctx context.Context) (query.Facets, error) { return e.facets(ctx, s) },
	})
	if err != nil {
		return nil, err
	}
	var all []fieldValue
	for i, f := range fields {
		for _, v := range counted.Facets[i].(query.ValueCounts).Values {
			all = append(all, fieldValue{f, v.Value, *v.Label, v.Count, catalog.Words(v.Value)})
		}
	}
	return all, nil
}

// suggestValues returns the values that the request selects, unordered.
func suggestValues(r query.SuggestRequest, of []fieldValue) []suggestion {
	var found []suggestion
	for _, v := range of {
		if v.suggestedTo(r) {
			found = append(found, suggestion{query.Suggestion{Field: v.field.Key, Value: v.spelling, Count: v.count}, v.folded})
		}
	}
	return found
}

// suggestedTo reports whether the request selects the value: every typed word begins one of
// its words.
func (v fieldValue) suggestedTo(r query.SuggestRequest) bool {
	return slices.Contains(r.Fields, v.field) &&
		!slices.ContainsFunc(r.Typed, func(t catalog.TypedWord) bool { return !slices.ContainsFunc(v.words, t.Begins) })
}
