package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
)

// MaxPage is the largest page, in records.
const MaxPage = 100

// Page is one page of a search.
type Page[R any] struct {
	Records []R
	// Total counts matches, up to 1,000; TotalIsCapped says that there are more.
	Total         int
	TotalIsCapped bool
	Limit, Offset int
	// Next is the cursor of the next page, for Search.SearchAfter; "" on the last.
	Next string
	// Credits is what the page cost, Window what the workspace has left.
	Credits int
	Window  Window
	// RequestID is what to quote when a problem is reported.
	RequestID string
}

// Source is something that is searched page by page. Every page costs a credit
// for each of its records.
type Source[R any] struct {
	conn *conn
	path string
	// nested: records stand beside the dataset's name instead of being the data.
	nested bool
}

// Search returns one page.
func (s *Source[R]) Search(ctx context.Context, q Search) (*Page[R], error) {
	r := request{method: http.MethodPost, path: s.path + "/search", body: q, repeatable: true}
	if s.nested {
		a, err := call[struct{ Records []R }](ctx, s.conn, r)
		return pageOf(a.Data.Records, a.Metadata, a.header), err
	}
	a, err := call[[]R](ctx, s.conn, r)
	return pageOf(a.Data, a.Metadata, a.header), err
}

func pageOf[R any](records []R, m metadata, header http.Header) *Page[R] {
	if header == nil {
		return nil // it failed
	}
	return &Page[R]{
		Records: records, Total: m.Total, TotalIsCapped: m.TotalIsCapped, Limit: m.Limit, Offset: m.Offset,
		Next: m.SearchAfter, Credits: m.Credits, Window: windowOf(header), RequestID: header.Get("X-Request-Id"),
	}
}

var errNoProgress = errors.New("atlas: the next page has the cursor of this one")

// Pages walks from q.SearchAfter, or the beginning, to the last page. Each page
// is fetched when the loop asks for it. An error ends the walk; the cursor of the
// last page that came goes on from there.
//
// By the sort of a field, every record that matches throughout the walk and whose
// value of that field does not change comes exactly once.
func (s *Source[R]) Pages(ctx context.Context, q Search) iter.Seq2[*Page[R], error] {
	return func(yield func(*Page[R], error) bool) {
		q := q // each walk begins anew
		if q.Limit == 0 {
			q.Limit = MaxPage
		}
		for {
			page, err := s.Search(ctx, q)
			if err == nil && page.Next != "" && page.Next == q.SearchAfter {
				err = errNoProgress
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

// All walks over the records of Pages. A loop that ends early has paid for the
// rest of its page: set Limit to what is wanted.
func (s *Source[R]) All(ctx context.Context, q Search) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for page, err := range s.Pages(ctx, q) {
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

// Collect gathers a walk, up to its first error.
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

// Get returns one record, with up to 25 related ones of each kind that include
// names ("projects", "account", …: docs/api.md, "Get and include"). It costs a
// credit; ErrNotFound costs none.
func (d *Dataset[R]) Get(ctx context.Context, id string, include ...string) (R, error) {
	r := request{method: http.MethodGet, path: d.path + segment(id), repeatable: true}
	if len(include) > 0 {
		r.params = map[string][]string{"include": {strings.Join(include, ",")}}
	}
	a, err := call[R](ctx, d.conn, r)
	return a.Data, err
}

// keepRaw decodes a record and keeps its bytes.
func keepRaw(b []byte, into any, raw *json.RawMessage) error {
	if err := json.Unmarshal(b, into); err != nil {
		return err
	}
	*raw = append(json.RawMessage(nil), b...)
	return nil
}
