package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"atlas/search/catalog"
	"atlas/search/query"
)

const (
	// replacedTerms is the maximum number of different terms of a text that are replaced.
	// Each takes a round trip.
	replacedTerms = 5
	// similarTerms is the maximum number of similar terms considered for each term, the
	// nearest ones.
	similarTerms = 1_000
	// didYouMeanWithin bounds the time for the suggested text. The answer is complete
	// without it.
	didYouMeanWithin = 2 * time.Second
)

// notFound returns the NotFound of searches that together find nothing. They have the same
// text. Private fields are neither searched nor suggested, because a search without results
// is free. If Elasticsearch fails, there is no suggestion.
func (e *Engine) notFound(ctx context.Context, sets ...query.Query) query.NotFound {
	q := sets[0]
	private := func(q query.Query) bool { return query.OnPrivate(q.Where) }
	if q.Text == "" || q.Typos || slices.ContainsFunc(sets, private) {
		return query.NotFound{}
	}
	ctx, cancel := context.WithTimeout(alone(ctx), didYouMeanWithin) // other searches do not use up its time
	defer cancel()
	sets, err := e.withBorders(ctx, sets...)
	switch {
	case err != nil:
		return query.NotFound{}
	case q.Exact:
		return query.NotFound{DidYouMean: e.similarTerms(ctx, sets)}
	}
	found, err := e.missingWords(ctx, sets)
	if err != nil {
		return query.NotFound{Missing: found.Missing}
	}
	return found
}

// similarTerms is the text with similar terms, "" if there is none.
func (e *Engine) similarTerms(ctx context.Context, sets []query.Query) string {
	q := sets[0]
	// The terms of a text are nearly always its words, so one round trip suffices for a
	// text without a similar one.
	first := termsRequest{text: q.Folding.Fold(q.Text)}
	words := distinct(catalog.Words(first.text))
	first.counted = withSpellings(words)
	switch n := len(words); {
	case n == 1: // certainly not found
		first.similar = "always"
	case n <= replacedTerms:
		first.similar = "missing"
	}
	terms, counts, err := e.ask(ctx, first, sets...)
	if err != nil {
		return ""
	}
	options := map[string][]string{}
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i], options[t.Text] = t.Text, t.options()
	}
	if all = distinct(all); !slices.Equal(all, words) {
		first.counted = withSpellings(all)
		if _, counts, err = e.ask(ctx, termsRequest{counted: first.counted}, sets...); err != nil {
			return ""
		}
		if first.similar != "always" {
			clear(options)
		}
	}
	count := map[string]termCount{}
	for i, text := range first.counted {
		count[text] = counts[i]
	}
	var found, unsure []string
	replaced := map[string]string{}
	for _, term := range all {
		if count[term].matching > 0 {
			found = append(found, term)
			continue
		}
		var known []string
		for _, spelling := range spellings(term) {
			if n, counted := count[spelling]; !counted || n.matching > 0 {
				known = append(known, spelling)
			}
		}
		short := catalog.MaxEdits(term) == 0
		if replaced[term] = ""; short && known == nil || len(replaced) > replacedTerms {
			return ""
		}
		// With "missing", shards that have the term return no similar ones.
		if !short && first.similar != "always" && (count[term].anywhere > 0 || len(options[term]) == 0) {
			unsure = append(unsure, term)
		}
		options[term] = append(options[term], known...)
	}
	if len(replaced) == 0 {
		return ""
	}
	if unsure != nil {
		similar, _, err := e.ask(ctx, termsRequest{text: strings.Join(unsure, " "), similar: "always"}, sets...)
		if err != nil {
			return ""
		}
		for _, t := range similar {
			options[t.Text] = append(options[t.Text], t.options()...)
		}
	}
	given := utf16.Encode([]rune(first.text))
	for _, t := range terms {
		if with, unknown := replaced[t.Text]; !unknown || with != "" {
			continue
		}
		similar, err := e.nearest(ctx, wantedOf(t, given), options[t.Text], found, sets...)
		if err != nil || similar == "" {
			return ""
		}
		replaced[t.Text] = similar
		found = append(found, similar)
	}
	units, end := []uint16{}, 0
	for _, t := range terms {
		if with := replaced[t.Text]; with != "" {
			from, to := t.withWildcards(given)
			units = append(append(units, given[end:from]...), utf16.Encode([]rune(with))...)
			end = to
		}
	}
	return string(utf16.Decode(append(units, given[end:]...)))
}

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// nearest returns the option with the fewest edits; among these the one with the most
// records that also have all found terms; then the first by code point; "" if no record has
// one.
func (e *Engine) nearest(ctx context.Context, w wanted, options, found []string, sets ...query.Query) (string, error) {
	far := map[string]int{}
	for _, o := range options {
		if n, near := w.far(o); near {
			far[o] = n
		}
	}
	if len(far) == 0 {
		return "", nil
	}
	options = slices.Sorted(maps.Keys(far))
	_, counts, err := e.ask(ctx, termsRequest{required: found, counted: options}, sets...)
	if err != nil {
		return "", err
	}
	best := -1
	for i, o := range options {
		if counts[i].matching > 0 && (best < 0 || cmp.Or(
			cmp.Compare(far[o], far[options[best]]),
			cmp.Compare(counts[best].matching, counts[i].matching)) < 0) {
			best = i
		}
	}
	if best < 0 {
		return "", nil
	}
	return options[best], nil
}

// term is a term of a text.
type term struct {
	Text string `json:"text"`
	// Offset and Length are in UTF-16 units.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// Options are indexed terms. They may occur only in deleted records or other
	// workspaces.
	Options []struct {
		Text string `json:"text"`
	} `json:"options"`
}

func (t term) options() []string {
	texts := make([]string, len(t.Options))
	for i, o := range t.Options {
		texts[i] = o.Text
	}
	return texts
}

// textPaths are the paths in which free routes search texts.
func textPaths(d catalog.Dataset) []string {
	public := catalog.PublicText(d)
	if public == nil {
		return []string{QueryPath}
	}
	paths := make([]string, len(public))
	for i, f := range public {
		paths[i] = Root.TextPath(f)
	}
	return paths
}

// termsRequest asks for the terms of a text and for records with terms.
type termsRequest struct {
	// text is folded; "" requests no terms.
	text string
	// similar is the suggest_mode of Elasticsearch: "always" requests similar terms,
	// "missing" only on shards without the term, which takes no time on others; "" requests
	// none. Similar terms are within one edit, or within two edits with the same first
	// character: Elasticsearch suggests no others.
	similar string
	// edits is the maximum number of edits of similar terms, 1 or 2; 0 is 2.
	edits int
	// counted are the terms whose records are counted. Such records must also have all of
	// required.
	required, counted []string
	// words are conditions whose records are counted instead of counted; met are conditions
	// that all counted records meet. Similar terms are then those of words.
	words, met []clause
}

// paths are the paths of the terms.
func (r termsRequest) paths(d catalog.Dataset) []string {
	if r.words != nil {
		return []string{WordsPath}
	}
	return textPaths(d)
}

// termCount is how many records have a term.
type termCount struct {
	// matching is the number of those that also meet the conditions of the search except
	// its text.
	matching int
	// anywhere is the number in the indices, if "missing" similar terms were requested.
	anywhere int
}

// ask returns the terms of the text in their order, each with at most similarTerms of the
// nearest similar terms in the indices of the searches, unordered; and a count for each
// counted term. Errors: Unavailable.
func (e *Engine) ask(ctx context.Context, r termsRequest, of ...query.Query) ([]term, []termCount, error) {
	requests := make([]request, len(of))
	for i, q := range of {
		requests[i] = e.at(q, r.body(q))
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, nil, err
	}
	var terms []term
	counts := make([]termCount, max(len(r.counted), len(r.words)))
	for _, result := range results {
		if r.text != "" {
			var byPath map[string][]term
			if err := unmarshal(result.suggest, &byPath); err != nil {
				return nil, nil, err
			}
			for _, more := range byPath {
				terms = merged(terms, more)
			}
		}
		if len(counts) > 0 {
			var found struct {
				Terms    termFilters `json:"terms"`
				Anywhere struct {
					Terms termFilters `json:"terms"`
				} `json:"anywhere"`
			}
			if err := unmarshal(result.aggregations, &found); err != nil {
				return nil, nil, err
			}
			for i, b := range found.Terms.Buckets {
				counts[i].matching += b.Count
			}
			for i, b := range found.Anywhere.Terms.Buckets {
				counts[i].anywhere += b.Count
			}
		}
	}
	return terms, counts, nil
}

type termFilters struct {
	Buckets []struct {
		Count int `json:"doc_count"`
	} `json:"buckets"`
}

// merged adds the similar terms of another path or index.
func merged(terms, more []term) []term {
	if terms == nil {
		return more
	}
	for i := range min(len(terms), len(more)) {
		for _, o := range more[i].Options {
			if !slices.Contains(terms[i].Options, o) {
				terms[i].Options = append(terms[i].Options, o)
			}
		}
	}
	return terms
}

// body is the request for the index of a search.
func (r termsRequest) body(q query.Query) []byte {
	paths := r.paths(q.Dataset)
	c := newCompiler(2048)
	c.raw(`{"size":0,"track_total_hits":false`)
	if r.text != "" {
		c.raw(`,"suggest":{"text":`).text(r.text)
		for i, path := range paths {
			c.raw(`,"`).integer(i).raw(`":{"term":{"field":`).text(path)
			if r.similar == "" {
				c.raw(`,"min_word_length":1000}}`) // longer than any term
				continue
			}
			c.raw(`,"suggest_mode":`).text(r.similar)
			c.raw(`,"max_edits":`).integer(cmp.Or(r.edits, 2)).raw(`,"prefix_length":0,"min_word_length":`).integer(catalog.OneEditFrom)
			c.raw(`,"max_term_freq":1000000000,"size":`).integer(similarTerms).raw(`,"shard_size":`).integer(similarTerms).raw(`}}`)
		}
		c.raw(`}`)
	}
	if len(r.counted)+len(r.words) > 0 {
		q.Text, q.DryRun, q.CountOnly = "", true, true
		c.raw(`,"query":{"bool":{"filter":[`).condition(q, nil)
		for _, t := range r.required {
			c.raw(`,`).inOneOf(paths, t)
		}
		for _, one := range r.met {
			c.b = append(append(c.b, ','), one...)
		}
		c.raw(`]}},"aggs":{`)
		if r.words != nil {
			c.raw(`"terms":{"filters":{"filters":[`)
			for _, one := range r.words {
				c.b = append(append(c.b, one...), ',')
			}
			return c.closeList().raw(`]}}}}`).b
		}
		c.countEach(paths, r.counted)
		if r.similar == "missing" {
			c.raw(`,"anywhere":{"global":{},"aggs":{`).countEach(paths, r.counted).raw(`}}`)
		}
		c.raw(`}`)
	}
	return c.raw(`}`).b
}

// countEach counts the records with each of the terms.
func (c *compiler) countEach(paths, terms []string) *compiler {
	c.raw(`"terms":{"filters":{"filters":[`)
	for _, t := range terms {
		c.inOneOf(paths, t).raw(`,`)
	}
	return c.closeList().raw(`]}}`)
}

// inOneOf matches a whole term in one of the paths.
func (c *compiler) inOneOf(paths []string, term string) *compiler {
	c.raw(`{"bool":{"should":[`)
	for _, path := range paths {
		c.term(path, term).raw(`,`)
	}
	return c.closeList().raw(`]}}`)
}

// withTerms adds the terms of the text to q, if a search in several fields needs them and q
// has none. Errors: Unavailable.
func (e *Engine) withTerms(ctx context.Context, q query.Query) (query.Query, error) {
	if q.Text == "" || !q.Exact || !q.Typos || q.Terms != nil || catalog.PublicText(q.Dataset) == nil {
		return q, nil
	}
	terms, _, err := e.ask(ctx, termsRequest{text: q.Folding.Fold(q.Text)}, q)
	for _, t := range terms {
		q.Terms = append(q.Terms, t.Text)
	}
	return q, err
}
