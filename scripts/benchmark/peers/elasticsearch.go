package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/ndjson"
	"atlas/scripts/benchmark/load"
	"atlas/search/catalog"
)

// Elasticsearch is an index for each dataset, as a developer writes it who starts
// from dynamic mappings: every text is analyzed and has a keyword, there is no index
// sort and no nested object. Pages are by `from`. Accents are not folded: that takes
// the module analysis-common, which not every installation of Elasticsearch has.
type Elasticsearch struct {
	URL    *url.URL
	Client load.Client
	// Prefix begins the names of the indices.
	Prefix string
}

// resultWindow is Elasticsearch's default limit of `from` and `size`.
const resultWindow = 10_000

// mostTerms is Elasticsearch's default limit of values in a `terms` query.
const mostTerms = 65_536

type object = map[string]any

// definition of an index. Numbers with decimals have a type, because Elasticsearch
// takes that of the first value, which may be whole. The cache of results without
// records would answer repeated counts.
func definition(d catalog.Dataset) object {
	types := object{}
	for _, f := range catalog.Fields(d) {
		if f.Type == catalog.Double {
			types[f.Name] = object{"type": "double"}
		}
	}
	return object{
		"settings": object{
			"number_of_shards": 1, "number_of_replicas": 0, "index.requests.cache.enable": false,
		},
		"mappings": object{"properties": types},
	}
}

// bulkBytes is the size of a `_bulk` request, bulkRequests how many are under way.
const (
	bulkBytes    = 4 << 20
	bulkRequests = 2
)

// Drop deletes the indices, if there are any.
func (e *Elasticsearch) Drop(ctx context.Context) error {
	for _, d := range catalog.Datasets {
		if err := e.ask(ctx, http.MethodDelete, "/"+e.Prefix+string(d)+"?ignore_unavailable=true", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Load replaces the indices by ones with the records of the folder, which can be
// searched when it returns.
func (e *Elasticsearch) Load(ctx context.Context, dir string) error {
	if err := e.Drop(ctx); err != nil {
		return err
	}
	for _, d := range catalog.Datasets {
		if err := e.ask(ctx, http.MethodPut, "/"+e.Prefix+string(d), encode(definition(d)), nil); err != nil {
			return err
		}
		if err := e.fill(ctx, dir, d); err != nil {
			return err
		}
	}
	return e.ask(ctx, http.MethodPost, "/"+e.Prefix+"*/_refresh", nil, nil)
}

func (e *Elasticsearch) fill(ctx context.Context, dir string, d catalog.Dataset) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bulkRequests)
	var body []byte
	send := func() {
		full := body
		body = nil
		group.Go(func() error {
			var answer struct{ Errors bool }
			err := e.ask(ctx, http.MethodPost, "/"+e.Prefix+string(d)+"/_bulk?filter_path=errors", full, &answer)
			if err == nil && answer.Errors {
				err = fmt.Errorf("elasticsearch refused documents of %s", d)
			}
			return err
		})
	}
	err := ndjson.EachLine(dir, string(d), func(_ int64, line []byte) error {
		id, err := idOf(line)
		if err != nil {
			return err
		}
		body = append(append(append(body, `{"index":{"_id":"`...), id...), "\"}}\n"...)
		if body = append(append(body, line...), '\n'); len(body) >= bulkBytes {
			send()
		}
		return ctx.Err()
	})
	if len(body) > 0 && err == nil {
		send()
	}
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// idOf returns the id of a record, its first member.
func idOf(line []byte) (string, error) {
	var record struct{ ID string }
	err := json.Unmarshal(line, &record)
	return record.ID, err
}

// Bytes is the size of indices, given as Elasticsearch's paths name them.
func (e *Elasticsearch) Bytes(ctx context.Context, indices string) (int64, error) {
	if err := e.ask(ctx, http.MethodPost, "/"+indices+"/_flush", nil, nil); err != nil {
		return 0, err
	}
	var stats struct {
		All struct {
			Primaries struct {
				Store struct {
					Size int64 `json:"size_in_bytes"`
				}
			}
		} `json:"_all"`
	}
	err := e.ask(ctx, http.MethodGet, "/"+indices+"/_stats/store", nil, &stats)
	return stats.All.Primaries.Store.Size, err
}

func (e *Elasticsearch) request(method, path string, body []byte) *load.Request {
	target := *e.URL
	target.Path, target.RawQuery, _ = strings.Cut(path, "?")
	return &load.Request{Method: method, URL: &target, Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
}

func (e *Elasticsearch) ask(ctx context.Context, method, path string, body []byte, into any) error {
	raw, err := e.Client.Do(ctx, e.request(method, path, body), nil)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	return err
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of maps, lists, texts and numbers
	}
	return raw
}

// Call returns the request of a question; for Related two requests, because the
// account ids of the projects come first.
func (e *Elasticsearch) Call(ctx context.Context, q Question) (Call, error) {
	switch q.Task {
	case Text:
		return e.search(catalog.Projects, object{"query": object{"multi_match": object{
			"query": q.Words, "type": "cross_fields", "operator": "and", "fields": []string{"name^2", "description", "address"},
		}}, "size": PageSize}), nil
	case Filter:
		return e.search(catalog.Projects, object{"query": projectsLike(q), "sort": sortBy("cost", "desc"), "size": PageSize}), nil
	case Related:
		return e.related(q), nil
	case Offset:
		c := e.search(catalog.Signals, object{"sort": sortBy("occurred_at", "desc"), "from": q.Row, "size": PageSize})
		if q.Row+PageSize > resultWindow {
			if _, err := c.Send(ctx, nil); err == nil {
				return Call{}, fmt.Errorf("elasticsearch answers row %d, beyond its result window", q.Row)
			}
			return Call{}, ErrCannot
		}
		return c, nil
	case Facets:
		aggs := object{}
		for _, name := range FacetFields {
			aggs[name] = object{"terms": object{"field": name + ".keyword", "size": mostValues}}
		}
		return e.search(catalog.Projects, object{"query": projectsLike(q), "aggs": aggs, "size": 0}), nil
	default:
		return Call{}, ErrCannot
	}
}

// mostValues bounds the values of a facet; no field has more.
const mostValues = 100

func sortBy(field, direction string) []object {
	return []object{{field: direction}, {"id.keyword": "asc"}}
}

// projectsLike is the condition of a question on projects.
func projectsLike(q Question) object {
	filter := []object{{"range": object{"cost": object{"gte": q.MinCost}}}}
	if q.Stage != "" {
		filter = append(filter, object{"term": object{"stage.keyword": q.Stage}}, object{"term": object{"primary_use.keyword": q.PrimaryUse}})
	}
	return object{"bool": object{"filter": filter}}
}

func (e *Elasticsearch) search(d catalog.Dataset, body object) Call {
	r := e.request(http.MethodPost, "/"+e.Prefix+string(d)+"/_search", encode(body))
	return Call{
		Send: func(ctx context.Context, buf []byte) ([]byte, error) { return e.Client.Do(ctx, r, buf) },
		Read: readElasticsearch,
	}
}

func (e *Elasticsearch) related(q Question) Call {
	ids := e.request(http.MethodPost, "/"+e.Prefix+string(catalog.Projects)+"/_search", encode(object{
		"query": projectsLike(q), "size": 0,
		"aggs": object{"accounts": object{"terms": object{"field": "account_ids.keyword", "size": mostTerms}}},
	}))
	return Call{Read: readElasticsearch, Send: func(ctx context.Context, buf []byte) ([]byte, error) {
		buf, err := e.Client.Do(ctx, ids, buf)
		if err != nil {
			return buf, err
		}
		var found struct {
			Aggregations map[string]struct{ Buckets []struct{ Key string } }
		}
		if err := json.Unmarshal(buf, &found); err != nil {
			return buf, err
		}
		accounts := []string{}
		for _, b := range found.Aggregations["accounts"].Buckets {
			accounts = append(accounts, b.Key)
		}
		return e.Client.Do(ctx, e.request(http.MethodPost, "/"+e.Prefix+string(catalog.Accounts)+"/_search", encode(object{
			"query": object{"bool": object{"filter": []object{{"terms": object{"id.keyword": accounts}}}}},
			"sort":  sortBy("name.keyword", "asc"), "size": PageSize,
		})), buf)
	}}
}

func readElasticsearch(raw []byte) (a Answer, err error) {
	var answer struct {
		Hits struct {
			Total struct{ Value int }
			Hits  []struct {
				ID string `json:"_id"`
			}
		}
		Aggregations map[string]struct {
			Buckets []struct {
				Key   string
				Count int `json:"doc_count"`
			}
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return a, err
	}
	a.Total = min(TotalCap, answer.Hits.Total.Value)
	for _, h := range answer.Hits.Hits {
		a.IDs = append(a.IDs, h.ID)
	}
	if len(answer.Aggregations) > 0 {
		a.Facets = map[string]map[string]int{}
	}
	for field, f := range answer.Aggregations {
		a.Facets[field] = map[string]int{}
		for _, b := range f.Buckets {
			a.Facets[field][b.Key] = b.Count
		}
	}
	return a, nil
}
