package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxBatch is how many items a batch takes; the fewest is 1. slices.Chunk cuts
// longer lists.
const MaxBatch = 100

// Batch is the outcome of a batch: an Item for each input, in the order of the
// inputs. Some may have failed while the call succeeded. Those that failed with
// ErrUnavailable can be sent again: an outage came between. The first of them may
// be done already, the others were not tried.
type Batch[T any] struct {
	Items             []Item[T]
	Succeeded, Failed int
}

// Item is the outcome of one input.
type Item[T any] struct {
	Index int
	// ID of the record or View, where it is known.
	ID string
	// Data is the answer of the single call; nothing for deletions and
	// memberships.
	Data T
	// Err is an *Error, nil when the item succeeded.
	Err error
}

// Err joins the errors of the items that failed; nil when none did.
func (b Batch[T]) Err() error {
	var errs []error
	for _, item := range b.Items {
		if item.Err != nil {
			errs = append(errs, fmt.Errorf("item %d: %w", item.Index, item.Err))
		}
	}
	return errors.Join(errs...)
}

// UnmarshalJSON reads a result of docs/api.md, "Batches", whatever the key of
// its id.
func (i *Item[T]) UnmarshalJSON(b []byte) error {
	var result struct {
		Index     int    `json:"index"`
		AccountID string `json:"account_id"`
		ContactID string `json:"contact_id"`
		ProjectID string `json:"project_id"`
		RecordID  string `json:"record_id"`
		ViewID    string `json:"view_id"`
		Data      T      `json:"data"`
		Error     *struct {
			Code    Code    `json:"code"`
			Message string  `json:"message"`
			Issues  []Issue `json:"issues"`
		} `json:"error"`
	}
	if err := json.Unmarshal(b, &result); err != nil {
		return err
	}
	*i = Item[T]{Index: result.Index, Data: result.Data}
	for _, id := range []string{result.AccountID, result.ContactID, result.ProjectID, result.RecordID, result.ViewID} {
		if id != "" {
			i.ID = id
		}
	}
	if e := result.Error; e != nil {
		i.Err = &Error{Code: e.Code, Message: e.Message, Issues: e.Issues}
	}
	return nil
}

// Nothing is the Data of items that have none.
type Nothing struct{}

type inputs[T any] struct {
	Inputs []T `json:"inputs"`
}

type ids struct {
	IDs []string `json:"ids"`
}

// batch sends a batch and reads its results.
func batch[T any](ctx context.Context, c *conn, r request) (Batch[T], error) {
	a, err := call[struct{ Results []Item[T] }](ctx, c, r)
	return Batch[T]{a.Data.Results, a.Metadata.Succeeded, a.Metadata.Failed}, err
}
