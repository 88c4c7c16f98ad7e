package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Get returns one record with the related records of includes under their keys,
// each kind in its dataset's default order. Errors: NotFound; Unavailable.
func (e *Engine) Get(ctx context.Context, d catalog.Dataset, id string, includes []query.Include) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	res, err := e.Elastic.Do(ctx, esapi.GetSourceRequest{Index: e.Names.Alias(string(d)), DocumentID: id})
	if err != nil {
		return nil, getFault(err, d, id)
	}
	record := jsontext.Value(bytes.TrimSpace(res.Body))
	if record.Kind() != '{' || !record.IsValid() {
		return nil, fault.BackendUnavailable(errors.New("unreadable answer"), "elasticsearch")
	}
	if len(includes) == 0 {
		return record, nil
	}
	records := map[string]jsontext.Value{id: record}
	if err := e.embedRelated(ctx, records, includes); err != nil {
		return nil, err
	}
	return records[id], nil
}

// GetBatch is Get of several ids, without those that do not exist. Errors:
// Unavailable.
func (e *Engine) GetBatch(
	ctx context.Context,
	d catalog.Dataset,
	ids []string,
	includes []query.Include,
) (map[string]jsontext.Value, error) {
	records, err := e.Lookup(ctx, d, ids)
	if err != nil || len(includes) == 0 {
		return records, err
	}
	return records, e.embedRelated(ctx, records, includes)
}

// relatedAtOnce is the maximum number of searches for related records of one round
// trip. Their answers are in memory together.
const relatedAtOnce = 60

// embedRelated adds the related records of includes to records, which are by id.
func (e *Engine) embedRelated(ctx context.Context, records map[string]jsontext.Value, includes []query.Include) error {
	ids := slices.Sorted(maps.Keys(records))
	for some := range slices.Chunk(ids, relatedAtOnce/len(includes)) {
		var searches []request
		for _, id := range some {
			of, err := e.relatedSearches(records[id], id, includes)
			if err != nil {
				return err
			}
			searches = append(searches, of...)
		}
		related, err := e.multi(ctx, searches...)
		if err != nil {
			return err
		}
		for i, id := range some {
			records[id] = embed(records[id], includes, related[i*len(includes):])
		}
	}
	return nil
}

func getFault(err error, d catalog.Dataset, id string) error {
	answer, ok := errors.AsType[*elastic.Error](err)
	switch {
	case !ok || answer.Status != http.StatusNotFound:
		return elastic.FaultOf(err)
	case answer.Type == "resource_not_found_exception":
		return fault.New(fault.NotFound, "no %s has the id %s", d.Singular(), id)
	default:
		// Nothing is loaded yet, or the answer did not come from Elasticsearch.
		return fault.BackendUnavailable(err, "elasticsearch")
	}
}

// relatedSearches find the records of each include.
func (e *Engine) relatedSearches(record jsontext.Value, id string, includes []query.Include) ([]request, error) {
	var fields map[string]jsontext.Value
	if err := jsonv2.Unmarshal(record, &fields); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the record could not be read")
	}
	searches := make([]request, len(includes))
	for i, inc := range includes {
		name, values := "id", stringsIn(fields[inc.Link])
		if inc.Inward {
			name, values = inc.Link, []string{id}
		}
		f, _ := catalog.FieldNamed(inc.Dataset, name)
		searches[i] = e.request(query.Query{
			Dataset: inc.Dataset, Sort: query.DefaultSort(inc.Dataset), Where: query.All{query.Terms{Field: &f, Values: values}},
			Limit: query.MaxIncluded - 1, // and one row more, as for a page
		}, options{})
	}
	return searches, nil
}

// stringsIn reads a field: null, a text or an array of texts.
func stringsIn(v jsontext.Value) []string {
	ids := []string{}
	var one string
	if jsonv2.Unmarshal(v, &ids) != nil && jsonv2.Unmarshal(v, &one) == nil {
		ids = []string{one}
	}
	return ids
}

// embed appends the related records to the record's object.
func embed(record jsontext.Value, includes []query.Include, related []result) jsontext.Value {
	b := append(jsontext.Value{}, record[:len(record)-1]...)
	for i, inc := range includes {
		b = fmt.Appendf(b, ",%q:", inc.Key)
		rows := related[i].rows
		if inc.One {
			if len(rows) == 0 {
				b = append(b, "null"...)
			} else {
				b = append(b, rows[0].source...)
			}
			continue
		}
		b = append(b, '[')
		for j, row := range rows {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, row.source...)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
