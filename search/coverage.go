package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// CoverageValue describes the records with one value of a field.
type CoverageValue struct {
	// Value is the value that filters take; a dynamic enum's is folded. Label comes from
	// the vocabulary; a dynamic enum's is the most frequent spelling.
	Value   string `json:"value"`
	Label   string `json:"label"`
	Records int64  `json:"records"`
	// Newest is the latest time of catalog.NewestField, nil where no record has one.
	Newest *string `json:"newest"`
	// Known is the share of the records that have a value, 0 to 1, to four decimals, by
	// filter key.
	Known map[string]float64 `json:"known"`
	// Source is what a source says about its data; nil for values of other fields, and if
	// it says nothing.
	Source *catalog.SourceTerms `json:"source"`
}

// Bounds of the values that a shard returns. Counts are exact if it has no more.
const (
	valuesOfShard    = 100_000
	spellingsOfShard = 1_000
)

// Coverage returns the most frequent values of a field, ties in the order of the folded
// value. All counts are exact. The workspace is the caller's. Errors: InvalidInput when a
// field has too many values for exact counts; Unavailable.
func (e *Engine) Coverage(ctx context.Context, workspace string, c query.Coverage) ([]CoverageValue, error) {
	version, err := e.versionOf(ctx, e.Names.Alias(string(c.Dataset)))
	if err != nil {
		return nil, err
	}
	values, err := resultOf(ctx, e, operation[[]CoverageValue]{
		workspace: workspace, counts: true,
		key: keyOf(version, func(w io.Writer) { _, _ = fmt.Fprintf(w, "coverage %s %s %d", c.Dataset, c.By.Key, c.Limit) }),
		size: func(values []CoverageValue) int {
			return len(values) * len(catalog.FilterFields(c.Dataset, catalog.Data)) * countBytes
		},
		run: func(ctx context.Context) ([]CoverageValue, error) {
			return inFoldings(ctx, e, c.By.Dynamic(), []query.Query{{Dataset: c.Dataset}}, func(folded []query.Query) ([]CoverageValue, error) {
				return e.coverageOf(ctx, c, folded[0].Folding)
			})
		},
	})
	if err != nil || c.By.Name != "source" {
		return values, err
	}
	return e.withSourceTerms(ctx, c.Dataset, values)
}

// withSourceTerms adds what sources say about their data. It is not cached with the result,
// because a delta can change it without changing a record.
func (e *Engine) withSourceTerms(ctx context.Context, d catalog.Dataset, values []CoverageValue) ([]CoverageValue, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	all, err := e.Elastic.MappingMeta(ctx, e.Names.Alias(string(d)))
	if err != nil {
		return nil, searchFault(err)
	}
	values = slices.Clone(values)
	for _, meta := range all {
		if meta.Sources == nil {
			continue
		}
		var sources catalog.Sources
		if err := jsonv2.Unmarshal(meta.Sources, &sources); err != nil {
			return nil, fault.BackendUnavailable(fmt.Errorf("unreadable _meta.sources: %w", err), "elasticsearch")
		}
		for i, v := range values {
			values[i].Source = sources.Of(v.Label)
		}
	}
	return values, nil
}

// coverageOf is Coverage without the cache.
func (e *Engine) coverageOf(ctx context.Context, c query.Coverage, in catalog.Folding) ([]CoverageValue, error) {
	path := Root.ExactPath(&c.By)
	terms := object{"field": path, "size": c.Limit, "shard_size": valuesOfShard}
	top, err := e.coverage(ctx, c, terms, object{})
	if err != nil || len(top) == 0 {
		return []CoverageValue{}, err
	}
	// The remaining figures are computed only for the listed values, not for all values of
	// a shard.
	values := make([]string, len(top))
	for i, b := range top {
		values[i] = b.Key
	}
	known, newest := object{}, catalog.NewestField(c.Dataset)
	for _, f := range catalog.FilterFields(c.Dataset, catalog.Data) {
		known[f.Key] = object{"exists": object{"field": Root.ExactPath(&f)}}
	}
	aggs := object{
		"newest": object{"max": object{"field": Root.ExactPath(&newest)}},
		"known":  object{"filters": object{"filters": known}},
	}
	if c.By.Dynamic() {
		aggs["spelling"] = object{"terms": object{"field": c.By.Name, "size": 1, "shard_size": spellingsOfShard}}
	}
	buckets, err := e.coverage(ctx, c, object{"field": path, "size": c.Limit, "include": values}, aggs)
	if err != nil {
		return nil, err
	}
	list := make([]CoverageValue, len(buckets))
	for i, b := range buckets {
		list[i] = b.coverage(c.By, in)
	}
	// Elasticsearch orders a value of over 512 bytes by its digest. It also truncates the
	// list in that order, among values with equally many records.
	slices.SortStableFunc(list, func(a, b CoverageValue) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(a.Value, b.Value))
	})
	return list, nil
}

// coverageBucket is what Elasticsearch answers for one value.
type coverageBucket struct {
	Key     string `json:"key"`
	Records int64  `json:"doc_count"`
	Newest  struct {
		Value *float64 `json:"value"` // Unix milliseconds
	} `json:"newest"`
	Known struct {
		Buckets map[string]struct {
			Records int64 `json:"doc_count"`
		} `json:"buckets"`
	} `json:"known"`
	Spelling termBuckets[struct {
		Key string `json:"key"`
	}] `json:"spelling"`
}

// termBuckets is the answer of a terms aggregation.
type termBuckets[B any] struct {
	// Error is by how much a count may be too low; 0: all are exact.
	Error   int64 `json:"doc_count_error_upper_bound"`
	Buckets []B   `json:"buckets"`
}

// coverage runs a terms aggregation with sub-aggregations. All its counts are exact.
func (e *Engine) coverage(ctx context.Context, c query.Coverage, terms, aggs object) ([]coverageBucket, error) {
	values := object{"terms": terms}
	if len(aggs) > 0 {
		values["aggs"] = aggs
	}
	body, err := json.Marshal(object{"size": 0, "track_total_hits": false, "aggs": object{"values": values}})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	res, err := e.search(ctx, e.global(c.Dataset, body), "")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Values termBuckets[coverageBucket] `json:"values"`
	}
	if err := jsonv2.Unmarshal(res.aggregations, &answer); err != nil {
		return nil, fault.BackendUnavailable(fmt.Errorf("unreadable aggregations: %w", err), "elasticsearch")
	}
	inexact := answer.Values.Error > 0
	for _, b := range answer.Values.Buckets {
		inexact = inexact || b.Spelling.Error > 0
	}
	if inexact {
		return nil, fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{"by"}, Message: "has too many values to be counted exactly"})
	}
	return answer.Values.Buckets, nil
}

func (b coverageBucket) coverage(by catalog.Field, in catalog.Folding) CoverageValue {
	v := CoverageValue{
		Value: b.Key, Label: by.Vocabulary.Label(b.Key), Records: b.Records,
		Known: make(map[string]float64, len(b.Known.Buckets)),
	}
	if len(b.Spelling.Buckets) > 0 {
		v.Label = b.Spelling.Buckets[0].Key
		v.Value = in.Fold(v.Label) // the key of a long value is a digest
	}
	v.Newest = timeOf(b.Newest.Value)
	for key, known := range b.Known.Buckets {
		v.Known[key] = math.Round(float64(known.Records)/float64(b.Records)*1e4) / 1e4
	}
	return v
}

// timeOf renders Unix milliseconds as records show them.
func timeOf(millis *float64) *string {
	if millis == nil {
		return nil
	}
	return new(time.UnixMilli(int64(*millis)).UTC().Format(catalog.TimeLayout))
}
