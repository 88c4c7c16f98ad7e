package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bulkTimeout bounds one attempt of a `_bulk` request. After it the attempt
// counts as lost; writing a document twice by its id changes nothing.
const bulkTimeout = 2 * time.Minute

// Batch holds documents for one `_bulk` request. The zero Batch is empty.
type Batch struct {
	body  []byte
	items []batchItem
}

type batchItem struct{ start, doc, end int }

// Index adds a document, which replaces one of the same id. doc is one JSON
// object without a line break; it is copied.
func (b *Batch) Index(id string, doc []byte) {
	item := batchItem{start: len(b.body)}
	b.body = append(b.body, `{"index":{"_id":`...)
	// An invalid id is refused by Elasticsearch, not here.
	b.body, _ = jsontext.AppendQuote(b.body, id)
	b.body = append(b.body, "}}\n"...)
	item.doc = len(b.body)
	b.body = append(append(b.body, doc...), '\n')
	item.end = len(b.body)
	b.items = append(b.items, item)
}

// IndexAt is Index for a document that has a version of its own (its author's,
// not Elasticsearch's) and is routed: it replaces one of the same or a lower
// version only, and is refused with status 409 by one of a higher.
func (b *Batch) IndexAt(id, routing string, version int64, doc []byte) {
	item := batchItem{start: len(b.body)}
	b.external("index", id, routing, version)
	item.doc = len(b.body)
	b.body = append(append(b.body, doc...), '\n')
	item.end = len(b.body)
	b.items = append(b.items, item)
}

// DeleteAt deletes a document as IndexAt replaces one. One that is not there is
// fine.
func (b *Batch) DeleteAt(id, routing string, version int64) {
	item := batchItem{start: len(b.body)}
	b.external("delete", id, routing, version)
	item.end = len(b.body)
	item.doc = item.end - 1 // no document
	b.items = append(b.items, item)
}

func (b *Batch) external(action, id, routing string, version int64) {
	b.body = append(append(b.body, `{"`...), action...)
	b.body, _ = jsontext.AppendQuote(append(b.body, `":{"_id":`...), id)
	b.body, _ = jsontext.AppendQuote(append(b.body, `,"routing":`...), routing)
	b.body = strconv.AppendInt(append(b.body, `,"version":`...), version, 10)
	b.body = append(b.body, `,"version_type":"external_gte"}}`+"\n"...)
}

// Len returns how many documents the batch has.
func (b *Batch) Len() int { return len(b.items) }

// Size returns the length of the request in bytes.
func (b *Batch) Size() int { return len(b.body) }

// Doc returns the document at a position, good until Reset.
func (b *Batch) Doc(position int) []byte {
	item := b.items[position]
	return b.body[item.doc : item.end-1]
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.body, b.items = b.body[:0], b.items[:0] }

// all lists the positions.
func (b *Batch) all() []int {
	positions := make([]int, len(b.items))
	for i := range positions {
		positions[i] = i
	}
	return positions
}

// request is the body for some of the items.
func (b *Batch) request(positions []int) []byte {
	if len(positions) == len(b.items) {
		return b.body
	}
	var body []byte
	for _, p := range positions {
		body = append(body, b.body[b.items[p].start:b.items[p].end]...)
	}
	return body
}

// Refusal is a document that Elasticsearch will not take, however often.
type Refusal struct {
	Position int // in the batch
	Status   int
	Type     string // error.type
	Reason   string
}

// Bulk writes a batch to an alias, which must exist: a name that is gone is an
// error and never becomes a new index. Every item's outcome is looked at.
// What is busy or broken is sent again, alone, as retry says; the documents
// refused for good are returned, in no particular order, and all others are
// acknowledged when the error is nil. A request too large for Elasticsearch is
// sent in halves.
func (c *Client) Bulk(ctx context.Context, alias string, b *Batch, retry Retry) ([]Refusal, error) {
	return c.bulk(ctx, alias, b, b.all(), retry)
}

func (c *Client) bulk(ctx context.Context, alias string, b *Batch, pending []int, retry Retry) ([]Refusal, error) {
	var refused []Refusal
	pauses := retry.start()
	for len(pending) > 0 {
		items, err := c.bulkOnce(ctx, alias, b.request(pending))
		if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusRequestEntityTooLarge {
			more, err := c.bulkHalves(ctx, alias, b, pending, retry, e)
			return append(refused, more...), err
		}
		if err == nil && len(items) != len(pending) {
			return refused, fmt.Errorf("elasticsearch answered for %d items of a request with %d", len(items), len(pending))
		}
		if err != nil && !Passing(err) {
			return refused, err
		}
		if err == nil {
			var again []int
			for i, item := range items {
				switch item.verdict() {
				case acknowledged:
				case passing:
					again = append(again, pending[i])
					err = item.asError()
				case refusedForGood:
					refused = append(refused, Refusal{pending[i], item.Status, item.Error.Type, item.reason()})
				default:
					return refused, item.asError()
				}
			}
			if len(again) < len(pending) {
				pauses.progress()
			}
			pending = again
		}
		if len(pending) > 0 {
			if err := pauses.wait(ctx, err); err != nil {
				return refused, err
			}
		}
	}
	return refused, nil
}

func (c *Client) bulkHalves(ctx context.Context, alias string, b *Batch, pending []int, retry Retry, cause *Error) ([]Refusal, error) {
	if len(pending) == 1 {
		reason := fmt.Sprintf("the document has %d bytes, more than Elasticsearch takes in a request", len(b.Doc(pending[0])))
		return []Refusal{{pending[0], cause.Status, "content_too_long", reason}}, nil
	}
	middle := len(pending) / 2
	first, err := c.bulk(ctx, alias, b, pending[:middle], retry)
	if err != nil {
		return first, err
	}
	second, err := c.bulk(ctx, alias, b, pending[middle:], retry)
	return append(first, second...), err
}

// bulkOutcome is an item of the answer.
type bulkOutcome struct {
	deleted bool

	Status int `json:"status"`
	Error  struct {
		Type     string `json:"type"`
		Reason   string `json:"reason"`
		CausedBy struct {
			Reason string `json:"reason"`
		} `json:"caused_by"`
	} `json:"error"`
}

func (c *Client) bulkOnce(ctx context.Context, alias string, body []byte) ([]bulkOutcome, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	res, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: "/" + url.PathEscape(alias) + "/_bulk", NDJSON: true, Body: body,
		Query: url.Values{"require_alias": {"true"}, "filter_path": {"items.*.status,items.*.error"}},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []struct {
			Index  bulkOutcome `json:"index"`
			Delete bulkOutcome `json:"delete"`
		} `json:"items"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, fmt.Errorf("elasticsearch answered a _bulk request with something else: %w", err)
	}
	items := make([]bulkOutcome, len(answer.Items))
	for i, item := range answer.Items {
		items[i] = item.Index
		if item.Delete.Status != 0 {
			items[i] = item.Delete
			items[i].deleted = true
		}
	}
	return items, nil
}

type verdict uint8

const (
	acknowledged verdict = iota
	passing
	refusedForGood
	fatal // it is not about the document: the index is gone, writing is forbidden
)

func (o bulkOutcome) verdict() verdict {
	switch {
	case o.Status >= 200 && o.Status < 300, o.deleted && o.Status == http.StatusNotFound && o.Error.Type == "":
		return acknowledged
	case o.Status == http.StatusTooManyRequests || o.Status >= 500:
		return passing
	case o.Status == http.StatusBadRequest || o.Status == http.StatusRequestEntityTooLarge || o.Status == http.StatusConflict:
		return refusedForGood
	default:
		return fatal
	}
}

func (o bulkOutcome) asError() *Error {
	return &Error{Status: o.Status, Type: o.Error.Type, Reason: o.reason()}
}

func (o bulkOutcome) reason() string {
	if o.Error.CausedBy.Reason != "" {
		return o.Error.Reason + ": " + o.Error.CausedBy.Reason
	}
	return o.Error.Reason
}
