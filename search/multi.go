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
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	res, err := e.Elastic.Do(ctx, elastic.Request{Method: http.MethodPost, Path: "/_msearch", NDJSON: true, Body: multiBody(legs, e.patience(ctx)),
		Query: url.Values{"filter_path": {"responses.error,responses.status,responses." + strings.ReplaceAll(resultPaths, ",", ",responses.")}}})
	if err != nil {
		return nil, searchFault(err)
	}
	var answer struct {
		Responses []result `json:"responses"`
	}
	if err := jsonv2.Unmarshal(res.Body, &answer); err != nil || len(answer.Responses) != len(legs) {
		return nil, fault.Away(fmt.Errorf("unreadable answer: %w", err), "elasticsearch")
	}
	for i := range answer.Responses {
		answer.Responses[i].share(res.Body)
	}
	for _, r := range answer.Responses {
		if err := r.whole(); err != nil {
			return nil, err
		}
	}
	return answer.Responses, nil
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
