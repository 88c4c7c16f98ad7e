//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/client"
	"atlas/scripts/experiments/rig"
)

// source is a search that can be paged through.
type source = client.Source[json.RawMessage]

// walk pages from the first record to the last by cursor. It does not retry: any answer
// other than 200 ends the walk.
type walk struct {
	name string
	from *source
	sort *client.Sort
	// pace, if set, is called before each page but the first, and may wait.
	pace func(ctx context.Context, rows int) error
}

// walked is the result of a walk.
type walked struct {
	rows  int
	took  []time.Duration // of each page
	seen  map[uuid.UUID]int32
	order int // rows that belong before the previous row
}

// run pages to the end. seen of the result counts each id.
func (w walk) run(ctx context.Context) (walked, error) {
	result := walked{seen: map[uuid.UUID]int32{}}
	previous := ""
	for search := (client.Search{Sort: w.sort, Limit: client.MaxPage}); ; {
		began := time.Now()
		page, err := w.from.Search(ctx, search)
		result.took = append(result.took, time.Since(began))
		if err != nil {
			return result, fmt.Errorf("%s, page %d: %w", w.name, len(result.took), err)
		}
		for _, r := range page.Records {
			id, err := idOf(r)
			if err != nil {
				return result, err
			}
			result.rows++
			result.seen[id]++
			if w.sort != nil && isTime(w.sort.Field) {
				value, err := timeOf(r, w.sort.Field)
				if err != nil {
					return result, err
				}
				if result.rows > 1 && before(value, previous, w.sort.Order == "desc") {
					result.order++
				}
				previous = value
			}
		}
		switch {
		case page.Next == "":
			return result, nil
		case page.Next == search.SearchAfter, len(page.Records) != client.MaxPage:
			return result, fmt.Errorf("%s, page %d: %d records and a cursor", w.name, len(result.took), len(page.Records))
		}
		search.SearchAfter = page.Next
		if w.pace != nil {
			if err := w.pace(ctx, result.rows); err != nil {
				return result, err
			}
		}
	}
}

func isTime(field string) bool { return strings.HasSuffix(field, "_at") }

// timeOf returns a time of a record as text that sorts chronologically. It is empty if
// the record has none or the row does not show it.
func timeOf(record json.RawMessage, field string) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return "", err
	}
	value, shown := members[field]
	if !shown {
		return "", nil
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err
}

// before reports whether a value belongs before the value of the previous row. Missing
// values are last in both directions.
func before(value, previous string, desc bool) bool {
	switch {
	case value == "":
		return false
	case previous == "":
		return true
	case desc:
		return value > previous
	}
	return value < previous
}

// once is a client without retries.
func once(t testing.TB, base string, options ...client.Option) *client.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(base, append([]client.Option{
		client.WithRetry(client.Retry{Attempts: 1}), client.WithHTTPClient(&http.Client{Transport: transport}),
	}, options...)...)
	rig.Check(t, err)
	return c
}

// isServerError reports whether a request failed because of the server.
func isServerError(err error) bool {
	e, answered := errors.AsType[*client.Error](err)
	return err != nil && (!answered || e.Status >= http.StatusInternalServerError)
}
