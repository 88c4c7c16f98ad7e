package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// MaxBatch is the maximum number of items of a batch; the minimum is 1.
// slices.Chunk splits longer lists.
const MaxBatch = 100

// Batch is the result of a batch: an Item for each input, in the order of the inputs. Items
// can fail although the call succeeds. Items with ErrUnavailable can be retried: a backend
// became unavailable. The first of them may have been applied; the others were not tried.
type Batch[T any] struct {
	Items             []Item[T]
	Succeeded, Failed int
	// Remaining is how many ids, the last ones, have no item because of Shown.MaxBytes.
	Remaining int
}

// Item is the result of one input.
type Item[T any] struct {
	Index int
	// ID of the record or View, where known.
	ID string
	// Data is the response of the single call. Deletions and memberships have
	// none.
	Data T
	// Err is an *Error, nil when the item succeeded.
	Err error
}

// Err joins the errors of the failed items; nil when there are none.
func (b Batch[T]) Err() error {
	var errs []error
	for _, item := range b.Items {
		if item.Err != nil {
			errs = append(errs, fmt.Errorf("item %d: %w", item.Index, item.Err))
		}
	}
	return errors.Join(errs...)
}

// UnmarshalJSON decodes a result of docs/api.md, "Batches", for any name of its
// id.
func (i *Item[T]) UnmarshalJSON(b []byte) error {
	var result struct {
		Index     int    `json:"index"`
		ResultID  string `json:"id"`
		AccountID string `json:"account_id"`
		ContactID string `json:"contact_id"`
		ProjectID string `json:"project_id"`
		RecordID  string `json:"record_id"`
		ViewID    string `json:"view_id"`
		Data      T      `json:"data"`
		Error     *struct {
			Code       Code         `json:"code"`
			Message    string       `json:"message"`
			DocURL     string       `json:"doc_url"`
			Issues     []Issue      `json:"issues"`
			MergedInto string       `json:"merged_into"`
			Current    *Annotations `json:"current"`
		} `json:"error"`
	}
	if err := json.Unmarshal(b, &result); err != nil {
		return err
	}
	*i = Item[T]{Index: result.Index, Data: result.Data}
	for _, id := range []string{result.ResultID, result.AccountID, result.ContactID, result.ProjectID, result.RecordID, result.ViewID} {
		if id != "" {
			i.ID = id
		}
	}
	if e := result.Error; e != nil {
		i.Err = &Error{Code: e.Code, Message: e.Message, DocURL: e.DocURL, Issues: e.Issues, MergedInto: e.MergedInto, Current: e.Current}
	}
	return nil
}

// Nothing is the Data of items without data.
type Nothing struct{}

// inputBatch sends the inputs of a batch to path.
func inputBatch[T, U any](ctx context.Context, c *conn, path string, inputs []U) (Batch[T], error) {
	body := map[string][]U{"inputs": inputs}
	return batch[T](ctx, c, request{method: http.MethodPost, path: path + "/batch", body: body})
}

// deleteBatch deletes elements of path by their ids.
func deleteBatch(ctx context.Context, c *conn, path string, ids []string) (Batch[Nothing], error) {
	body := map[string][]string{"ids": ids}
	return batch[Nothing](ctx, c, request{method: http.MethodPost, path: path + "/delete/batch", body: body})
}

// batch sends a request and reads the results of a batch.
func batch[T any](ctx context.Context, c *conn, r request) (Batch[T], error) {
	a, err := call[struct{ Results []Item[T] }](ctx, c, r)
	return Batch[T]{a.Data.Results, a.Metadata.Succeeded, a.Metadata.Failed, a.Metadata.Remaining}, err
}
