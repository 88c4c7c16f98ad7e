package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/search/catalog"
	"atlas/search/query"
)

// object is a JSON object of a request that has no query.Query.
type object = map[string]any

// Lookup returns the public records of ids in real time, without waiting for a
// refresh. Ids that are not in the dataset are missing. Errors: Unavailable.
func (e *Engine) Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	body, err := jsonv2.Marshal(map[string][]string{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	res, err := e.Elastic.Do(ctx, esapi.MgetRequest{Index: e.Names.Alias(string(d)), Body: bytes.NewReader(body)})
	if err != nil {
		return nil, elastic.FaultOf(err)
	}
	a := answer{Scanner: scan.New(res.Body)}
	docs, err := listOf(a, "docs", len(ids), a.doc)
	if err != nil {
		return nil, err
	}
	records := make(map[string]jsontext.Value, len(ids))
	for _, doc := range docs {
		switch {
		case len(doc.error) > 0:
			return nil, fault.BackendUnavailable(fmt.Errorf("one of several gets failed: %.500s", doc.error), "elasticsearch")
		case doc.found && doc.source.Kind() != '{':
			return nil, fault.BackendUnavailable(errors.New("a record without its source"), "elasticsearch")
		case doc.found:
			records[string(textOf(doc.id))] = doc.source
		}
	}
	return records, nil
}

// MaxMatches is the maximum number of records that Match returns for each value.
const MaxMatches = 100

// Match finds, for each value, the records whose field has it as a whole value, ignoring
// case and accents: at most MaxMatches, in the order of their ids. Values for a field of
// domains must be results of catalog.Domain, and are compared in that form. The records
// have only the id and the field, because a batch may match thousands. Errors: Unavailable.
func (e *Engine) Match(ctx context.Context, d catalog.Dataset, field string, values []string) ([][]jsontext.Value, error) {
	if len(values) == 0 {
		return nil, nil
	}
	f, known := catalog.FieldNamed(d, field)
	if !known {
		return nil, fmt.Errorf("search: %s has no field %s", d, field)
	}
	q := query.Query{Dataset: d, Where: query.All{query.Terms{Field: &f, Values: values}}}
	return inFoldings(ctx, e, false, []query.Query{q}, func(folded []query.Query) ([][]jsontext.Value, error) {
		return e.match(ctx, d, f, values, folded[0].Folding)
	})
}

// match is Match in an index of a Folding.
func (e *Engine) match(
	ctx context.Context,
	d catalog.Dataset,
	f catalog.Field,
	values []string,
	by catalog.Folding,
) ([][]jsontext.Value, error) {
	searches := make([]request, len(values))
	for i, v := range values {
		// An older index does not have DomainsPath, but some of its whole values have the
		// same form.
		terms := []object{{"term": object{Root.ExactPath(&f): catalog.ExactValue(f, by.Fold(v))}}}
		if f.Domains {
			terms = append(terms, object{"term": object{DomainsPath: v}})
		}
		body, err := json.Marshal(object{
			"query": object{"bool": object{"filter": object{"bool": object{"should": terms}}}},
			"size":  MaxMatches, "sort": []object{{"id": object{"order": "asc"}}}, "track_total_hits": false,
			"_source": []string{"id", f.Name},
		})
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		searches[i] = e.global(d, body)
	}
	results, err := e.multi(ctx, searches...)
	if err != nil {
		return nil, err
	}
	matches := make([][]jsontext.Value, len(results))
	for i, r := range results {
		for _, row := range r.rows {
			matches[i] = append(matches[i], row.source)
		}
	}
	return matches, nil
}

// SignalCounts counts the signals that name each account and were detected within span
// before at, and those within span before that. Accounts without such signals are missing.
// Errors: Unavailable.
func (e *Engine) SignalCounts(ctx context.Context, accounts []string, at time.Time, span time.Duration) (map[string][2]int64, error) {
	if len(accounts) == 0 {
		return nil, nil
	}
	link, _ := catalog.FieldNamed(catalog.Signals, "account_ids")
	path := Root.ExactPath(&link)
	within := func(from, to time.Time) object {
		return object{
			"range": object{"detected_at": object{"gt": from.UTC().Format(catalog.TimeLayout), "lte": to.UTC().Format(catalog.TimeLayout)}},
		}
	}
	middle, start := at.Add(-span), at.Add(-2*span)
	body, err := json.Marshal(object{
		"size": 0, "track_total_hits": false,
		"query": object{"bool": object{"filter": []object{{"terms": object{path: accounts}}, within(start, at)}}},
		"aggs": object{"accounts": object{
			"terms": object{"field": path, "include": accounts, "size": len(accounts)},
			"aggs":  object{"recent": object{"filter": within(middle, at)}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	res, err := e.search(ctx, e.global(catalog.Signals, body), "")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Accounts struct {
			Buckets []struct {
				Key    string `json:"key"`
				Count  int64  `json:"doc_count"`
				Recent struct {
					Count int64 `json:"doc_count"`
				} `json:"recent"`
			} `json:"buckets"`
		} `json:"accounts"`
	}
	if err := jsonv2.Unmarshal(res.aggregations, &answer); err != nil {
		return nil, fault.BackendUnavailable(fmt.Errorf("unreadable aggregations: %w", err), "elasticsearch")
	}
	counts := make(map[string][2]int64, len(answer.Accounts.Buckets))
	for _, b := range answer.Accounts.Buckets {
		counts[b.Key] = [2]int64{b.Recent.Count, b.Count - b.Recent.Count}
	}
	return counts, nil
}
