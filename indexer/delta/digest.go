package delta

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/document"
)

// skipUnchanged drops the documents that the index already has. The records of the
// items are equal; only the digests tell whether the fields that only searches use
// are equal too.
func (a *apply) skipUnchanged(ctx context.Context, index string, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	var there map[string]int64
	err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		there, err = a.digests(ctx, index, items)
		return err
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		own, ok := document.Digest(it.doc)
		if old, known := there[it.id.String()]; ok && known && old == own {
			it.doc = nil
		}
	}
	return nil
}

// digests returns those of the documents in the index, as of its last refresh.
func (a *apply) digests(ctx context.Context, index string, items []*item) (map[string]int64, error) {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.id.String()
	}
	body, err := json.Marshal(map[string]any{
		"query": map[string]any{"bool": map[string]any{"filter": map[string]any{"terms": map[string]any{"id": ids}}}},
		"size":  len(ids), "track_total_hits": false, "_source": false, "docvalue_fields": []string{document.DigestField},
	})
	if err != nil {
		return nil, err
	}
	res, err := a.Elastic.Do(ctx, elastic.Request{
		Method: http.MethodPost, Path: "/" + url.PathEscape(index) + "/_search", Body: body,
		Query: url.Values{"filter_path": {"hits.hits._id,hits.hits.fields"}, "allow_partial_search_results": {"false"}},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Hits struct {
			Hits []struct {
				ID     string             `json:"_id"`
				Fields map[string][]int64 `json:"fields"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	digests := map[string]int64{}
	for _, hit := range answer.Hits.Hits {
		if values := hit.Fields[document.DigestField]; len(values) == 1 {
			digests[hit.ID] = values[0]
		}
	}
	return digests, nil
}
