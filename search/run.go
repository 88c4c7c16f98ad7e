package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
)

// Engine runs searches. It is safe for concurrent use.
type Engine struct {
	Elastic *elastic.Client
	Names   mappings.Names
	Cursors *Cursors
	// Timeout bounds one search in Elasticsearch. Past it the answer would be
	// partial, which is an error.
	Timeout time.Duration
	// DeepRows is DefaultDeepRows when it is 0.
	DeepRows int
	// SkippedRows is how many rows before the offsets of merged searches may be in
	// memory at once; a search that needs more waits until there is room or its
	// time is over. 0 is DefaultSkippedRows.
	SkippedRows int
	// Fetched, when set, is told how many rows an answer of Elasticsearch had.
	Fetched func(ctx context.Context, rows int)

	frequent frequentValues
	skipping places
}

// DefaultTimeout is what a search may take.
const DefaultTimeout = 10 * time.Second

// grace is what a search's answer may need beyond Timeout.
const grace = time.Second

// Page is one page of results.
type Page struct {
	// Records are the public records as they were stored, in order.
	Records []jsontext.Value
	// Total is how many records match, at most TotalCap; Capped tells that
	// there are more.
	Total  int
	Capped bool
	// Next is the cursor of the next page, empty on the last one.
	Next string
}

// CheckCursor refuses a cursor that is not q's, as Search does: BadRequest.
func (e *Engine) CheckCursor(q query.Query) error {
	_, err := e.Cursors.Read(q)
	return err
}

// Search runs q on its dataset's global index, or on the records that the
// workspace holds when q says so. Errors: BadRequest for a cursor that is not
// q's; Unavailable when Elasticsearch is away, too slow, or could
// give only a part of the page.
func (e *Engine) Search(ctx context.Context, q query.Query) (Page, error) {
	place, err := e.Cursors.Read(q)
	if err != nil {
		return Page{}, err
	}
	if q.Held && q.Base.Workspace == "" {
		return Page{}, fault.New(fault.Internal, "a search of held records names no workspace")
	}
	if q.Offset >= farOffset {
		counts, err := e.count(ctx, q.Offset+1, q)
		if err != nil {
			return Page{}, err
		}
		if total := counts[0]; total <= q.Offset {
			return Page{Records: []jsontext.Value{}, Total: min(total, TotalCap), Capped: total > TotalCap}, nil
		}
	}
	if begin, last := e.deep(q, place); begin != nil {
		page, whole, err := e.searchDeep(ctx, q, place, begin, last)
		if err != nil || whole {
			return page, err
		}
	}
	res, err := e.search(ctx, e.leg(q, place.After), preference(q))
	if err != nil {
		return Page{}, err
	}
	if err := res.complete(q); err != nil {
		return Page{}, err
	}
	return e.page(q, place, res, res.Hits.Total.Value), nil
}

// complete refuses an answer that has less than it says it has.
func (r result) complete(q query.Query) error {
	if r.Hits.Total == nil {
		return fault.BackendUnavailable(errors.New("the answer has no total"), "elasticsearch")
	}
	rows := r.Hits.Hits
	if promised := min(r.Hits.Total.Value-q.Offset, q.Limit+1); q.After == "" && len(rows) < promised {
		return fault.BackendUnavailable(fmt.Errorf("%d rows of a page that has %d", len(rows), promised), "elasticsearch")
	}
	for _, row := range rows {
		if row.Sort.Kind() != '[' {
			return fault.BackendUnavailable(errors.New("a row without its sort values"), "elasticsearch")
		}
	}
	return nil
}

// page makes the page that begins at a place of the rows found and the number of
// matches.
func (e *Engine) page(q query.Query, from Place, res result, total int) Page {
	p := Page{Total: min(total, TotalCap), Capped: total > TotalCap}
	rows := res.Hits.Hits
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = e.Cursors.Make(q, from.next(q, json.RawMessage(rows[q.Limit-1].Sort)))
	}
	p.Records = make([]jsontext.Value, len(rows))
	for i, row := range rows {
		p.Records[i] = row.Source
	}
	return p
}

// next is the place of the page after q's, whose last row has these sort values.
func (p Place) next(q query.Query, last json.RawMessage) Place {
	return Place{After: last, Passed: p.Passed + q.Offset + q.Limit}
}

// result is what of a _search answer is asked for.
type result struct {
	outcome
	Hits struct {
		Total *hitCount `json:"total"`
		Hits  []hit     `json:"hits"`
	} `json:"hits"`
	Aggregations jsontext.Value `json:"aggregations"`
}

// outcome is whether an answer is all there is.
type outcome struct {
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed *int `json:"failed"` // nil in what is no answer of a search
	} `json:"_shards"`
	// Error is set on a failed search of an _msearch.
	Error  jsontext.Value `json:"error"`
	Status int            `json:"status"`
}

// hitCount is how many matches were counted.
type hitCount struct {
	Value int `json:"value"`
}

// hit is a row of an answer, whose bytes it shares: most of what a search
// allocates are pages, and those are not copied on their way.
type hit struct {
	Source jsontext.Value `json:"-"`
	Sort   jsontext.Value `json:"-"`

	SourceAt span `json:"_source"`
	SortAt   span `json:"sort"`
}

// span is where in an answer a value is.
type span struct{ from, to int }

// UnmarshalJSONFrom notes where the next value is.
func (p *span) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	p.to = int(d.InputOffset())
	p.from = p.to - len(value)
	return err
}

// in is the value there, which cannot grow into what follows it.
func (p span) in(answer []byte) jsontext.Value { return answer[p.from:p.to:p.to] }

// share gives the rows their values out of the answer that r was read from.
func (r *result) share(answer []byte) {
	rows := r.Hits.Hits
	for i := range rows {
		rows[i].Source, rows[i].Sort = rows[i].SourceAt.in(answer), rows[i].SortAt.in(answer)
	}
}

const resultPaths = "timed_out,_shards.failed,hits.total.value,hits.hits._source,hits.hits.sort,aggregations"

func (e *Engine) search(ctx context.Context, of leg, preference string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	params := url.Values{
		"filter_path": {resultPaths},
		"timeout":     {e.patience(ctx)},
		// One shard that fails must fail the page, not shorten it.
		"allow_partial_search_results": {"false"},
	}
	if preference != "" {
		params.Set("preference", preference)
	}
	if of.routing != "" {
		params.Set("routing", of.routing)
	}
	res, err := e.Elastic.Do(ctx, elastic.Request{Method: http.MethodPost, Path: "/" + of.index + "/_search", Query: params, Body: of.body})
	if err != nil {
		return result{}, searchFault(err)
	}
	var r result
	if err := jsonv2.Unmarshal(res.Body, &r); err != nil {
		return result{}, fault.BackendUnavailable(fmt.Errorf("unreadable answer: %w", err), "elasticsearch")
	}
	r.share(res.Body)
	e.fetched(ctx, len(r.Hits.Hits))
	return r, r.whole()
}

func (e *Engine) fetched(ctx context.Context, rows int) {
	if e.Fetched != nil {
		e.Fetched(ctx, rows)
	}
}

// whole refuses a part of an answer.
func (o outcome) whole() error {
	switch {
	case o.Status == http.StatusNotFound:
		return fault.BackendUnavailable(fmt.Errorf("one of several searches: %w: %.500s", query.ErrIndexGone, o.Error), "elasticsearch")
	case len(o.Error) > 0:
		return fault.BackendUnavailable(fmt.Errorf("one of several searches answered %d: %.500s", o.Status, o.Error), "elasticsearch")
	case o.Shards.Failed == nil:
		return fault.BackendUnavailable(errors.New("the answer does not say whether it is whole"), "elasticsearch")
	case o.TimedOut || *o.Shards.Failed > 0:
		return fault.BackendUnavailable(fmt.Errorf("partial result: timed out %v, %d shards failed", o.TimedOut, *o.Shards.Failed), "elasticsearch")
	}
	return nil
}

// whole refuses a part of an answer, and rows without their records.
func (r result) whole() error {
	if err := r.outcome.whole(); err != nil {
		return err
	}
	for _, row := range r.Hits.Hits {
		if row.Source.Kind() != '{' {
			return fault.BackendUnavailable(errors.New("a row without its record"), "elasticsearch")
		}
	}
	return nil
}

// searchFault tells a query with more clauses than the nodes have memory for,
// which is the client's to make smaller, from all else. A search that is not
// found means that nothing was loaded, or that something else answered.
func searchFault(err error) error {
	answer, ok := errors.AsType[*elastic.Error](err)
	switch {
	case ok && answer.Status == http.StatusBadRequest && tooManyClauses.MatchString(answer.Reason):
		return fault.Validation(fault.Issue{Code: fault.TooBig, Message: "the request has too many terms for one search; send fewer values"})
	case ok && answer.Status == http.StatusNotFound:
		return fault.BackendUnavailable(errors.Join(query.ErrIndexGone, err), "elasticsearch")
	}
	return elastic.FaultOf(err)
}

// tooManyClauses is how Elasticsearch gives the reason, depending on where it
// counts. Its error has one type for this and for any other bad query.
var tooManyClauses = regexp.MustCompile("maxClauseCount|too many clauses")

// preference sends the pages of one relevance search to the same copies of the
// shards, whose scores agree.
func preference(q query.Query) string {
	if !q.Sort.Relevance() {
		return ""
	}
	sum := sha256.Sum256([]byte(q.Text))
	return hex.EncodeToString(sum[:8])
}
