package elastic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bulkTimeout bounds one attempt of a `_bulk` request. After it the attempt counts as lost;
// writing a document twice by its id changes nothing.
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
	b.IndexFunc(id, func(body []byte) []byte { return append(body, doc...) })
}

// IndexFunc is Index for a document that appendDoc appends to the request: it is not
// copied.
func (b *Batch) IndexFunc(id string, appendDoc func([]byte) []byte) {
	b.add("index", id, nil, appendDoc)
}

// IndexAt is Index for a document with routing and an external version: it only replaces a
// document of the same or a lower version, and is refused with status 409 by a higher
// version.
func (b *Batch) IndexAt(id, routing string, version int64, doc []byte) {
	b.add("index", id, &versioned{routing, version}, func(body []byte) []byte { return append(body, doc...) })
}

// Delete deletes a document. A missing one is not an error.
func (b *Batch) Delete(id string) { b.add("delete", id, nil, nil) }

// DeleteAt deletes a document under the conditions of IndexAt. A missing one is not an
// error.
func (b *Batch) DeleteAt(id, routing string, version int64) {
	b.add("delete", id, &versioned{routing, version}, nil)
}

type versioned struct {
	routing string
	version int64
}

// add appends an action. at is nil without routing and version, appendDoc without a
// document.
func (b *Batch) add(action, id string, at *versioned, appendDoc func([]byte) []byte) {
	item := batchItem{start: len(b.body)}
	b.body = append(append(append(b.body, `{"`...), action...), `":{"_id":`...)
	// An invalid id is refused by Elasticsearch, not here.
	b.body, _ = jsontext.AppendQuote(b.body, id)
	if at != nil {
		b.body, _ = jsontext.AppendQuote(append(b.body, `,"routing":`...), at.routing)
		b.body = strconv.AppendInt(append(b.body, `,"version":`...), at.version, 10)
		b.body = append(b.body, `,"version_type":"external_gte"`...)
	}
	b.body = append(b.body, "}}\n"...)
	if item.doc = len(b.body); appendDoc != nil {
		b.body = append(appendDoc(b.body), '\n')
	} else {
		item.doc-- // an empty document
	}
	item.end = len(b.body)
	b.items = append(b.items, item)
}

// Len returns how many documents the batch has.
func (b *Batch) Len() int { return len(b.items) }

// Size returns the length of the request in bytes.
func (b *Batch) Size() int { return len(b.body) }

// Doc returns the document at a position, valid until Reset.
func (b *Batch) Doc(position int) []byte {
	item := b.items[position]
	return b.body[item.doc : item.end-1]
}

// Reset empties the batch and retains its memory.
func (b *Batch) Reset() { b.body, b.items = b.body[:0], b.items[:0] }

// all lists the positions.
func (b *Batch) all() []int {
	positions := make([]int, len(b.items))
	for i := range positions {
		positions[i] = i
	}
	return positions
}

// portion returns the first positions whose items reach size, or fit into limit, at least
// one, and their request. Size is exceeded by less than an item, like a batch that is
// filled up to it: otherwise the last item would be a request of its own.
func (b *Batch) portion(positions []int, size, limit int) ([]int, []byte) {
	n, length, inRow := 0, 0, true
	for i, p := range positions {
		item := b.items[p]
		if n > 0 && (length >= size || length+item.end-item.start > limit) {
			break
		}
		inRow = inRow && p == positions[0]+i
		length += item.end - item.start
		n++
	}
	if positions = positions[:n]; inRow {
		return positions, b.body[b.items[positions[0]].start:b.items[positions[n-1]].end]
	}
	body := make([]byte, 0, length)
	for _, p := range positions {
		body = append(body, b.body[b.items[p].start:b.items[p].end]...)
	}
	return positions, body
}

// Refusal is a document that Elasticsearch refuses permanently.
type Refusal struct {
	Position int // in the batch
	Status   int
	Type     string // error.type
	Reason   string
}

// Bulk writes a batch to an alias, which must exist: a missing alias is an error and never
// becomes a new index. The outcome of every item is checked. Items that failed with 429 or
// 5xx, or whose connection was lost, are retried according to retry. Documents that are
// refused permanently are returned, in no particular order; all others are acknowledged
// when the error is nil. Then they are on the disks of Elasticsearch, unless an index is
// configured otherwise (index.translog.durability).
//
// Bulk sends a batch in portions if it is larger than retry.Pace, too large for
// Elasticsearch, or if Elasticsearch is too busy for it.
func (c *Client) Bulk(ctx context.Context, alias string, b *Batch, retry Retry) ([]Refusal, error) {
	var refused []Refusal
	pauses := retry.start(c.jitter)
	limit := math.MaxInt // of this batch's requests
	for pending := b.all(); len(pending) > 0; {
		portion, body := b.portion(pending, retry.Pace.Size(), limit)
		began := time.Now()
		n, items, err := c.bulkOnce(ctx, alias, body)
		e, answered := errors.AsType[*Error](err)
		switch {
		case answered && e.Status == http.StatusRequestEntityTooLarge && len(portion) > 1:
			retry.Pace.tooLarge(len(body))
			limit = len(body) / 2
			continue
		case answered && e.Status == http.StatusRequestEntityTooLarge:
			reason := fmt.Sprintf("the document has %d bytes, more than Elasticsearch takes in a request", len(b.Doc(portion[0])))
			refused = append(refused, Refusal{portion[0], e.Status, "content_too_long", reason})
			pending = pending[1:]
			continue
		case err != nil && !Passing(err):
			return refused, err
		case err == nil && n != len(portion):
			return refused, fmt.Errorf("elasticsearch answered for %d items of a request with %d", n, len(portion))
		}
		retry.Pace.took(len(body), time.Since(began))
		retryable := portion
		if err == nil {
			var sorted sortedItems
			if sorted, err = sortItems(portion, items); err != nil {
				return append(refused, sorted.refused...), err
			}
			refused = append(refused, sorted.refused...)
			if retryable, err = sorted.retryable, sorted.why; len(retryable) < len(portion) {
				pauses.progress()
			}
		}
		if err != nil && isBusy(err) {
			retry.Pace.busy()
			limit = max(len(body)/2, leastBulk)
		} else if err == nil && limit < math.MaxInt/2 {
			limit *= 2
		}
		pending = append(retryable[:len(retryable):len(retryable)], pending[len(portion):]...)
		if err != nil {
			if err := pauses.wait(ctx, err); err != nil {
				return refused, err
			}
		}
	}
	return refused, nil
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Class() == Busy
}

// sortedItems are the items of an answer by their class.
type sortedItems struct {
	retryable []int // positions to retry
	why       error // of one of them
	refused   []Refusal
}

// sortItems classifies the items of an answer. An error concerns the whole batch.
func sortItems(positions []int, items []bulkOutcome) (sorted sortedItems, err error) {
	for i, item := range items {
		switch item.verdict() {
		case acknowledged:
		case transient:
			sorted.retryable = append(sorted.retryable, positions[i])
			if sorted.why == nil || item.Status == http.StatusTooManyRequests {
				sorted.why = item.asError()
			}
		case rejected:
			sorted.refused = append(sorted.refused, Refusal{positions[i], item.Status, item.Error.Type, item.reason()})
		default:
			return sorted, item.asError()
		}
	}
	return sorted, nil
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

// bulkOnce sends a request. It returns for how many items Elasticsearch answered, and
// their outcomes, which are nil if all are acknowledged.
func (c *Client) bulkOnce(ctx context.Context, alias string, body []byte) (int, []bulkOutcome, error) {
	res, err := c.Do(ctx, esapi.BulkRequest{
		Index:        alias,
		Body:         bytes.NewReader(body),
		RequireAlias: esapi.BoolPtr(true),
		FilterPath:   []string{"items.*.status", "items.*.error"},
	}, Within(bulkTimeout))
	if err != nil {
		return 0, nil, err
	}
	if n, ok := allIndexed(res.Body); ok {
		return n, nil, nil
	}
	var answer struct {
		Items []struct {
			Index  bulkOutcome `json:"index"`
			Delete bulkOutcome `json:"delete"`
		} `json:"items"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return 0, nil, fmt.Errorf("elasticsearch answered a _bulk request with something else: %w", err)
	}
	items := make([]bulkOutcome, len(answer.Items))
	for i, item := range answer.Items {
		items[i] = item.Index
		if item.Delete.Status != 0 {
			items[i] = item.Delete
			items[i].deleted = true
		}
	}
	return len(items), items, nil
}

// allIndexed returns the number of items of an answer in which every document was
// indexed; false for any other answer, and for one in another format. Decoding the usual
// answer took a microsecond and half a kilobyte for each document.
func allIndexed(answer []byte) (n int, ok bool) {
	const item = `{"index":{"status":20`
	rest, ok := bytes.CutPrefix(answer, []byte(`{"items":[`))
	for ; ok; n++ {
		if rest, ok = bytes.CutPrefix(rest, []byte(item)); !ok || len(rest) < 4 || rest[0] > '1' || rest[0] < '0' ||
			rest[1] != '}' || rest[2] != '}' {
			return 0, false
		}
		if rest[3] != ',' {
			return n + 1, string(rest[3:]) == "]}"
		}
		rest = rest[4:]
	}
	return 0, false
}

type verdict uint8

const (
	acknowledged verdict = iota
	transient
	rejected
	fatal // the cause is not the document: the index is gone, writing is forbidden
)

func (o bulkOutcome) verdict() verdict {
	switch {
	case o.Status >= 200 && o.Status < 300, o.deleted && o.Status == http.StatusNotFound && o.Error.Type == "":
		return acknowledged
	case o.Status == http.StatusTooManyRequests || o.Status >= 500:
		return transient
	case o.Status == http.StatusBadRequest || o.Status == http.StatusRequestEntityTooLarge || o.Status == http.StatusConflict:
		return rejected
	default:
		return fatal
	}
}

func (o bulkOutcome) asError() *Error {
	return &Error{Status: o.Status, Type: o.Error.Type, Reason: o.reason()}
}

func (o bulkOutcome) reason() string {
	if o.Error.CausedBy.Reason != "" {
		return withoutValues(o.Error.Reason + ": " + o.Error.CausedBy.Reason)
	}
	return withoutValues(o.Error.Reason)
}
