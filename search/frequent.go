package search

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

const (
	// mostFrequent is how many values of a dynamic enum are listed.
	mostFrequent = 100
	// frequentMaxAge is how long the values are cached.
	frequentMaxAge = time.Minute
)

// frequentValues caches the most frequent values of every dynamic enum.
type frequentValues struct {
	runs   sharedRuns[frequentOf]
	lock   sync.Mutex
	values frequentOf
	read   time.Time // when the reading began
}

type frequentOf map[catalog.Dataset]map[string]catalog.Vocabulary

// cached returns the cached values, nil when they are too old.
func (f *frequentValues) cached() frequentOf {
	f.lock.Lock()
	defer f.lock.Unlock()
	if time.Since(f.read) >= frequentMaxAge {
		return nil
	}
	return f.values
}

func (f *frequentValues) store(values frequentOf, began time.Time) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.values, f.read = values, began
}

// FrequentValues returns the most frequent values of the dynamic enums of all
// datasets, with how many records have each, at most a minute old. Errors:
// Unavailable.
func (e *Engine) FrequentValues(ctx context.Context) (catalog.FrequentValues, error) {
	values := e.frequent.cached()
	if values == nil {
		// All callers share one read and its error. With a read each, they would all wait
		// for an Elasticsearch that hangs.
		var err error
		values, err = e.frequent.runs.do(ctx, "", func(ctx context.Context) (frequentOf, error) {
			if values := e.frequent.cached(); values != nil {
				return values, nil
			}
			began := time.Now()
			values, err := e.readFrequent(ctx)
			if err == nil {
				e.frequent.store(values, began)
			}
			return values, err
		})
		if err != nil {
			return nil, err
		}
	}
	return func(d catalog.Dataset, field catalog.Field) catalog.Vocabulary { return values[d][field.Name] }, nil
}

// readFrequent takes at most about Engine.Timeout, as multi does.
func (e *Engine) readFrequent(ctx context.Context) (frequentOf, error) {
	searches := make([]request, len(catalog.Datasets))
	for i, d := range catalog.Datasets {
		aggs := object{}
		for _, f := range catalog.Fields(d) {
			if f.Dynamic() {
				// Values that differ only in case or accents are one value, listed in its
				// most frequent spelling.
				aggs[f.Name] = object{
					"terms": object{"field": Root.ExactPath(&f), "size": mostFrequent},
					"aggs":  object{"spelling": object{"terms": object{"field": f.Name, "size": 1}}},
				}
			}
		}
		body, err := json.Marshal(object{"size": 0, "aggs": aggs, "track_total_hits": false})
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		searches[i] = e.global(d, body)
	}
	results, err := e.multi(ctx, searches...)
	if err != nil {
		return nil, err
	}
	all := frequentOf{}
	for i, r := range results {
		var aggregations map[string]struct {
			Buckets []bucket `json:"buckets"`
		}
		if err := jsonv2.Unmarshal(r.aggregations, &aggregations); err != nil {
			return nil, fault.BackendUnavailable(fmt.Errorf("unreadable aggregations: %w", err), "elasticsearch")
		}
		all[catalog.Datasets[i]] = map[string]catalog.Vocabulary{}
		for name, a := range aggregations {
			terms := make(catalog.Vocabulary, len(a.Buckets))
			for j, b := range a.Buckets {
				terms[j] = b.term()
			}
			all[catalog.Datasets[i]][name] = terms
		}
	}
	return all, nil
}

type bucket struct {
	Key      string `json:"key"`
	DocCount int64  `json:"doc_count"`
	Spelling struct {
		Buckets []struct {
			Key string `json:"key"`
		} `json:"buckets"`
	} `json:"spelling"`
}

func (b bucket) term() catalog.Term {
	spelling := b.Key
	if len(b.Spelling.Buckets) > 0 {
		spelling = b.Spelling.Buckets[0].Key
	}
	unit := "records"
	if b.DocCount == 1 {
		unit = "record"
	}
	return catalog.Term{Value: spelling, Label: spelling, Description: fmt.Sprintf("%d %s", b.DocCount, unit)}
}
