package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/credits"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/views"
)

// Limits of a batch of searches.
const (
	maxBatchSearches = 50
	// batchLimit is the limit of a search of a batch that gives none.
	batchLimit = 20
	// maxBatchRows is the maximum of all limits together.
	maxBatchRows = 1_000
	// maxBatchBytes is how many bytes the records of a batch have. The record that reaches it
	// is the last one's.
	maxBatchBytes = 16 << 20
	// batchWithin bounds the time of all searches.
	batchWithin = 15 * time.Second
	// maxMergedOffset is the highest offset in a View whose searches are merged.
	maxMergedOffset = 1_000
	// batchesAtOnce is how many batches run at once on a server, batchesOfWorkspace how many
	// of one workspace. Others wait for batchWaits.
	batchesAtOnce      = 16
	batchesOfWorkspace = batchesAtOnce / 4
	batchWaits         = time.Second
	// renewEach is how often the lease of a batch's Idempotency-Key is renewed.
	renewEach = 2 * time.Second
)

// Why searches of a batch have no answer.
const (
	notSearchedText = "the service could not answer this search; send it again"
	tooManyBytes    = "not searched, because the records of this batch already have 16 MB; send it in another batch"
	grantedText     = "the searches before this one may use what was left of the credits; send it again in another request"
)

const searchesMember = "searches"

var searchBatchMetadata = schema.Named("SearchBatchMetadata", schema.Object(
	schema.Required("credits", schema.Integer(0, maxBatchRows).Described("The sum of the searches.").Example(1)),
	schema.Required("succeeded", schema.Integer(0, maxBatchSearches).Example(1)),
	schema.Required("failed", schema.Integer(0, maxBatchSearches)),
))

// searchBatchRoute is a batch of the searches whose bodies are alternatives.
func searchBatchRoute(path, operation string, scope workspace.Scope, summary string, examples []example, alternatives []*schema.Schema,
	read func(*call) func(issues input.Issues, item input.Value) (searching, error)) Route {
	item := schema.Named(schema.Identifier(operation)+"Item", schema.AnyOfObjects(alternatives...))
	items := schema.Array(item, 1, maxBatchSearches).Described("Each is the body of a single search, with a `limit` of " + strconv.Itoa(batchLimit) +
		" by default. All limits together are at most 1,000. The service takes items of another shape too: they fail alone, as `invalid_input`.")
	return Route{Method: "POST", Path: path, Operation: operation,
		Scope: scope, Throttling: Metered, WorkspaceRequired: scope == workspace.DataRead, Budget: Budget{placesSearchBatch, rowsSearch, 300},
		endpoint: endpoint{body: schema.Object(schema.Required(searchesMember, items)), item: item, items: searchesMember, handle: func(c *call) (reply, error) {
			return c.searchBatch(read(c))
		}},
		doc: operationDoc{
			tag: tagData, summary: summary, examples: examples,
			text: "1 to " + strconv.Itoa(maxBatchSearches) + " searches in one call, each as its own operation answers it, and charged to that. " +
				"Credits are granted in order: searches after the one that reaches the ceiling or the key's budget are `rate_limited` or `key_budget_used`, and are not run. " +
				"Takes one turn of the key's rate, and owes one for each further search.",
			data: resultsData(searchResultsSchema), metadata: searchBatchMetadata,
		}}
}

// searchItemMetadata is the metadata of a page, or of a dry run.
var searchItemMetadata = func() *schema.Schema {
	properties := slices.Clone(pageMetadataProperties)
	for i, p := range properties {
		properties[i].Required = p.Name == "credits"
	}
	return schema.Named("SearchItemMetadata", schema.Object(properties...))
}()

var searchResultsSchema = func() *schema.Schema {
	codes := itemCodes(batchCodes(fault.BadRequest, fault.RateLimited, fault.KeyBudgetUsed, fault.TooManyRequests, fault.ViewNotFound))
	failure := itemErrorSchema.Narrowed((&schema.Schema{Enum: schema.OneOf(codes...).Enum}).At("code"))
	return schema.Array(schema.Object(
		schema.Required("index", schema.Integer(0, maxBatchSearches-1)),
		schema.Required("status", schema.OneOf(append([]fault.Code{"ok"}, codes...)...)),
		schema.Optional("data", (&schema.Schema{}).Described("Of a search that succeeded: what the single search answers.").Example([]any{})),
		schema.Optional("metadata", searchItemMetadata.Described("Of a search that succeeded.")),
		schema.Optional("error", failure.Described("Of a search that failed:\n\n"+itemMeanings(codes))),
	).When(schema.Is("status", "ok"), schema.Requires("data", "metadata").And(schema.Never().At("error")), schema.Requires("error").And(schema.Never().At("data"))), 1, maxBatchSearches)
}()

// dataBatchRoute is the batch of searches of the Data API.
func (s *Server) dataBatchRoute() Route {
	var bodies []*schema.Schema
	for _, d := range query.Datasets {
		bodies = append(bodies, query.SearchRule(d, query.Data).Schema.With(schema.Required("dataset", schema.OneOf(d))))
	}
	return searchBatchRoute("/data/search/batch", "search_data_batch", workspace.DataRead, "Several searches of any dataset",
		[]example{{"two", "Firms and projects of a city", []byte(`{"searches":[{"dataset":"accounts","query":"builders","filters":{"city":{"value":"calgary"}}},{"dataset":"projects","filters":{"city":{"value":"calgary"}},"limit":5}]}`)}},
		bodies, s.readDataItem)
}

// workspaceBatchRoute is the batch of searches of books and Views.
func (s *Server) workspaceBatchRoute() Route {
	var bodies []*schema.Schema
	for _, d := range query.Held { // what a book takes, a View takes too
		body := query.SearchRule(d, query.View).Schema.With(schema.Optional("view_id", schema.UUID())).With(schema.Optional("dataset", schema.OneOf(d)))
		bodies = append(bodies, body.When(schema.Requires("view_id"), schema.Never().At("dataset"), schema.Requires("dataset")))
	}
	return searchBatchRoute("/workspace/search/batch", "search_workspace_batch", workspace.WorkspaceRead, "Several searches of the book and of Views",
		[]example{{"two", "The book, and a View", []byte(`{"searches":[{"dataset":"accounts","filters":{"tags":{"value":"priority"}}},{"view_id":"` + schema.SampleID + `","limit":5}]}`)}},
		bodies, s.readWorkspaceItem)
}

func (s *Server) readDataItem(c *call) func(input.Issues, input.Value) (searching, error) {
	datasets := rule.Enum(query.Datasets...)
	return func(issues input.Issues, item input.Value) (searching, error) {
		d, body, known := datasetOf(&issues, item, datasets)
		if !known {
			return searching{}, issues.Err()
		}
		q, err := readItem(&issues, body, query.SearchRule(d, query.Data))
		return s.dataSearch(q), err
	}
}

func (s *Server) readWorkspaceItem(c *call) func(input.Issues, input.Value) (searching, error) {
	datasets := rule.Enum(query.Held...)
	found := map[views.ID]views.View{}
	return func(issues input.Issues, item input.Value) (searching, error) {
		for _, name := range []string{"dataset", "view_id"} { // generated clients send both
			if item.Get(name).Kind == input.Null {
				item = without(item, name)
			}
		}
		if item.Get("view_id").Kind == input.Absent {
			d, body, known := datasetOf(&issues, item, datasets)
			if !known {
				return searching{}, issues.Err()
			}
			q, err := readItem(&issues, body, query.SearchRule(d, query.Book))
			return s.bookSearch(c, q), err
		}
		if item.Get("dataset").Kind != input.Absent {
			issues.Add(fault.Custom, []string{"dataset"}, "belongs to searches of the book: leave it out beside view_id")
		}
		id := rule.UUID[uuid.UUID]().Member(&issues, issues.Object(only(item, "view_id")), "view_id", true)
		if err := issues.Err(); err != nil {
			return searching{}, err
		}
		body := withoutNulls(without(item, "view_id"), viewBodies)
		search, v, err := s.viewSearch(c, views.ID(id), found, func(d query.Dataset) (query.Query, error) {
			var none input.Issues
			return readItem(&none, body, query.SearchRule(d, query.View))
		}, body)
		if err == nil && search.q.Offset > maxMergedOffset && s.Records.Merged(v, search.q) {
			err = fault.Validation(fault.Issue{Code: fault.TooBig, Path: []string{"offset"}, Message: "must be at most 1000 in a batch for a View whose records come from two searches; send this search alone, or follow search_after"})
		}
		return search, err
	}
}

// datasetOf reads the dataset of an item, and returns the rest.
func datasetOf(issues *input.Issues, item input.Value, datasets rule.Rule[query.Dataset]) (d query.Dataset, body input.Value, known bool) {
	if item.Kind != input.Object {
		issues.Object(item)
		return "", item, false
	}
	before := len(*issues)
	d = datasets.Member(issues, issues.Object(only(item, "dataset")), "dataset", true)
	return d, without(item, "dataset"), len(*issues) == before
}

// only is an object with the member of a name, if it has it.
func only(v input.Value, name string) input.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m input.Member) bool { return m.Name != name })
	return v
}

// without is an object without a member.
func without(v input.Value, name string) input.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m input.Member) bool { return m.Name == name })
	return v
}

// readItem reads the body of a search in a batch.
func readItem(issues *input.Issues, body input.Value, by rule.Rule[query.Query]) (query.Query, error) {
	body = withoutNulls(body, by.Schema)
	q := by.Read(issues, body)
	if body.Get("limit").Kind == input.Absent {
		q.Limit = batchLimit
	}
	return q, issues.Err()
}

// batchedSearch is a search of a batch, and what comes of it.
type batchedSearch struct {
	searching
	err error
	// refused is set if the body alone is why it is not run.
	refused bool
	reply   reply
	rows    []jsontext.Value // whole
	bytes   int
	// found gives back the tokens of a search that reads e-mail addresses.
	found func()
}

// searchBatch answers a batch whose items read reads.
func (c *call) searchBatch(read func(issues input.Issues, item input.Value) (searching, error)) (reply, error) {
	sent, err := c.batchItems(searchesMember, maxBatchSearches, nil)
	if err != nil || len(c.pathIssues) > 0 {
		return reply{}, joinIssues(c.pathIssues, err)
	}
	b := make([]*batchedSearch, len(sent))
	rows := 0
	for i, item := range sent {
		value, _ := query.ResolveDates(item.value, c.began)
		b[i] = &batchedSearch{}
		if b[i].searching, b[i].err = read(item.issues, value); b[i].err == nil {
			rows += b[i].q.Limit
		} else if b[i].refused = true; isServerFault(b[i].err) {
			return reply{}, b[i].err
		}
	}
	if rows > maxBatchRows {
		return reply{}, fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{searchesMember}, Message: "the limits of all searches together must be at most 1000, and are " + strconv.Itoa(rows)})
	}
	release, err := c.acquireBatch()
	if err != nil {
		return reply{}, err
	}
	defer release()
	c.oweTurns(len(b) - 1)
	return c.meteredBatch(b)
}

// acquireBatch waits for the place of a batch.
func (c *call) acquireBatch() (release func(), err error) {
	ctx, cancel := context.WithTimeout(c.Context(), batchWaits)
	defer cancel()
	if release, err = c.server.load.batches.Acquire(ctx, c.workspace().String(), 1, batchesOfWorkspace, batchesAtOnce); err != nil {
		return nil, c.busy()
	}
	return release, nil
}

// meteredBatch is metered for the searches of a batch.
func (c *call) meteredBatch(b []*batchedSearch) (reply, error) {
	var amounts []int64
	var asked []*batchedSearch
	for _, item := range b {
		if item.err == nil && !item.q.DryRun {
			amounts, asked = append(amounts, int64(item.q.Limit)), append(asked, item)
		}
	}
	if len(asked) == 0 {
		if err := c.showUnmetered(); err != nil {
			return reply{}, err
		}
		c.runBatch(b)
		r, _, err := c.batchAnswer(b)
		return r, err
	}
	w := c.principal.Workspace
	reservation, granted, kept, window, err := c.server.Ledger.ReserveItems(c.Context(), w.ID.String(), w.CreditCeiling, c.route.Operation, amounts, c.key(), credits.Once(c.once))
	if err := c.reservation(window, err); err != nil {
		return reply{}, err
	}
	if kept != nil {
		return c.replayBatch(b, kept)
	}
	defer reservation.Settle(c.Context(), 0) //nolint:errcheck // it lapses by itself
	reserved := int64(0)
	for i, item := range asked {
		if i < granted {
			reserved += amounts[i]
			c.server.Meter.CreditsReserved(item.operation, amounts[i])
		} else {
			item.err = c.notGranted(window, reserved)
		}
	}
	stop := c.renewing(reservation)
	c.runBatch(b)
	stop()
	if c.left() && slices.ContainsFunc(b, func(item *batchedSearch) bool { return isServerFault(item.err) }) {
		// What is charged is kept, and this would not be: the repetition runs, and is charged.
		return reply{}, fault.BackendUnavailable(context.Cause(c.Context()), "the request")
	}
	r, charges, err := c.batchAnswer(b)
	if err != nil {
		return reply{}, err
	}
	if window, err = reservation.SettleItems(c.Context(), charges, c.kept); err != nil {
		return reply{}, err
	}
	c.showCharged(window, charges)
	return r, nil
}

// notGranted is why a search after others that reserved credits is not run.
func (c *call) notGranted(w credits.Window, reserved int64) error {
	switch {
	case w.Used+reserved >= w.Ceiling:
		return fault.New(fault.RateLimited, grantedText)
	case w.Key.Budget > 0 && w.Key.Used+reserved >= w.Key.Budget:
		return fault.New(fault.KeyBudgetUsed, grantedText)
	}
	return credits.Held()
}

// renewing renews the lease of the request's key until stop is called.
func (c *call) renewing(r *credits.Reservation) (stop func()) {
	if !c.keeping() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Context())
	go func() {
		each := time.NewTicker(renewEach)
		defer each.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-each.C:
				r.Renew(ctx)
			}
		}
	}()
	return cancel
}

// runBatch runs the searches that have no error yet.
func (c *call) runBatch(b []*batchedSearch) {
	var tasks []*batchedSearch
	for _, item := range b {
		if item.err == nil {
			item.err = c.tokenOf(item)
		}
		if item.err == nil {
			tasks = append(tasks, item)
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), batchWithin)
	defer cancel()
	var bytes atomic.Int64
	c.server.Search.Together(ctx, len(tasks), func(ctx context.Context, i int) {
		item := tasks[i]
		if bytes.Load() > maxBatchBytes {
			item.err = fault.New(fault.Unavailable, tooManyBytes)
			return
		}
		if item.q.DryRun {
			item.reply, item.err = c.dryPage(ctx, item.searching)
			return
		}
		item.reply, item.rows, item.err = c.searchPage(ctx, item.searching)
		for _, row := range item.rows {
			item.bytes += len(row)
		}
		bytes.Add(int64(item.bytes))
	})
	sum := 0
	for _, item := range tasks {
		if sum += item.bytes; sum > maxBatchBytes && sum > item.bytes && item.bytes > 0 {
			item.err = fault.New(fault.Unavailable, tooManyBytes)
		}
		if item.found != nil && item.err == nil && len(item.rows) > 0 {
			item.found()
		}
	}
}

// tokenOf takes the tokens that the single search would take.
func (c *call) tokenOf(item *batchedSearch) (err error) {
	switch {
	case item.q.DryRun:
		return c.takeToken()
	case item.reads:
		item.found, err = c.readAddresses()
	}
	return err
}

// batchAnswer is the answer of a batch, what it costs, and what is kept of it in c.kept.
// While no search has succeeded, an outage fails the call, as in every batch.
func (c *call) batchAnswer(b []*batchedSearch) (r reply, charges []credits.Charge, err error) {
	done := slices.ContainsFunc(b, func(item *batchedSearch) bool { return item.err == nil })
	m := batchMetadata{}
	results := make(searchResults, len(b))
	for i, item := range b {
		if isServerFault(item.err) {
			if !done {
				return reply{}, nil, item.err
			}
			if !c.unfinished {
				c.unfinished = true
				c.logFailure(faultOf(item.err), item.err)
			}
		}
		if item.err != nil {
			m.Failed++
			failure := c.server.itemErrorOf(notSearched(item.err))
			results[i].failure = &failure
			continue
		}
		m.Succeeded++
		results[i].reply = item.reply
		if n := int64(len(item.rows)); n > 0 {
			m.Credits += n
			at := slices.IndexFunc(charges, func(c credits.Charge) bool { return c.Operation == item.operation })
			if at < 0 {
				at, charges = len(charges), append(charges, credits.Charge{Operation: item.operation})
			}
			charges[at].Credits += n
		}
	}
	if c.keeping() && !c.unfinished && !slices.ContainsFunc(b, func(item *batchedSearch) bool { return fault.CodeOf(item.err) == fault.TooManyRequests }) {
		c.kept, err = keptBatch(b, results)
	}
	return reply{results, m}, charges, err
}

// notSearched is an outage in the words of a search.
func notSearched(err error) error {
	e, ours := errors.AsType[*fault.Error](err)
	if !ours || e.Code != fault.Unavailable || e.Message == tooManyBytes {
		return err
	}
	return fault.New(fault.Unavailable, notSearchedText)
}

// searchResults are the results of a batch, rendered as the single searches are.
type searchResults []struct {
	reply   reply
	failure *itemError
}

// append appends the data of the batch.
func (all searchResults) append(b []byte) (_ []byte, err error) {
	b = append(b, `{"results":[`...)
	for i, r := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		if r.failure != nil {
			failure, err := json.Marshal(r.failure)
			if err != nil {
				return nil, err
			}
			b = append(append(b, `,"status":"`...), r.failure.Code...)
			b = append(append(append(b, `","error":`...), failure...), '}')
			continue
		}
		b = append(b, `,"status":"ok",`...)
		at := len(b)
		if b, err = r.reply.append(b); err != nil {
			return nil, err
		}
		b = slices.Delete(b, at, at+1) // {"data":…,"metadata":…} without its brace
	}
	return append(b, `]}`...), nil
}

// keptSearch is what is kept of a search in a batch. Of one that was refused for its body
// alone that is the code: the repetition, which has the same body, refuses it anew.
type keptSearch struct {
	Metadata jsontext.Value `json:"m,omitzero"`
	Rows     int            `json:"n,omitzero"`
	Code     fault.Code     `json:"c,omitzero"`
	Message  string         `json:"t,omitzero"`
}

// maxKeptBatch bounds what is kept of a batch, in bytes. A repetition of a longer one runs.
const maxKeptBatch = 128 << 10

// keptBatch keeps the metadata and ids of each search, as keptPage; nil if that is too long.
func keptBatch(b []*batchedSearch, results searchResults) ([]byte, error) {
	all := make([]keptSearch, len(b))
	var ids []uuid.UUID
	for i, item := range b {
		all[i].Rows = len(item.rows)
		if failure := results[i].failure; failure != nil {
			if all[i] = (keptSearch{Code: failure.Code}); !item.refused {
				all[i].Message = failure.Message
			}
		}
		if m, is := item.reply.metadata.(pageMetadata); is && item.err == nil {
			own, err := idsOf(item.rows)
			if err != nil {
				return nil, err
			}
			ids = append(ids, own...)
			if all[i].Metadata, err = json.Marshal(m.free()); err != nil {
				return nil, err
			}
		}
	}
	kept, err := keptFormOf(all, "", ids)
	if len(kept) > maxKeptBatch {
		return nil, err
	}
	return kept, err
}

// failureAgain is the failure of a search in a repetition, nil if it has none.
func (c *call) failureAgain(item *batchedSearch, kept keptSearch) *itemError {
	var failure itemError
	switch {
	case item.err != nil: // it is read anew, and its View may be gone
		failure = c.server.itemErrorOf(item.err)
	case kept.Code != "":
		failure = c.server.itemErrorOf(fault.New(kept.Code, "%s", cmp.Or(kept.Message, "refused as at first")))
	default:
		return nil
	}
	return &failure
}

// replayBatch answers a repetition: each search with its present rows, and a token for each.
func (c *call) replayBatch(b []*batchedSearch, kept []byte) (reply, error) {
	return c.replay(kept, func(ctx context.Context, page keptPage) (reply, error) {
		c.oweTokens(len(b) - 1)
		var all []keptSearch
		if err := json.Unmarshal(page.Metadata, &all); err != nil {
			return reply{}, err
		}
		if len(all) != len(b) {
			return reply{}, fault.New(fault.Internal, "a kept batch has another number of searches")
		}
		ctx, cancel := context.WithTimeout(ctx, batchWithin)
		defer cancel()
		results := make(searchResults, len(b))
		pages := make([]keptPage, len(b))
		for i, one := range all {
			results[i].failure = c.failureAgain(b[i], one)
			pages[i].Metadata = one.Metadata
			n := min(one.Rows, len(page.IDs))
			pages[i].IDs, page.IDs = page.IDs[:n], page.IDs[n:]
		}
		errs := make([]error, len(b))
		c.server.Search.Together(ctx, len(b), func(ctx context.Context, i int) {
			switch {
			case results[i].failure != nil:
			case b[i].q.DryRun:
				results[i].reply, errs[i] = c.dryPage(ctx, b[i].searching)
			default:
				results[i].reply, errs[i] = c.pageAgain(ctx, b[i].searching, pages[i])
			}
		})
		m := batchMetadata{}
		for i := range results {
			if errs[i] != nil {
				return reply{}, errs[i]
			}
			if results[i].failure != nil {
				m.Failed++
			} else {
				m.Succeeded++
			}
		}
		return reply{results, m}, nil
	})
}
