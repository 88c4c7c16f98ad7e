package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/internal/shares"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/search/words"
)

// Engine runs searches. It is safe for concurrent use.
type Engine struct {
	Elastic *elastic.Client
	Names   mappings.Names
	Cursors *Cursors
	// Timeout bounds one search in Elasticsearch. After it the answer would be partial,
	// which is an error.
	Timeout time.Duration
	// Words are the tables for reading texts; nil: words.Published.
	Words *words.Tables
	// SeekRows is how many rows must precede a page before it is searched for with a
	// seekFilter; 0 is DefaultSeekRows.
	SeekRows int
	// FrontRows is about how many records are searched for a first page in the opposite of
	// the index order; 0 is DefaultFrontRows.
	FrontRows int
	// SkippedRows bounds how many rows before the offsets of merged searches are in memory
	// at once. A search waits for its share until its timeout. 0 is DefaultSkippedRows.
	SkippedRows int
	// FewMatches is how many records a search of Matching may find by itself; 0 is the default.
	FewMatches int
	// NamesAtOnce is how many names of accounts are read at once in a search by prefix; 0
	// is DefaultNamesAtOnce.
	NamesAtOnce int
	// Fetched, when set, is called with the number of rows of each answer of
	// Elasticsearch.
	Fetched func(ctx context.Context, rows int)

	frequent frequentValues
	fronts   fronts
	cache    cachedResults
	foldings cachedFoldings
	values   cachedValues
	skipped  shares.Shares
	matching shares.Shares
}

// DefaultTimeout is the usual Engine.Timeout.
const DefaultTimeout = 10 * time.Second

// grace is how long after Timeout the answer of a search may still arrive.
const grace = time.Second

// CheckCursor returns the error of Search for a cursor that is not q's:
// BadRequest.
func (e *Engine) CheckCursor(q query.Query) error {
	q.Words = e.Words
	_, err := e.Cursors.Read(q)
	return err
}

// Search runs q on the global records of its dataset, or on those that the workspace holds
// when q.Held is set. Errors: BadRequest for a cursor that is not q's; Unavailable when
// Elasticsearch cannot be reached, is too slow, or returns only a part of the page.
func (e *Engine) Search(ctx context.Context, q query.Query) (query.Page, error) {
	return inFoldings(ctx, e, false, []query.Query{q}, func(folded []query.Query) (query.Page, error) {
		q := folded[0]
		page, err := e.searchPage(ctx, q)
		if err == nil && page.Total == 0 {
			var both sync.WaitGroup
			both.Go(func() { page.Named = e.named(ctx, q) })
			page.NotFound = e.notFound(ctx, q)
			both.Wait()
		}
		return page, err
	})
}

// prepared returns searches with the data that their bodies need from other round trips:
// the records at the borders of circles and, on free routes, the terms of exact texts with
// typos.
func (e *Engine) prepared(ctx context.Context, free bool, searches ...query.Query) ([]query.Query, error) {
	searches, err := e.withBorders(ctx, searches...)
	if err != nil || !free {
		return searches, err
	}
	all := make([]query.Query, len(searches))
	for i, q := range searches {
		if all[i], err = e.withTerms(ctx, q); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// searchPage is Search without Page.NotFound and Page.Named.
func (e *Engine) searchPage(ctx context.Context, q query.Query) (query.Page, error) {
	position, err := e.position(ctx, q)
	if err != nil {
		return query.Page{}, err
	}
	if q.Held && q.Base.Workspace == "" {
		return query.Page{}, fault.New(fault.Internal, "a search of held records names no workspace")
	}
	prepared, err := e.prepared(ctx, q.DryRun || q.WithoutPrivate, q)
	if err != nil {
		return query.Page{}, err
	}
	q = prepared[0]
	if q.Offset >= farOffset {
		counts, err := e.count(ctx, q)
		if err != nil {
			return query.Page{}, err
		}
		if total := counts[0]; total <= q.Offset {
			page := pageOf(q, total)
			page.Rows = []jsontext.Value{}
			return page, nil
		}
	}
	seek, last := e.seekFilter(q, position)
	if seek == nil {
		seek = e.frontFilter(ctx, q, position)
	}
	if seek != nil {
		page, complete, err := e.searchFrom(ctx, q, position, seek, last)
		if err != nil || complete {
			return page, err
		}
	}
	res, err := e.search(ctx, e.request(q, options{after: position.After}), preference(q))
	if err != nil {
		return query.Page{}, err
	}
	if err := res.complete(q); err != nil {
		return query.Page{}, err
	}
	return e.page(ctx, q, position, res, *res.total)
}

// position reads q's cursor. Errors: BadRequest; Unavailable.
func (e *Engine) position(ctx context.Context, q query.Query) (Position, error) {
	p, err := e.Cursors.Read(q)
	if err == nil {
		err = e.checkFolding(ctx, q, p)
	}
	return p, err
}

// expectedRows is the number of rows of q's first page plus one, given the number of
// matches.
func expectedRows(q query.Query, total int) int {
	if q.CountOnly {
		return 0
	}
	return min(total-q.Offset, q.Limit+1)
}

// complete refuses an answer with fewer rows than its total implies.
func (r result) complete(q query.Query) error {
	if r.total == nil {
		return fault.BackendUnavailable(errors.New("the answer has no total"), "elasticsearch")
	}
	rows := r.rows
	if expected := expectedRows(q, *r.total); q.After == "" && len(rows) < expected {
		return fault.BackendUnavailable(fmt.Errorf("%d rows of a page that has %d", len(rows), expected), "elasticsearch")
	}
	for _, row := range rows {
		if row.sort.Kind() != '[' {
			return fault.BackendUnavailable(errors.New("a row without its sort values"), "elasticsearch")
		}
	}
	return nil
}

// page is the page at a position, from the rows found and the number of matches.
func (e *Engine) page(ctx context.Context, q query.Query, at Position, res result, total int) (p query.Page, err error) {
	p = pageOf(q, total)
	rows := res.rows
	if dependsOnFolding(q.Sort) {
		if at.Folding, err = e.foldingOfRows(ctx, rows); err != nil {
			return query.Page{}, err
		}
	}
	p.After = func(i int) string { return e.Cursors.Make(q, at.next(q, i+1, json.RawMessage(rows[i].sort))) }
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = p.After(q.Limit - 1)
	}
	p.Rows = make([]jsontext.Value, len(rows))
	for i, row := range rows {
		p.Rows[i] = row.source
	}
	return p, nil
}

// next is the position after the first rows of q, the last of which has these sort values.
func (p Position) next(q query.Query, rows int, last json.RawMessage) Position {
	return Position{After: last, Passed: p.Passed + q.Offset + rows, Folding: p.Folding}
}

// result is the used part of the answer of one search. Its values share the bytes of the
// answer: copying pages would be most of the allocations of a search.
type result struct {
	timedOut bool
	failed   *int // shards; nil when this is not the answer of a search
	// error and status are set on a failed search of an _msearch.
	error  jsontext.Value
	status int
	// total is the number of matches, nil when they were not counted.
	total *int
	rows  []hit
	// unread is the unparsed array of rows, set instead of rows if the answer has
	// rowsLater.
	unread       jsontext.Value
	aggregations jsontext.Value
	suggest      jsontext.Value
}

// hit is a row of an answer.
type hit struct {
	index, source, sort jsontext.Value
}

func (e *Engine) search(ctx context.Context, r request, preference string) (result, error) {
	r.preference = preference
	if g := gatheringOf(ctx); g != nil {
		results, err := g.gather(ctx, r)
		if err != nil {
			return result{}, err
		}
		e.fetched(ctx, len(results[0].rows))
		return results[0], results[0].whole()
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	search := esapi.SearchRequest{
		Index: []string{r.index}, Body: bytes.NewReader(r.body), Preference: preference, Timeout: e.timeout(ctx),
		// A failed shard must fail the page, not shorten it.
		AllowPartialSearchResults: esapi.BoolPtr(false),
	}
	if r.routing != "" {
		search.Routing = []string{r.routing}
	}
	if r.background {
		search.RequestCache = new(false)
	}
	res, err := e.Elastic.Do(ctx, search)
	if err != nil {
		return result{}, searchFault(err)
	}
	s := answer{Scanner: scan.New(res.Body)}
	found := s.result()
	if err := s.err(); err != nil {
		return result{}, err
	}
	e.fetched(ctx, len(found.rows))
	return found, found.whole()
}

func (e *Engine) fetched(ctx context.Context, rows int) {
	if e.Fetched != nil {
		e.Fetched(ctx, rows)
	}
}

// whole refuses a partial answer, and rows without records.
func (r result) whole() error {
	switch {
	case r.status == http.StatusNotFound:
		return fault.BackendUnavailable(fmt.Errorf("one of several searches: %w: %.500s", query.ErrIndexGone, r.error), "elasticsearch")
	case r.status == http.StatusBadRequest && tooManyClauses.Match(r.error):
		return tooManyTerms()
	case len(r.error) > 0 && r.status >= http.StatusBadRequest:
		return searchFault(elastic.ErrorOf(r.status, r.error))
	case len(r.error) > 0:
		return fault.BackendUnavailable(fmt.Errorf("one of several searches failed: %.500s", r.error), "elasticsearch")
	case r.failed == nil:
		return fault.BackendUnavailable(errors.New("the answer does not say whether it is whole"), "elasticsearch")
	case r.timedOut || *r.failed > 0:
		return fault.BackendUnavailable(fmt.Errorf("partial result: timed out %v, %d shards failed", r.timedOut, *r.failed), "elasticsearch")
	}
	for _, row := range r.rows {
		if row.source.Kind() != '{' {
			return fault.BackendUnavailable(errors.New("a row without its record"), "elasticsearch")
		}
	}
	return nil
}

// tooManyTerms is the error for a query with more clauses than the nodes have memory for.
func tooManyTerms() error {
	return fault.Validation(fault.Issue{Code: fault.TooBig, Message: "the request has too many terms for one search; send fewer values"})
}

// searchFault is the error of a failed search. Not found means that nothing was loaded, or
// that the answer did not come from Elasticsearch.
func searchFault(err error) error {
	answer, ok := errors.AsType[*elastic.Error](err)
	switch {
	case ok && answer.Status == http.StatusBadRequest && tooManyClauses.MatchString(answer.Reason):
		return tooManyTerms()
	case ok && answer.Status == http.StatusNotFound:
		return fault.BackendUnavailable(errors.Join(query.ErrIndexGone, err), "elasticsearch")
	}
	return elastic.FaultOf(err)
}

// tooManyClauses matches the reasons of Elasticsearch, which depend on where it counts. The
// error type is that of any bad query.
var tooManyClauses = regexp.MustCompile("maxClauseCount|too many clauses")

// preference routes the pages of one relevance search to the same copies of the shards:
// scores differ between copies.
func preference(q query.Query) string {
	if !q.Sort.Relevance() {
		return ""
	}
	sum := sha256.Sum256([]byte(q.Text))
	return hex.EncodeToString(sum[:8])
}
