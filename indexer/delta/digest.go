package delta

import (
	"context"

	"atlas/internal/elastic"
	"atlas/search/document"
)

// skipUnchanged drops the documents that the index already has. The records of the
// items are equal; only the digests show whether the fields that only searches use
// are also equal.
func (a *apply) skipUnchanged(ctx context.Context, index string, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.id.String()
	}
	digests := make(map[string]int64, len(ids))
	err := a.Retry.Do(ctx, func(ctx context.Context) error {
		hits, err := elastic.Hits[any](ctx, a.Elastic, index, map[string]any{
			"query": map[string]any{"bool": map[string]any{"filter": map[string]any{"terms": map[string]any{"id": ids}}}},
			"size":  len(ids), "track_total_hits": false, "_source": false, "docvalue_fields": []string{document.DigestField},
		})
		for _, hit := range hits {
			if digest, ok := hit.Long(document.DigestField); ok {
				digests[hit.ID] = digest
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		own, ok := document.Digest(it.doc)
		if old, known := digests[it.id.String()]; ok && known && old == own {
			it.doc = nil
		}
	}
	return nil
}
