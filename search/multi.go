package search

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"atlas/internal/scan"
	"atlas/search/catalog"
	"atlas/search/query"
)

// request is one search in Elasticsearch.
type request struct {
	index   string
	routing string // "" for none
	body    []byte // a JSON object that is not empty
	// preference chooses the copies of the shards, "" for any.
	preference string
	// background means that nobody waits for it. The searches of its round trip run one after the
	// other, so that they take one thread, and Elasticsearch caches no answer without rows.
	background bool
}

// request compiles q for the index that it runs on.
func (e *Engine) request(q query.Query, o options) request { return e.at(q, compile(q, o)) }

// at is the body of a search of the records of q's base.
func (e *Engine) at(q query.Query, body []byte) request {
	if q.Held {
		index := e.Names.Held(string(q.Dataset))
		if q.Generation != "" {
			index = e.Names.HeldGeneration(string(q.Dataset), q.Generation)
		}
		return request{index: index, routing: q.Base.Workspace, body: body}
	}
	return e.global(q.Dataset, body)
}

// global is a search of a dataset's global records.
func (e *Engine) global(d catalog.Dataset, body []byte) request {
	return request{index: e.Names.Alias(string(d)), body: body}
}

// multi runs searches in one round trip. All answers are complete, or it returns an
// error.
func (e *Engine) multi(ctx context.Context, requests ...request) ([]result, error) {
	var results []result
	var err error
	if g := gatheringOf(ctx); g != nil {
		results, err = g.gather(ctx, requests...)
	} else {
		results, err = e.send(ctx, false, requests...)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		e.fetched(ctx, len(r.rows))
	}
	for _, r := range results {
		if err := r.whole(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// send runs searches in one round trip. With rowsLater, rows have only sort or doc values and
// remain unread.
func (e *Engine) send(ctx context.Context, rowsLater bool, requests ...request) ([]result, error) {
	var paths []string
	if rowsLater {
		paths = rankedPaths
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	search := esapi.MsearchRequest{Body: bytes.NewReader(multiBody(requests, e.timeout(ctx))), FilterPath: paths}
	if requests[0].background {
		search.MaxConcurrentSearches = new(1)
	}
	res, err := e.Elastic.Do(ctx, search)
	if err != nil {
		return nil, searchFault(err)
	}
	a := answer{scan.New(res.Body), rowsLater}
	return listOf(a, "responses", len(requests), a.result)
}

// multiBody is the body of an _msearch. The timeout is in each search, because
// _msearch has no parameter for it.
func multiBody(requests []request, timeout time.Duration) []byte {
	var body []byte
	for _, r := range requests {
		body = fmt.Appendf(body, `{"index":%q,`, r.index)
		if r.routing != "" {
			body = fmt.Appendf(body, `"routing":%q,`, r.routing)
		}
		if r.preference != "" {
			body = fmt.Appendf(body, `"preference":%q,`, r.preference)
		}
		body = fmt.Appendf(body, "\"allow_partial_search_results\":false}\n{\"timeout\":\"%dms\",", timeout.Milliseconds())
		body = append(append(body, r.body[1:]...), '\n')
	}
	return body
}
