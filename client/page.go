package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MaxPage is the maximum number of records of a page.
const MaxPage = 100

// Page is one page of a search.
type Page[R any] struct {
	Records []R
	// Total is the number of matches up to 1,000. TotalIsCapped means that there
	// are more.
	Total         int
	TotalIsCapped bool
	Limit, Offset int
	// Next is the cursor of the next page, for Search.SearchAfter; "" on the last.
	Next string
	// DidYouMean is a Query that finds records, if this one finds none and such a query is
	// known.
	DidYouMean string
	// Missing are the words of Query that occur, in any form, in no record which meets the
	// other conditions, if nothing is found.
	Missing []string
	// Highlights are the matches in each record, if Search.Highlight requested them.
	Highlights []Highlight
	// Hints are sentences on what the search may have meant instead.
	Hints []string
	// LeftOut are the ids of records, the last ones of the page, that are not in Records:
	// the answer repeats an earlier one, and records have since become too long for
	// Search.MaxBytes. Pages and All fetch them.
	LeftOut []string
	// Credits is the cost of the page, Window the state of the credits.
	Credits int
	Window  Window
	// RequestID identifies the request in the logs of the service.
	RequestID string
}

// Source can be searched page by page. Each record of a page costs a credit.
type Source[R any] struct {
	conn *conn
	path string
	// nested means that data is an object with the records and the name of the dataset.
	nested bool
}

// Search returns one page.
func (s *Source[R]) Search(ctx context.Context, q Search) (*Page[R], error) {
	r := request{method: http.MethodPost, path: s.path + "/search", body: q}
	if s.nested {
		a, err := call[struct{ Records []R }](ctx, s.conn, r)
		return pageOf(a.Data.Records, a.Metadata, a.header), err
	}
	a, err := call[[]R](ctx, s.conn, r)
	return pageOf(a.Data, a.Metadata, a.header), err
}

// Cost counts the matches of a search exactly, and returns the price of its page. It costs
// nothing. Errors: ErrTooManyRequests.
func (s *Source[R]) Cost(ctx context.Context, q Search) (Cost, error) {
	return data[Cost](ctx, s.conn, request{method: http.MethodPost, path: s.path + "/search", body: dryRun{q, true, false}})
}

// Explain says how the Query of a search is read, nil if it has none. It costs nothing.
// Errors: ErrTooManyRequests.
func (s *Source[R]) Explain(ctx context.Context, q Search) (*Explanation, error) {
	a, err := data[struct{ Explanation *Explanation }](ctx, s.conn, request{
		method: http.MethodPost, path: s.path + "/search", body: dryRun{q, true, true},
	})
	return a.Explanation, err
}

func pageOf[R any](records []R, m metadata, header http.Header) *Page[R] {
	if header == nil {
		return nil // it failed
	}
	return &Page[R]{
		Records: records, Total: m.Total, TotalIsCapped: m.TotalIsCapped, Limit: m.Limit, Offset: m.Offset,
		Next: m.SearchAfter, DidYouMean: m.DidYouMean, Missing: m.Missing, Highlights: m.Highlights, Hints: m.Hints,
		LeftOut: m.LeftOut, Credits: m.Credits, Window: windowOf(header), RequestID: header.Get("X-Request-Id"),
	}
}

var errNoProgress = errors.New("atlas: the next page has the cursor of this one")

// Pages iterates over pages from q.SearchAfter, or the beginning, to the last page. The
// loop fetches each page on demand. An error ends the iteration; it can resume from the
// cursor of the last page.
//
// With a sort by a field, a record occurs exactly once if it matches throughout and its
// value of that field does not change.
//
// If a repetition leaves out records for MaxBytes, one more request fetches them, without
// MaxBytes and with an Idempotency-Key of its own. It costs its records. LeftOut of the
// page are then the records that this request did not find either.
func (s *Source[R]) Pages(ctx context.Context, q Search) iter.Seq2[*Page[R], error] {
	return walkPages(ctx, q, s.Search)
}

// walkPages is Pages for any search.
func walkPages[R any](ctx context.Context, q Search, search func(context.Context, Search) (*Page[R], error)) iter.Seq2[*Page[R], error] {
	return func(yield func(*Page[R], error) bool) {
		q := q // each iteration starts at the same position
		if q.Limit == 0 {
			q.Limit = MaxPage
		}
		for {
			page, err := search(ctx, q)
			if err == nil && page.Next != "" && page.Next == q.SearchAfter {
				err = errNoProgress
			}
			if err == nil && len(page.LeftOut) > 0 {
				whole := q
				whole.MaxBytes = 0
				var full *Page[R]
				if full, err = search(withRandomKey(ctx), whole); err == nil {
					err = page.complete(full)
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) || page.Next == "" {
				return
			}
			q.SearchAfter, q.Offset = page.Next, 0
		}
	}
}

// All iterates over the records of Pages. A loop that ends early has paid for
// its whole page: set Limit.
func (s *Source[R]) All(ctx context.Context, q Search) iter.Seq2[R, error] {
	return recordsOf(s.Pages(ctx, q))
}

// complete adds the records that p left out. full is the same page without a limit of its size.
func (p *Page[R]) complete(full *Page[R]) error {
	p.Credits, p.Window = p.Credits+full.Credits, full.Window
	for _, record := range full.Records {
		var of struct {
			ID      string
			Account struct{ ID string } // of a join
		}
		raw, err := json.Marshal(record)
		if err == nil {
			err = json.Unmarshal(raw, &of)
		}
		if err != nil {
			return fmt.Errorf("atlas: a record cannot be read: %w", err)
		}
		if i := slices.Index(p.LeftOut, cmp.Or(of.ID, of.Account.ID)); i >= 0 {
			p.Records, p.LeftOut = append(p.Records, record), slices.Delete(p.LeftOut, i, i+1)
		}
	}
	return nil
}

func recordsOf[R any](pages iter.Seq2[*Page[R], error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(*new(R), err)
				return
			}
			for _, record := range page.Records {
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}

// Collect returns all elements up to the first error.
func Collect[R any](walk iter.Seq2[R, error]) ([]R, error) {
	var all []R
	for r, err := range walk {
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Dataset is one of the global datasets, with records as R.
type Dataset[R any] struct{ Source[R] }

func dataset[R any](c *conn, name string) *Dataset[R] {
	return &Dataset[R]{Source[R]{conn: c, path: "/data" + segment(name)}}
}

// Get returns a record, with up to 25 related ones of each kind that include
// names ("projects", "account", …: docs/api.md, "Get and include"). It costs a
// credit; ErrNotFound is free.
func (d *Dataset[R]) Get(ctx context.Context, id string, include ...string) (R, error) {
	return d.GetWith(ctx, id, Shown{Include: include})
}

// Shown selects what the records of a get show.
type Shown struct {
	// Fields are the members of the record, besides the id; none: all. Other members of the
	// Go record are zero.
	Fields []string `json:"fields,omitempty"`
	// Include names related records to embed, up to 25 of each kind.
	Include []string `json:"include,omitempty"`
	// MaxBytes is for GetAll: it ends the answer before the record that would exceed it,
	// 1,000 to 10,000,000; 0: no limit. There is always at least one record.
	// Batch.Remaining says how many ids are left.
	MaxBytes int `json:"max_bytes,omitzero"`
}

// GetWith is Get with some of the record's fields.
func (d *Dataset[R]) GetWith(ctx context.Context, id string, show Shown) (R, error) {
	r := request{method: http.MethodGet, path: d.path + segment(id), params: url.Values{}}
	for name, values := range map[string][]string{"fields": show.Fields, "include": show.Include} {
		if len(values) > 0 {
			r.params.Set(name, strings.Join(values, ","))
		}
	}
	return data[R](ctx, d.conn, r)
}

// GetAll returns 1 to 100 records. Each that is found costs a credit; the others are
// items with ErrRecordNotFound.
func (d *Dataset[R]) GetAll(ctx context.Context, ids []string, show Shown) (Batch[R], error) {
	body := struct {
		IDs []string `json:"ids"`
		Shown
	}{ids, show}
	return batch[R](ctx, d.conn, request{method: http.MethodPost, path: d.path + "/get/batch", body: body})
}

// keepRaw decodes a record and stores its bytes.
func keepRaw(b []byte, into any, raw *json.RawMessage) error {
	if err := json.Unmarshal(b, into); err != nil {
		return err
	}
	*raw = append(json.RawMessage(nil), b...)
	return nil
}
