package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	jsonv2 "github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Release is the state of the global records that searches use.
type Release struct {
	// Generation is the served generation. LoadedAt is when its load created it.
	Generation string                             `json:"generation"`
	LoadedAt   string                             `json:"loaded_at"`
	Datasets   map[catalog.Dataset]DatasetRelease `json:"datasets"`
}

// DatasetRelease is the state of a dataset.
type DatasetRelease struct {
	Records int64 `json:"records"`
	// Newest is the latest time of catalog.NewestField, nil without records.
	Newest *string `json:"newest"`
	// Version rises with every write to a generation, and from one generation to a later
	// one. After a rollback it is lower.
	Version int64 `json:"version"`
}

// servedIndex is the index that an alias points to.
type servedIndex struct {
	name    string
	created int64 // Unix milliseconds
	shards  int
}

// Release returns the state of the served indices. Errors: Unavailable, also when the
// account of Elasticsearch lacks the privilege `monitor`.
func (e *Engine) Release(ctx context.Context) (Release, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	served, err := e.servedIndices(ctx)
	if err != nil {
		return Release{}, err
	}
	// Operations are counted first. So a write in between raises the version of the next
	// call, and this version does not promise records that it lacks.
	writes, err := e.writes(ctx, served)
	if err != nil {
		return Release{}, err
	}
	searches := make([]request, len(catalog.Datasets))
	for i, d := range catalog.Datasets {
		newest := catalog.NewestField(d)
		body, err := json.Marshal(object{"size": 0, "track_total_hits": true, "aggs": object{
			"newest": object{"max": object{"field": Root.ExactPath(&newest)}},
		}})
		if err != nil {
			return Release{}, fmt.Errorf("search: %w", err)
		}
		searches[i] = request{index: served[d].name, body: body}
	}
	results, err := e.multi(ctx, searches...)
	if err != nil {
		return Release{}, err
	}
	r := Release{Datasets: map[catalog.Dataset]DatasetRelease{}}
	var loaded int64
	for i, d := range catalog.Datasets {
		var found struct {
			Newest struct {
				Value *float64 `json:"value"`
			} `json:"newest"`
		}
		if err := jsonv2.Unmarshal(results[i].aggregations, &found); err != nil || results[i].total == nil {
			return Release{}, fault.BackendUnavailable(errors.Join(errors.New("unreadable aggregations"), err), "elasticsearch")
		}
		index := served[d]
		// The time between the loads of two generations, in microseconds, exceeds the
		// number of writes of the first. JSON numbers are exact up to 2^53, which these
		// reach in 2255.
		r.Datasets[d] = DatasetRelease{
			Records: int64(*results[i].total), Newest: timeOf(found.Newest.Value),
			Version: 1000*index.created + writes[d],
		}
		if index.created > loaded {
			loaded, r.Generation = index.created, e.Names.GenerationOf(string(d), index.name)
		}
	}
	r.LoadedAt = time.UnixMilli(loaded).UTC().Format(catalog.TimeLayout)
	return r, nil
}

// servedIndices finds the indices behind the aliases of all datasets.
func (e *Engine) servedIndices(ctx context.Context) (map[catalog.Dataset]servedIndex, error) {
	var aliases []string
	for _, d := range catalog.Datasets {
		aliases = append(aliases, e.Names.Alias(string(d)))
	}
	res, err := e.Elastic.Do(ctx, esapi.IndicesGetRequest{
		Index: aliases, FilterPath: []string{"*.aliases", "*.settings.index.creation_date", "*.settings.index.number_of_shards"},
	})
	if err != nil {
		return nil, searchFault(err)
	}
	var answer map[string]struct {
		Aliases  map[string]struct{} `json:"aliases"`
		Settings struct {
			Index struct {
				Created string `json:"creation_date"`
				Shards  string `json:"number_of_shards"`
			} `json:"index"`
		} `json:"settings"`
	}
	if err := jsonv2.Unmarshal(res.Body, &answer); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	served := map[catalog.Dataset]servedIndex{}
	for name, index := range answer {
		created, err := strconv.ParseInt(index.Settings.Index.Created, 10, 64)
		shards, unread := strconv.Atoi(index.Settings.Index.Shards)
		if err = errors.Join(err, unread); err != nil {
			return nil, fault.BackendUnavailable(err, "elasticsearch")
		}
		for _, d := range catalog.Datasets {
			if _, is := index.Aliases[e.Names.Alias(string(d))]; is {
				served[d] = servedIndex{name, created, shards}
			}
		}
	}
	if len(served) < len(catalog.Datasets) {
		return nil, fault.BackendUnavailable(query.ErrIndexGone, "elasticsearch")
	}
	return served, nil
}

// writes counts the writes of each index since it was created, including deletions.
func (e *Engine) writes(ctx context.Context, served map[catalog.Dataset]servedIndex) (map[catalog.Dataset]int64, error) {
	var names []string
	for _, d := range catalog.Datasets {
		names = append(names, served[d].name)
	}
	res, err := e.Elastic.Do(ctx, esapi.IndicesStatsRequest{
		Index: names, Metric: []string{"docs"}, Level: "shards",
		FilterPath: []string{"indices.*.shards.*.routing.primary", "indices.*.shards.*.seq_no.max_seq_no"},
	})
	if err != nil {
		return nil, searchFault(err)
	}
	var answer struct {
		Indices map[string]struct {
			Shards map[string][]struct {
				Routing struct {
					Primary bool `json:"primary"`
				} `json:"routing"`
				Sequence *struct {
					Last int64 `json:"max_seq_no"` // -1 without writes
				} `json:"seq_no"`
			} `json:"shards"`
		} `json:"indices"`
	}
	if err := jsonv2.Unmarshal(res.Body, &answer); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	all := map[catalog.Dataset]int64{}
	for d, index := range served {
		primaries := 0
		for _, copies := range answer.Indices[index.name].Shards {
			for _, shard := range copies {
				if shard.Routing.Primary && shard.Sequence != nil {
					primaries++
					all[d] += shard.Sequence.Last + 1
				}
			}
		}
		if primaries < index.shards {
			return nil, fault.BackendUnavailable(fmt.Errorf("%d of %d shards of %s", primaries, index.shards, index.name), "elasticsearch")
		}
	}
	return all, nil
}
