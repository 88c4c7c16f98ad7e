package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// list iterates over a list with offset paging. name is the key of the elements
// in the data.
func list[T any](ctx context.Context, c *conn, path, name string, params url.Values) iter.Seq2[T, error] {
	return walk(func(offset int) (envelope[map[string][]T], error) {
		page := url.Values{"limit": {strconv.Itoa(MaxPage)}, "offset": {strconv.Itoa(offset)}}
		for key, values := range params {
			page[key] = values
		}
		return call[map[string][]T](ctx, c, request{method: http.MethodGet, path: path, params: page})
	}, name)
}

// walk yields the elements of pages until a page is not full. If the list
// changes meanwhile, offsets can repeat or skip an element.
func walk[T any](fetch func(offset int) (envelope[map[string][]T], error), name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for offset := 0; ; {
			a, err := fetch(offset)
			if err != nil {
				yield(*new(T), err)
				return
			}
			elements := a.Data[name]
			for _, element := range elements {
				if !yield(element, nil) {
					return
				}
			}
			if offset += len(elements); len(elements) == 0 || len(elements) < a.Metadata.Limit {
				return
			}
		}
	}
}

// cursored iterates over a list whose answers have the cursor of the next page. name is the
// key of the elements in the data.
func cursored[T any](ctx context.Context, c *conn, path, name string, params url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			elements, next, err := cursoredPage[T](ctx, c, request{method: http.MethodGet, path: path, params: params}, name)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, element := range elements {
				if !yield(element, nil) {
					return
				}
			}
			if next == "" || len(elements) == 0 {
				return
			}
			params.Set("cursor", next)
		}
	}
}

// cursoredPage returns the elements of an answer, and the cursor of the next, "" for none.
func cursoredPage[T any](ctx context.Context, c *conn, r request, name string) (elements []T, next string, err error) {
	_, body, err := c.do(ctx, r)
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		Data     map[string][]T `json:"data"`
		Metadata struct {
			Next string `json:"next"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, "", fmt.Errorf("atlas: %w", err)
	}
	return answer.Data[name], answer.Metadata.Next, nil
}
