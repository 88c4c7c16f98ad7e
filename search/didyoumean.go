package search

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"atlas/internal/edits"
	"atlas/search/query"
)

const (
	// replacedTerms is how many different terms of a text are replaced at most. Each
	// takes a round trip.
	replacedTerms = 5
	// similarTerms is how many similar terms are considered for each term, the nearest.
	similarTerms = 1_000
	// didYouMeanWithin bounds the time for the text of an answer, which is complete
	// without it.
	didYouMeanWithin = time.Second
)

// didYouMean returns the Page.DidYouMean of searches that together find nothing. They
// have the same text. Private fields are neither searched nor offered: who searches
// without a result pays nothing. An error of Elasticsearch is no text.
func (e *Engine) didYouMean(ctx context.Context, sets ...query.Query) string {
	q := sets[0]
	private := func(q query.Query) bool { return query.OnPrivate(q.Where) }
	if q.Text == "" || q.Typos || slices.ContainsFunc(sets, private) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, didYouMeanWithin)
	defer cancel()
	sets, err := e.withBorders(ctx, sets...)
	if err != nil {
		return ""
	}
	text := query.Fold(q.Text)
	terms, err := e.termsOf(ctx, text, 0, sets...)
	if err != nil {
		return ""
	}
	distinct := make([]string, len(terms))
	for i, t := range terms {
		distinct[i] = t.Text
	}
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	counts, err := e.countWithTerms(ctx, nil, distinct, sets...)
	if err != nil {
		return ""
	}
	var found []string
	replaced := map[string]string{}
	for i, term := range distinct {
		if counts[i] > 0 {
			found = append(found, term)
		} else if replaced[term] = ""; query.MaxEdits(term) == 0 || len(replaced) > replacedTerms {
			return ""
		}
	}
	if len(replaced) == 0 {
		return ""
	}
	missing := make([]string, 0, len(replaced))
	for _, t := range terms {
		if _, unknown := replaced[t.Text]; unknown && !slices.Contains(missing, t.Text) {
			missing = append(missing, t.Text)
		}
	}
	// Similar terms take long to find, so those of terms that are found are not asked for.
	similarTo, err := e.termsOf(ctx, strings.Join(missing, " "), similarTerms, sets...)
	if err != nil {
		return ""
	}
	for _, t := range similarTo {
		if replaced[t.Text] != "" {
			continue
		}
		similar, err := e.nearest(ctx, t, found, sets...)
		if err != nil || similar == "" {
			return ""
		}
		replaced[t.Text] = similar
		found = append(found, similar)
	}
	units, end := []uint16{}, 0
	given := utf16.Encode([]rune(text))
	for _, t := range terms {
		if with := replaced[t.Text]; with != "" {
			units = append(append(units, given[end:t.Offset]...), utf16.Encode([]rune(with))...)
			end = t.Offset + t.Length
		}
	}
	return string(utf16.Decode(append(units, given[end:]...)))
}

// nearest returns the similar term with the fewest edits, then the most records with
// it and all terms found, then the first by code point; "" if no record has one.
func (e *Engine) nearest(ctx context.Context, t term, found []string, sets ...query.Query) (string, error) {
	most := query.MaxEdits(t.Text)
	type candidate struct {
		text         string
		edits, count int
	}
	var candidates []candidate
	var texts []string
	for _, o := range t.Options {
		if n := edits.Distance(t.Text, o.Text, most); n <= most {
			candidates = append(candidates, candidate{o.Text, n, 0})
			texts = append(texts, o.Text)
		}
	}
	if texts == nil {
		return "", nil
	}
	counts, err := e.countWithTerms(ctx, found, texts, sets...)
	if err != nil {
		return "", err
	}
	for i, n := range counts {
		candidates[i].count = n
	}
	candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.count == 0 })
	if len(candidates) == 0 {
		return "", nil
	}
	return slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
	}).text, nil
}

// term is a term of a text.
type term struct {
	Text string `json:"text"`
	// Offset and Length are in UTF-16 units.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// Options are indexed terms, also of deleted records and other workspaces.
	Options []struct {
		Text string `json:"text"`
	} `json:"options"`
}

// textPaths are the paths in which texts are searched where nothing is charged.
func textPaths(d query.Dataset) []string {
	public := query.PublicText(d)
	if public == nil {
		return []string{QueryPath}
	}
	paths := make([]string, len(public))
	for i, f := range public {
		paths[i] = Root.TextPath(f)
	}
	return paths
}

// termsOf returns the terms of a folded text, in their order, with similar ones of the
// indices of searches: at most most of each, the nearest, in any order; 0: only the terms.
// Similar terms are within one edit, or within two and begin with the same character:
// Elasticsearch suggests no others.
func (e *Engine) termsOf(ctx context.Context, text string, most int, of ...query.Query) ([]term, error) {
	requests := make([]request, len(of))
	for i, q := range of {
		c := newCompiler(512)
		c.raw(`{"size":0,"track_total_hits":false,"suggest":{"text":`).text(text)
		for j, path := range textPaths(q.Dataset) {
			c.raw(`,"`).integer(j).raw(`":{"term":{"field":`).text(path)
			if most == 0 {
				c.raw(`,"min_word_length":1000}}`) // longer than any term
				continue
			}
			c.raw(`,"suggest_mode":"always","max_edits":2,"prefix_length":0,"min_word_length":` + strconv.Itoa(query.OneEditFrom) + `,"max_term_freq":1000000000,"size":`).integer(most).raw(`,"shard_size":`).integer(most).raw(`}}`)
		}
		requests[i] = e.at(q, c.raw(`}}`).b)
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	var terms []term
	for _, r := range results {
		var byPath map[string][]term
		if err := unmarshal(r.suggest, &byPath); err != nil {
			return nil, err
		}
		for _, more := range byPath {
			if terms == nil {
				terms = more
				continue
			}
			for i := range min(len(terms), len(more)) {
				for _, o := range more[i].Options {
					if !slices.Contains(terms[i].Options, o) {
						terms[i].Options = append(terms[i].Options, o)
					}
				}
			}
		}
	}
	return terms, nil
}

// countWithTerms counts, for each of the terms, the records of searches that meet their
// conditions except the text, and have it and all terms required.
func (e *Engine) countWithTerms(ctx context.Context, required, terms []string, of ...query.Query) ([]int, error) {
	counts := make([]int, len(terms))
	if len(terms) == 0 {
		return counts, nil
	}
	requests := make([]request, len(of))
	for i, q := range of {
		paths := textPaths(q.Dataset)
		q.Text, q.DryRun, q.CountOnly = "", true, true
		c := newCompiler(2048)
		c.raw(`{"size":0,"track_total_hits":false,"query":{"bool":{"filter":[`).condition(q, nil)
		for _, t := range required {
			c.raw(`,`).inOneOf(paths, t)
		}
		c.raw(`]}},"aggs":{"terms":{"filters":{"filters":[`)
		for _, t := range terms {
			c.inOneOf(paths, t).raw(`,`)
		}
		requests[i] = e.at(q, c.closeList().raw(`]}}}}`).b)
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		var answer struct {
			Terms struct {
				Buckets []struct {
					Count int `json:"doc_count"`
				} `json:"buckets"`
			} `json:"terms"`
		}
		if err := unmarshal(r.aggregations, &answer); err != nil {
			return nil, err
		}
		for i, b := range answer.Terms.Buckets {
			counts[i] += b.Count
		}
	}
	return counts, nil
}

// inOneOf matches a whole term in one of the paths.
func (c *compiler) inOneOf(paths []string, term string) *compiler {
	c.raw(`{"bool":{"should":[`)
	for _, path := range paths {
		c.term(path, term).raw(`,`)
	}
	return c.closeList().raw(`]}}`)
}

// withTerms gives q the terms of its text if a search in several fields needs them.
// Errors: Unavailable.
func (e *Engine) withTerms(ctx context.Context, q query.Query) (query.Query, error) {
	if q.Text == "" || !q.Typos || query.PublicText(q.Dataset) == nil {
		return q, nil
	}
	terms, err := e.termsOf(ctx, query.Fold(q.Text), 0, q)
	for _, t := range terms {
		q.Terms = append(q.Terms, t.Text)
	}
	return q, err
}
