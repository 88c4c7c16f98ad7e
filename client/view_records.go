package client

import (
	"context"
	"encoding/json"
	"net/http"
)

type recordInput struct {
	RecordID string `json:"record_id"`
}

// AddRecord adds a record to a Static View. It succeeds when the View already has it.
func (v *Views) AddRecord(ctx context.Context, view, record string) error {
	b, err := batch[Nothing](ctx, v.conn, request{method: http.MethodPost, path: viewRecords(view) + "/add", body: recordInput{record}})
	return oneItem(b, err)
}

// AddRecords is AddRecord for 1 to 100 records.
func (v *Views) AddRecords(ctx context.Context, view string, records []string) (Batch[Nothing], error) {
	all := make([]recordInput, len(records))
	for i, id := range records {
		all[i] = recordInput{id}
	}
	return inputBatch[Nothing](ctx, v.conn, viewRecords(view)+"/add", all)
}

// RemoveRecord removes a record from a Static View. It succeeds when the View
// does not have it.
func (v *Views) RemoveRecord(ctx context.Context, view, record string) error {
	b, err := batch[Nothing](ctx, v.conn, request{method: http.MethodDelete, path: viewRecords(view) + segment(record)})
	return oneItem(b, err)
}

// RemoveRecords is RemoveRecord for 1 to 100 records.
func (v *Views) RemoveRecords(ctx context.Context, view string, records []string) (Batch[Nothing], error) {
	return deleteBatch(ctx, v.conn, viewRecords(view), records)
}

// oneItem returns the error of a batch with one item.
func oneItem(b Batch[Nothing], err error) error {
	if err != nil || len(b.Items) == 0 {
		return err
	}
	return b.Items[0].Err
}

func viewRecords(view string) string { return viewsPath + segment(view) + "/records" }

func viewSource[R any](v *Views, view string) *Source[R] {
	return &Source[R]{conn: v.conn, path: viewRecords(view), nested: true}
}

// Records searches a View of any dataset, with records as received. A Search
// narrows the View for that call.
func (v *Views) Records(view string) *Source[json.RawMessage] {
	return viewSource[json.RawMessage](v, view)
}

// Accounts searches a View of accounts.
func (v *Views) Accounts(view string) *Source[ViewAccount] { return viewSource[ViewAccount](v, view) }

// Contacts searches a View of contacts.
func (v *Views) Contacts(view string) *Source[ViewContact] { return viewSource[ViewContact](v, view) }

// Projects searches a View of projects.
func (v *Views) Projects(view string) *Source[ViewProject] { return viewSource[ViewProject](v, view) }
