package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"atlas/search/query"
)

// suggestion is a query.Suggestion with its folded value.
type suggestion struct {
	query.Suggestion
	folded string
}

// Suggest returns the names and values with words that begin as the typed ones: by count
// descending, then by folded value, id and field. Counts and order are exact. Errors:
// Unavailable.
func (e *Engine) Suggest(ctx context.Context, r query.SuggestRequest) ([]query.Suggestion, error) {
	return e.suggestions.suggest(ctx, e, r)
}

// suggest is Suggest without the results that are kept. The version is that of the
// records, nil if it is not known.
func (e *Engine) suggest(ctx context.Context, r query.SuggestRequest, version []byte) ([]query.Suggestion, error) {
	var names, values []suggestion
	both, ctx := errgroup.WithContext(ctx)
	if slices.ContainsFunc(r.Fields, func(f *query.Field) bool { return f.Headline }) {
		both.Go(func() (err error) {
			names, err = e.suggestNames(ctx, r)
			return err
		})
	}
	if slices.ContainsFunc(r.Fields, func(f *query.Field) bool { return f.Dynamic() }) {
		both.Go(func() error {
			of, err := e.suggestions.values(ctx, e, r, version)
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
	results, err := e.multi(ctx, e.global(r.Dataset, compileSuggest(r)))
	if err != nil {
		return nil, err
	}
	by, _ := query.SuggestCount(r.Dataset)
	f := query.Headline(r.Dataset)
	names := make([]suggestion, len(results[0].rows))
	for i, row := range results[0].rows {
		var record map[string]any
		if err := unmarshal(row.source, &record); err != nil {
			return nil, err
		}
		name, _ := record[f.Name].(string)
		id, _ := record["id"].(string)
		count, _ := record[by.Name].(float64)
		names[i] = suggestion{query.Suggestion{Field: f.Key, Value: name, ID: id, Count: int64(count)}, query.Fold(name)}
	}
	return names, nil
}

// compileSuggest returns the body of the search of suggestNames.
func compileSuggest(r query.SuggestRequest) []byte {
	by, _ := query.SuggestCount(r.Dataset)
	f := query.Headline(r.Dataset)
	words := newCompiler(128 * len(r.Typed))
	for i, w := range r.Typed {
		if i > 0 {
			words.raw(`,`)
		}
		if w.Typos == 0 {
			words.term(suggestTermsPath, w.Text)
			continue
		}
		// The rewrite takes all terms that match; that by default only fifty.
		words.raw(`{"fuzzy":{`).text(suggestTermsPath).raw(`:{"value":`).text(w.Text)
		words.raw(`,"fuzziness":`).integer(w.Typos).raw(`,"rewrite":"constant_score_blended"}}}`)
	}
	c := newCompiler(1024)
	c.raw(`{"query":`).condition(r.Query, words.b)
	c.raw(`,"size":`).integer(r.Limit).raw(`,"track_total_hits":false,"_source":["id",`).text(f.Name).raw(`,`).text(by.Name)
	c.raw(`],"sort":[`)
	for _, path := range []string{suggestWeightPath, Root.ExactPath(by)} {
		c.raw(`{`).text(path).raw(`:"desc"},`)
	}
	for _, path := range []string{Root.ExactPath(&f), TiebreakPaths[0]} {
		c.raw(`{`).text(path).raw(`:"asc"},`)
	}
	return c.raw(`{`).text(TiebreakPaths[1]).raw(`:"asc"}]}`).b
}

// fieldValue is a value of a dynamic enum.
type fieldValue struct {
	field    *query.Field
	folded   string
	spelling string // the most frequent one
	count    int64
	words    []string // of query.Words
}

// countValues counts the values of the fields in the records of q.
func countValues(ctx context.Context, q query.Query, fields []*query.Field, facets func(context.Context, query.FacetSearch) (query.Facets, error)) ([]fieldValue, error) {
	s := query.FacetSearch{Request: query.FacetRequest{Query: q}, Sets: []query.Query{q}}
	for _, f := range fields {
		s.Request.Facets = append(s.Request.Facets, query.Facet{Field: f, Limit: math.MaxInt, CountOwn: true})
	}
	counted, err := facets(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []fieldValue
	for i, f := range fields {
		for _, v := range counted.Facets[i].(query.ValueCounts).Values {
			all = append(all, fieldValue{f, v.Value, *v.Label, v.Count, query.Words(v.Value)})
		}
	}
	return all, nil
}

// suggestValues returns the values that the request asks for, in no order.
func suggestValues(r query.SuggestRequest, of []fieldValue) []suggestion {
	var found []suggestion
	for _, v := range of {
		if slices.Contains(r.Fields, v.field) && begin(r.Typed, v.words) {
			found = append(found, suggestion{query.Suggestion{Field: v.field.Key, Value: v.spelling, Count: v.count}, v.folded})
		}
	}
	return found
}

// begin reports whether every typed word begins one of the words.
func begin(typed []query.TypedWord, words []string) bool {
	for _, t := range typed {
		if !slices.ContainsFunc(words, t.Begins) {
			return false
		}
	}
	return true
}
