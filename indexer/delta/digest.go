package delta

import (
	"context"

	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/search/document"
)

// skipUnchanged drops the documents that the index already has. The records of these items are
// unchanged; the digests show whether the fields that only searches use are, too.
func (a *apply) skipUnchanged(ctx context.Context, index string, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	digests, err := a.values(ctx, index, document.DigestField, items)
	if err != nil {
		return err
	}
	for _, it := range items {
		own, ok := document.Digest(it.doc)
		if old, known := digests[it.id]; ok && known && old == own {
			it.doc = nil
		}
	}
	return nil
}

// findLate finds the new signals that an interrupted attempt wrote. If the feed was settled
// since, readers of later arrivals may have missed them, so they arrive now.
func (a *apply) findLate(ctx context.Context, index string, items []*item) error {
	var begun []*item
	for _, it := range items {
		if it.old != nil && !it.id.after(a.begun) {
			begun = append(begun, it)
		}
	}
	arrivals, err := a.values(ctx, index, document.ArrivedField, begun)
	for _, it := range begun {
		at, known := arrivals[it.id]
		it.late = known && at >= a.state.Arrival
	}
	return err
}

// addArrivals adds arrivals to the documents of signals; new signals arrive now.
func (a *apply) addArrivals(ctx context.Context, index string, items []*item) error {
	var present []*item
	for _, it := range items {
		if it.doc != nil && it.old != nil {
			present = append(present, it)
		}
	}
	arrivals, err := a.values(ctx, index, document.ArrivedField, present)
	if err != nil {
		return err
	}
	for _, it := range items {
		switch {
		case it.doc == nil:
		case it.old == nil, it.late:
			it.doc = document.WithArrival(it.doc, a.arrival)
		default:
			it.doc = document.WithArrival(it.doc, arrivals[it.id])
		}
	}
	return nil
}

// values returns a field of type long of the records that have it.
func (a *apply) values(ctx context.Context, index, field string, items []*item) (map[recordID]int64, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.id.String()
	}
	values := make(map[recordID]int64, len(ids))
	err := a.Retry.Do(ctx, func(ctx context.Context) error {
		hits, err := elastic.Hits[any](ctx, a.Elastic, index, map[string]any{
			"query": map[string]any{"bool": map[string]any{"filter": map[string]any{"terms": map[string]any{"id": ids}}}},
			"size":  len(ids), "track_total_hits": false, "_source": false, "docvalue_fields": []string{field},
		})
		for _, hit := range hits {
			id, invalid := uuid.Parse(hit.ID)
			if value, ok := hit.Long(field); ok && invalid == nil {
				values[recordID(id)] = value
			}
		}
		return err
	})
	return values, err
}
