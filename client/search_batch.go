package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// MaxSearches is the maximum number of searches of a batch.
const MaxSearches = 50

// BatchSearch is a search of a batch: of a Dataset, or of a View.
type BatchSearch struct {
	// Dataset is accounts, contacts, projects or signals; in SearchWorkspaceBatch it is the
	// book's.
	Dataset string `json:"dataset,omitzero"`
	// ViewID is for SearchWorkspaceBatch, without Dataset.
	ViewID string `json:"view_id,omitzero"`
	// Search is the request. Its Limit is 20 by default.
	Search
}

// SearchBatch runs 1 to MaxSearches searches of the global datasets in one call, for the
// price of the single ones. Their limits together are at most 1,000. RecordsOf decodes a
// page. Searches after the one that reaches the ceiling fail with ErrRateLimited; those
// that fail with ErrUnavailable can be retried.
func (c *Client) SearchBatch(ctx context.Context, searches []BatchSearch) (Batch[*Page[json.RawMessage]], error) {
	return searchBatch(ctx, c.conn, "/data/search/batch", searches)
}

// SearchWorkspaceBatch is SearchBatch for the book and for Views.
func (c *Client) SearchWorkspaceBatch(ctx context.Context, searches []BatchSearch) (Batch[*Page[json.RawMessage]], error) {
	return searchBatch(ctx, c.conn, "/workspace/search/batch", searches)
}

func searchBatch(ctx context.Context, c *conn, path string, searches []BatchSearch) (b Batch[*Page[json.RawMessage]], err error) {
	body := map[string][]BatchSearch{"searches": searches}
	a, err := call[struct{ Results []json.RawMessage }](ctx, c, request{method: http.MethodPost, path: path, body: body})
	if err != nil {
		return b, err
	}
	b.Succeeded, b.Failed = a.Metadata.Succeeded, a.Metadata.Failed
	for _, raw := range a.Data.Results {
		var r Item[json.RawMessage]
		if err := json.Unmarshal(raw, &r); err != nil {
			return b, err
		}
		item := Item[*Page[json.RawMessage]]{Index: r.Index, Err: r.Err}
		if r.Err == nil {
			var of struct{ Metadata metadata }
			records, err := recordsIn(r.Data)
			if err == nil {
				err = json.Unmarshal(raw, &of)
			}
			if err != nil {
				return b, err
			}
			item.Data = pageOf(records, of.Metadata, a.header)
		}
		b.Items = append(b.Items, item)
	}
	return b, nil
}

// recordsIn are the records of the data of a search, which may name its dataset.
func recordsIn(data json.RawMessage) (records []json.RawMessage, err error) {
	if len(data) > 0 && data[0] == '{' {
		var nested struct{ Records []json.RawMessage }
		err = json.Unmarshal(data, &nested)
		return nested.Records, err
	}
	return records, json.Unmarshal(data, &records)
}

// RecordsOf decodes the records of a page of a batch: Account, BookAccount, ViewAccount, ….
func RecordsOf[R any](p *Page[json.RawMessage]) ([]R, error) {
	records := make([]R, len(p.Records))
	for i, raw := range p.Records {
		if err := json.Unmarshal(raw, &records[i]); err != nil {
			return nil, err
		}
	}
	return records, nil
}
