package elastic

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// Hit is one document that a search found, with sort values of type S.
type Hit[S any] struct {
	ID     string         `json:"_id"`
	Source jsontext.Value `json:"_source"`
	Sort   []S            `json:"sort"`
	// Fields are the doc values that the search asked for, each a list.
	Fields map[string]jsontext.Value `json:"fields"`
}

// Long returns the only doc value of a field of type long. It is parsed as text,
// because a float64 would round it.
func (h Hit[S]) Long(field string) (value int64, ok bool) {
	value, err := strconv.ParseInt(h.only(field), 10, 64)
	return value, err == nil
}

// Keyword returns the only doc value of a field of type keyword that needs no escapes,
// "" if there is none.
func (h Hit[S]) Keyword(field string) string { return strings.Trim(h.only(field), `"`) }

// only is the text of the only element of a field's list.
func (h Hit[S]) only(field string) string {
	list := h.Fields[field]
	if len(list) <= 2 {
		return ""
	}
	return string(list[1 : len(list)-1])
}

// Hits returns the hits of a search of an index or alias, as of its last refresh.
// A shard that fails is an error.
func Hits[S any](ctx context.Context, c *Client, index string, search any) ([]Hit[S], error) {
	body, err := json.Marshal(search, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	res, err := c.Do(
		ctx,
		esapi.SearchRequest{Index: []string{index}, Body: bytes.NewReader(body), AllowPartialSearchResults: esapi.BoolPtr(false)},
	)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Hits struct {
			Hits []Hit[S] `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	return answer.Hits.Hits, nil
}
