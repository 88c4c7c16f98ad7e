package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Caller sends requests as one principal, without retries.
type Caller struct {
	// Base ends in the version.
	Base string
	// Token is an API key or an access token.
	Token string
	// Workspace is sent as workspace_id; users need it, keys do not.
	Workspace string
	HTTP      *http.Client
}

// pool is shared by all callers. Only its context bounds a request.
var pool = &http.Client{Transport: &http.Transport{MaxIdleConns: 1000, MaxIdleConnsPerHost: 1000, IdleConnTimeout: 30 * time.Second}}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Raw    []byte
	Took   time.Duration
}

// Do sends a request, with body as JSON unless it is nil, and reads the answer
// whole. A json.RawMessage or string body is sent as it is. An error means that no
// answer, or only a part of one, arrived.
func (c Caller) Do(ctx context.Context, method, path string, body any) (Answer, error) {
	var sent io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		sent = bytes.NewReader(raw)
	}
	target := c.Base + path
	if c.Workspace != "" {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		target += separator + "workspace_id=" + url.QueryEscape(c.Workspace)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, sent)
	if err != nil {
		return Answer{}, err
	}
	if sent != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = pool
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return Answer{Took: time.Since(began)}, err
	}
	defer res.Body.Close()
	a := Answer{Status: res.StatusCode, Header: res.Header}
	a.Raw, err = io.ReadAll(res.Body)
	a.Took = time.Since(began)
	return a, err
}

// Want is Do, but returns an error for any other status than the wanted one.
func (c Caller) Want(ctx context.Context, status int, method, path string, body any) (Answer, error) {
	a, err := c.Do(ctx, method, path, body)
	if err == nil && a.Status != status {
		err = fmt.Errorf("%s %s: %d %s", method, path, a.Status, a.Raw)
	}
	return a, err
}

// Metadata is the part of an answer that is not data.
type Metadata struct {
	Total       int     `json:"total"`
	Capped      bool    `json:"total_is_capped"`
	SearchAfter *string `json:"search_after"`
	Credits     int64   `json:"credits"`
	DidYouMean  string  `json:"did_you_mean"`
}

// Metadata of the answer; zero where it has none.
func (a Answer) Metadata() Metadata {
	var m struct{ Metadata Metadata }
	_ = json.Unmarshal(a.Raw, &m) // an answer without it has none
	return m.Metadata
}

// Code is error.code, "" where there is none.
func (a Answer) Code() string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(a.Raw, &e) // an answer without it has none
	return e.Error.Code
}

// Data decodes the answer's data.
func (a Answer) Data(into any) error {
	var d struct{ Data json.RawMessage }
	if err := json.Unmarshal(a.Raw, &d); err != nil {
		return err
	}
	return json.Unmarshal(d.Data, into)
}

// IDs are the ids of a search's records.
func (a Answer) IDs() ([]string, error) {
	var records []struct{ ID string }
	if err := a.Data(&records); err != nil {
		return nil, err
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	return ids, nil
}

// Unavailable is nil when the answer is the documented 503: its code, a message,
// Retry-After, nothing charged, and nothing that looks like a page.
func (a Answer) Unavailable() error {
	var body struct {
		Data  json.RawMessage
		Error struct{ Code, Message string }
	}
	if a.Status != http.StatusServiceUnavailable {
		return fmt.Errorf("status %d: %.300s", a.Status, a.Raw)
	}
	if err := json.Unmarshal(a.Raw, &body); err != nil {
		return fmt.Errorf("a 503 that is no JSON: %w: %.300s", err, a.Raw)
	}
	var faults []error
	if body.Error.Code != "unavailable" || body.Error.Message == "" || body.Data != nil {
		faults = append(faults, fmt.Errorf("a 503 of another shape: %.300s", a.Raw))
	}
	if a.Header.Get("Retry-After") == "" {
		faults = append(faults, errors.New("a 503 without Retry-After"))
	}
	if charged := a.Header.Get("X-Credits-Charged"); charged != "" && charged != "0" {
		faults = append(faults, fmt.Errorf("a 503 that charged %s", charged))
	}
	if a.Header.Get("Content-Type") == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		faults = append(faults, fmt.Errorf("a 503 of type %q", a.Header.Get("Content-Type")))
	}
	return errors.Join(faults...)
}
