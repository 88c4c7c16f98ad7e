package search

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/query"
)

// leg is one search and where it runs.
type leg struct {
	index   string
	routing string // "" for none
	body    []byte // an object with members
}

// leg is the search for q's rows after one (nil: from the first, or the offset).
func (e *Engine) leg(q query.Query, after json.RawMessage) leg {
	if q.Held {
		index := e.Names.Held(string(q.Dataset))
		if q.Generation != "" {
			index = e.Names.HeldGeneration(string(q.Dataset), q.Generation)
		}
		return leg{index, q.Base.Workspace, Compile(q, after)}
	}
	return e.global(q.Dataset, Compile(q, after))
}

// global is a search of a dataset's global records.
func (e *Engine) global(d query.Dataset, body []byte) leg {
	return leg{index: e.Names.Alias(string(d)), body: body}
}

// multi runs searches in one round trip; each must answer whole.
func (e *Engine) multi(ctx context.Context, legs ...leg) ([]result, error) {
	body, err := e.send(ctx, resultPaths, legs...)
	if err != nil {
		return nil, err
	}
	results, err := answersOf[result](body, len(legs))
	if err != nil {
		return nil, err
	}
	for i := range results {
		results[i].share(body)
		e.fetched(ctx, len(results[i].Hits.Hits))
	}
	for _, r := range results {
		if err := r.whole(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// send sends searches in one round trip, and gives what has these paths of each
// answer.
func (e *Engine) send(ctx context.Context, paths string, legs ...leg) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	res, err := e.Elastic.Do(ctx, elastic.Request{Method: http.MethodPost, Path: "/_msearch", NDJSON: true, Body: multiBody(legs, e.patience(ctx)),
		Query: url.Values{"filter_path": {"responses.error,responses.status,responses." + strings.ReplaceAll(paths, ",", ",responses.")}}})
	if err != nil {
		return nil, searchFault(err)
	}
	return res.Body, nil
}

// answersOf reads the answers of so many searches.
func answersOf[answer any](body []byte, searches int) ([]answer, error) {
	var of struct {
		Responses []answer `json:"responses"`
	}
	if err := jsonv2.Unmarshal(body, &of); err != nil || len(of.Responses) != searches {
		return nil, fault.BackendUnavailable(fmt.Errorf("unreadable answer: %w", err), "elasticsearch")
	}
	return of.Responses, nil
}

// multiBody is the body of an _msearch. Each search has the time limit itself,
// because there is no parameter for all of them.
func multiBody(legs []leg, timeout string) []byte {
	var body []byte
	for _, l := range legs {
		body = fmt.Appendf(body, `{"index":%q,`, l.index)
		if l.routing != "" {
			body = fmt.Appendf(body, `"routing":%q,`, l.routing)
		}
		body = fmt.Appendf(body, "\"allow_partial_search_results\":false}\n{\"timeout\":%q,", timeout)
		body = append(append(body, l.body[1:]...), '\n')
	}
	return body
}
