package search

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/match"
	"atlas/search/query"
)

const (
	// MatchRows is the maximum number of candidates that are read for an input: half by its
	// own values, half by similar ones.
	MatchRows = 2 * candidateRows
	// candidateRows is how many records of one search are compared with an input.
	candidateRows = 12
	// matchesAtOnce is how many inputs one round trip searches for.
	matchesAtOnce = 25
)

// FoundMatch is the result for an input, with the public records of its candidates.
type FoundMatch struct {
	match.Result
	Records []jsontext.Value
}

// FindMatches finds the records that inputs describe (docs/match.md). Equal inputs are
// searched for once. Errors: Unavailable.
func (e *Engine) FindMatches(ctx context.Context, r query.MatchRequest) ([]FoundMatch, error) {
	release, err := countPlace(ctx, &e.matching, r.Workspace)
	if err != nil {
		return nil, err
	}
	defer release()
	positions := map[query.MatchInput]int{} // in subjects
	var subjects []*match.Subject
	for _, in := range r.Inputs {
		in.Ref = ""
		if _, known := positions[in]; !known {
			positions[in] = len(subjects)
			subjects = append(subjects, match.New(r.Dataset, in))
		}
	}
	var asked query.Any // what inputs are searched for by
	for in := range positions {
		for _, text := range []string{in.Name, in.City, in.Email} {
			asked = append(asked, query.MatchRecord{Text: text})
		}
	}
	results, err := inFoldings(ctx, e, false, []query.Query{{
		Dataset: r.Dataset, Where: query.All{asked},
	}}, func(folded []query.Query) ([]match.Result, error) {
		return e.decide(ctx, r, subjects, folded[0].Folding)
	})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, result := range results {
		for _, c := range result.Candidates {
			ids = append(ids, c.ID)
		}
	}
	records, err := e.Lookup(ctx, r.Dataset, ids)
	if err != nil {
		return nil, err
	}
	e.fetched(ctx, len(records))
	found := make([]FoundMatch, len(r.Inputs))
	for i, in := range r.Inputs {
		in.Ref = ""
		found[i] = withRecords(results[positions[in]], records)
	}
	return found, nil
}

// withRecords leaves out the candidates that were deleted meanwhile.
func withRecords(r match.Result, records map[string]jsontext.Value) FoundMatch {
	found := FoundMatch{Result: match.Result{Status: r.Status}}
	for _, c := range r.Candidates {
		if record, exists := records[c.ID]; exists {
			found.Candidates, found.Records = append(found.Candidates, c), append(found.Records, record)
		}
	}
	if len(found.Candidates) == 0 {
		found.Status = match.NoMatch
	}
	return found
}

// decide decides each input. Inputs for which the exact search finds nothing are searched
// for a second time, with similar words.
func (e *Engine) decide(ctx context.Context, r query.MatchRequest, subjects []*match.Subject, by catalog.Folding) ([]match.Result, error) {
	results := make([]match.Result, len(subjects))
	records := make([][]match.Record, len(subjects))
	open := make([]int, len(subjects))
	for i := range open {
		open[i] = i
	}
	for _, loosely := range []bool{false, true} {
		var searched []int
		var searches []request
		for _, i := range open {
			body, err := candidateSearch(r.Dataset, subjects[i].Blocks(by), loosely)
			if err != nil {
				return nil, err
			}
			if body != nil {
				searched, searches = append(searched, i), append(searches, e.global(r.Dataset, body))
			} else if !loosely {
				results[i].Status = match.NoMatch
			}
		}
		open = nil
		for first := 0; first < len(searches); first += matchesAtOnce {
			last := min(first+matchesAtOnce, len(searches))
			answers, err := e.multi(ctx, searches[first:last]...)
			if err != nil {
				return nil, err
			}
			for j, answer := range answers {
				i := searched[first+j]
				if records[i], err = withRows(records[i], answer.rows); err != nil {
					return nil, err
				}
				results[i] = subjects[i].Decide(records[i], r.MinConfidence, r.Candidates)
				if results[i].Status == match.NoMatch {
					open = append(open, i)
				}
			}
		}
	}
	return results, nil
}

func withRows(records []match.Record, rows []hit) ([]match.Record, error) {
	seen := map[string]bool{}
	for _, r := range records {
		seen[r.ID] = true
	}
	for _, row := range rows {
		var r match.Record
		if err := unmarshal(row.source, &r); err != nil {
			return nil, err
		}
		if !seen[r.ID] {
			records = append(records, r)
		}
	}
	return records, nil
}

// candidateSearch is the body of a search for the records that an input may describe; nil
// if the input has nothing to search by.
func candidateSearch(d catalog.Dataset, b match.Blocks, loosely bool) ([]byte, error) {
	var clauses []object
	if b.Name != "" {
		clauses = append(clauses, nameClause(d, b, loosely))
	}
	constant := func(path string, boost int, values ...string) {
		clauses = append(clauses, object{"constant_score": object{"boost": boost, "filter": object{"terms": object{path: values}}}})
	}
	if !loosely {
		if len(b.Domains) > 0 && d == catalog.Accounts {
			constant(DomainsPath, 40, b.Domains...)
		}
		if b.Phone != "" {
			constant(phonePath, 40, b.Phone)
		}
		if f, known := catalog.FieldNamed(d, "email"); known && b.Email != "" {
			constant(Root.ExactPath(&f), 80, catalog.ExactValue(f, b.Email))
		}
	}
	if len(clauses) == 0 {
		return nil, nil
	}
	body, err := json.Marshal(object{
		"query": object{"bool": object{"should": clauses}}, "size": candidateRows, "track_total_hits": false,
		"_source": match.Members,
		"sort":    []any{"_score", object{TiebreakPaths[0]: "asc"}, object{TiebreakPaths[1]: "asc"}},
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return body, nil
}

// nameClause finds records by a name. At least one of its distinctive words must match; the
// other words and the city only rank.
func nameClause(d catalog.Dataset, b match.Blocks, loosely bool) object {
	name := catalog.Headline(d)
	path := Root.TextPath(&name)
	words := object{"query": strings.Join(b.Core, " ")}
	if d == catalog.Contacts && !loosely {
		words["operator"] = "and"
	}
	must := []object{{"match": object{path: words}}}
	if loosely {
		words["fuzziness"], words["prefix_length"] = fmt.Sprintf("AUTO:%d,%d", catalog.OneEditFrom, catalog.TwoEditsFrom), 1
		for _, w := range b.Core {
			must = append(must, parts(path, w)...)
		}
	} else if len(b.Joined) > 0 {
		must = append(must, object{"terms": object{path: b.Joined}})
	}
	should := []object{
		{"term": object{Root.ExactPath(&name): object{"value": catalog.ExactValue(name, b.Name), "boost": 10}}},
	}
	if len(b.Others) > 0 {
		should = append(should, object{"match": object{path: strings.Join(b.Others, " ")}})
	}
	if f, known := catalog.FieldNamed(d, "city"); known && b.City != "" {
		should = append(should, object{"constant_score": object{"boost": 2, "filter": object{
			"term": object{Root.ExactPath(&f): catalog.ExactValue(f, b.City)},
		}}})
	}
	if email, known := catalog.FieldNamed(d, "email"); known {
		for _, domain := range b.Domains {
			should = append(should, object{"match": object{Root.TextPath(&email): object{"query": domain, "operator": "and"}}})
		}
	}
	return object{"bool": object{"must": object{"bool": object{"should": must, "minimum_should_match": 1}}, "should": should}}
}

// parts finds a word that is written as two words, or as initials with points or spaces.
func parts(path, w string) (clauses []object) {
	all := func(words ...string) {
		var terms []object
		for _, word := range words {
			terms = append(terms, object{"term": object{path: word}})
		}
		clauses = append(clauses, object{"bool": object{"must": terms}})
	}
	n := utf8.RuneCountInString(w)
	if n > 1 && n < 5 {
		letters := strings.Split(w, "")
		all(letters...)
		clauses = append(clauses, object{"term": object{path: strings.Join(letters, ".")}})
	}
	if n >= 6 && n == len(w) {
		for at := 3; at <= n-3; at++ {
			all(w[:at], w[at:])
		}
	}
	return clauses
}
