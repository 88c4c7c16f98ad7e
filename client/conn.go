package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds a response body in bytes. It is many times the largest page,
// so only a server that is not Atlas exceeds it.
const maxAnswer = 256 << 20

// conn sends requests.
type conn struct{ settings }

// request is one call of an operation.
type request struct {
	method, path string
	params       url.Values
	body         any // nil for none
	// notStored means that the service does not store the answer: the request is not retried
	// if it may have had an effect.
	notStored bool
}

// Answer is the outcome of an attempt.
type Answer struct {
	Method, Path string // Path without the base URL
	Attempt      int    // from 1
	Status       int    // 0 without a response
	RequestID    string
	Charged      int    // credits
	Window       Window // of metered operations
	Duration     time.Duration
	Err          error // nil for 2xx
}

// Window is the state of the credits in a metered response. Ceiling is 0 when
// the response does not contain it.
type Window struct{ Used, Remaining, Ceiling int }

// envelope is the body of a successful response.
type envelope[T any] struct {
	Data     T        `json:"data"`
	Metadata metadata `json:"metadata"`

	header http.Header
}

type metadata struct {
	Credits       int         `json:"credits"`
	Total         int         `json:"total"`
	TotalIsCapped bool        `json:"total_is_capped"`
	Limit         int         `json:"limit"`
	Offset        int         `json:"offset"`
	SearchAfter   string      `json:"search_after"`
	DidYouMean    string      `json:"did_you_mean"`
	Missing       []string    `json:"missing"`
	Highlights    []Highlight `json:"highlights"`
	Hints         []string    `json:"hints"`
	LeftOut       []string    `json:"left_out"`
	Succeeded     int         `json:"succeeded"`
	Failed        int         `json:"failed"`
	NotFound      []string    `json:"not_found"`
	Next          string      `json:"next"`
	CaughtUp      bool        `json:"caught_up"`
	Unread        int         `json:"unread"`
	Remaining     int         `json:"remaining"`
	Lag           float64     `json:"lag_s"`
}

// call sends a request, with retries, and decodes its response.
func call[T any](ctx context.Context, c *conn, r request) (envelope[T], error) {
	var answer envelope[T]
	header, body, err := c.do(ctx, r)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("atlas: the answer to %s %s cannot be read: %w", r.method, r.path, err)
	}
	answer.header = header
	return answer, nil
}

// get returns the data at path.
func get[T any](ctx context.Context, c *conn, path string) (T, error) {
	return data[T](ctx, c, request{method: http.MethodGet, path: path})
}

// post sends body to path and returns the data.
func post[T any](ctx context.Context, c *conn, path string, body any) (T, error) {
	return data[T](ctx, c, request{method: http.MethodPost, path: path, body: body})
}

// data is call for callers that only need the data.
func data[T any](ctx context.Context, c *conn, r request) (T, error) {
	a, err := call[T](ctx, c, r)
	return a.Data, err
}

// remove deletes the object at path.
func remove(ctx context.Context, c *conn, path string) error {
	_, err := data[Nothing](ctx, c, request{method: http.MethodDelete, path: path})
	return err
}

// do sends a request until it succeeds or must not be retried.
func (c *conn) do(ctx context.Context, r request) (http.Header, []byte, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, nil, fmt.Errorf("atlas: %w", err)
		}
	}
	key := keyOf(ctx)
	if key == "" {
		key = rand.Text()
	}
	var failed time.Time // the first attempt
	for attempt := 1; ; attempt++ {
		began := time.Now()
		header, answer, err := c.attempt(ctx, r, key, body)
		c.observe(answerOf(r, attempt, header, err, time.Since(began)))
		if err == nil {
			return header, answer, nil
		}
		if attempt == 1 {
			failed = time.Now()
		}
		wait, retry := c.retry.after(attempt, time.Since(failed), err, !r.notStored)
		if deadline, ok := ctx.Deadline(); !retry || ctx.Err() != nil || ok && time.Until(deadline) < wait {
			return nil, nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, fmt.Errorf("%w while waiting to repeat: %w", ctx.Err(), err)
		}
	}
}

// lostError reports a missing response. Whether the service received the
// request is unknown, unless it was never sent.
type lostError struct {
	cause error
}

func (e *lostError) Error() string { return "atlas: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// attempt sends a request once.
func (c *conn) attempt(ctx context.Context, r request, key string, body []byte) (http.Header, []byte, error) {
	token, err := c.token(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("atlas: no access token: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, r.method, c.address(r), bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("atlas: %w", err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Accept", "application/json")
	if !r.notStored {
		q.Header.Set("Idempotency-Key", key) // net/http retries such requests itself when an idle connection was closed
	}
	q.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(q)
	if err != nil {
		return nil, nil, &lostError{err}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		return res.Header, nil, fmt.Errorf("atlas: an answer of over %d bytes", maxAnswer)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// The status of an error suffices, whatever happened to its body.
		return res.Header, nil, errorOf(r, res, answer)
	}
	if err != nil {
		return res.Header, nil, &lostError{err}
	}
	return res.Header, answer, nil
}

func (c *conn) address(r request) string {
	params := r.params
	if c.workspace != "" {
		if params == nil {
			params = url.Values{}
		}
		params.Set("workspace_id", c.workspace)
	}
	address := strings.TrimRight(c.base.String(), "/") + r.path
	if len(params) > 0 {
		address += "?" + params.Encode()
	}
	return address
}

// segment is one element of a path.
func segment(id string) string { return "/" + url.PathEscape(id) }

func answerOf(r request, attempt int, header http.Header, err error, took time.Duration) Answer {
	a := Answer{Method: r.method, Path: r.path, Attempt: attempt, Duration: took, Err: err}
	if header == nil {
		return a
	}
	a.Status, a.RequestID = http.StatusOK, header.Get("X-Request-Id")
	if e, ok := errors.AsType[*Error](err); ok {
		a.Status = e.Status
	}
	a.Charged, _ = strconv.Atoi(header.Get("X-Credits-Charged"))
	a.Window = windowOf(header)
	return a
}

func windowOf(header http.Header) (w Window) {
	for name, to := range map[string]*int{"Used": &w.Used, "Remaining": &w.Remaining, "Ceiling": &w.Ceiling} {
		*to, _ = strconv.Atoi(header.Get("X-Credits-" + name))
	}
	return w
}
