package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// unbrief are the members of records that brief rows leave out: long texts, and those that
// only programs need.
var unbrief = []string{
	"id", "description", "summary", "notes", "website", "source", "source_id", "source_url", "country", "latitude",
	"longitude", "contact_ids", "detected_at", "created_at", "updated_at", "updated_by",
}

// brief are the members of a brief row, given the schema of a whole one.
func (s *Server) brief(row object) []string {
	return slices.DeleteFunc(s.document.keys(row), func(name string) bool { return slices.Contains(unbrief, name) })
}

// rowOf is the schema of the rows of a search.
func (s *Server) rowOf(operation string) object {
	return s.document.schema(s.document.member(s.document.answer(operation), "data")["items"])
}

// conditionsOf are the arguments that are passed to the API unchanged.
var conditionsOf = []string{
	"query", "words", "typos", "filters", "relations", "any", "none", "sort", "search_after", "facets", "include",
	"since", "cursor", "inputs", "candidates", "min_confidence", "time_zone", "rows", "columns", "measure",
}

// body is the body of a request with the arguments that the API reads.
func (c *call) body() object {
	body := object{}
	for _, name := range conditionsOf {
		if value, is := c.given[name]; is {
			body[name] = value
		}
	}
	return body
}

// wrong is an error in the arguments.
func wrong(format string, args ...any) (*sdk.CallToolResult, error) {
	return failed("Error invalid_input: " + fmt.Sprintf(format, args...)), nil
}

func (c *call) limit(in arguments, usual int) (int, bool) {
	if _, is := c.given["limit"]; !is {
		return usual, true
	}
	return in.Limit, in.Limit >= 1 && in.Limit <= maxLimit
}

func (c *call) maxCredits(in arguments) (int, bool) {
	if _, is := c.given["max_credits"]; !is {
		return defaultCredits, true
	}
	return in.MaxCredits, in.MaxCredits >= 1 && in.MaxCredits <= maxLimit
}

func searchRecords(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(datasets, in.Dataset) {
		return wrong("dataset is one of %v", datasets)
	}
	row := c.server.rowOf("search_" + in.Dataset)
	if !in.Join {
		return c.search(ctx, in, table{"/data/" + in.Dataset + "/search", in.Dataset, row, 1, maxLimit})
	}
	if in.Dataset != "accounts" {
		return wrong("join is for accounts")
	}
	return c.search(ctx, in, table{"/data/accounts/join", "accounts with project and contact", row, recordsJoined, maxJoinLimit})
}

// table is a searchable dataset, book or View: its path, its name, the schema of its records,
// the maximum price of a row, and the maximum rows of a page.
type table struct {
	path, what string
	row        object
	each, most int
}

func searchBook(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(books, in.Dataset) {
		return wrong("dataset is one of %v", books)
	}
	return c.search(ctx, in, table{
		"/workspace/" + in.Dataset + "/search", in.Dataset + " of the book",
		c.server.rowOf("search_workspace_" + in.Dataset), 1, maxLimit,
	})
}

func searchView(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	dataset, refused, err := c.datasetOf(ctx, in.ViewID)
	if refused != nil || err != nil {
		return refused, err
	}
	row := c.server.document.schemas["View"+title(singular(dataset))+"Row"]
	return c.search(ctx, in, table{
		"/workspace/views/" + in.ViewID + "/records/search", dataset + " of the View", c.server.document.schema(row), 1,
		maxLimit,
	})
}

// viewOutput is the schema of search_view. To save tokens only search_book has the rows of
// books and Views.
func (s *Server) viewOutput() object {
	records := object{"type": "array", "items": object{"type": "object"}}
	data := object{"type": "object", "properties": object{"dataset": object{"type": "string"}, "records": records}}
	return s.document.envelope(data, s.document.answer("search_view_records")["properties"].(object)["metadata"])
}

func title(name string) string { return string(bytes.ToUpper([]byte(name[:1]))) + name[1:] }

// isID reports whether a text can be an id: one segment of a path.
func isID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

const notView = "view_id is the id of a View: manage_view with the action list shows them"

// datasetOf is the dataset of a View.
func (c *call) datasetOf(ctx context.Context, view string) (string, *sdk.CallToolResult, error) {
	if !isID(view) {
		refused, err := wrong(notView)
		return "", refused, err
	}
	a, refused, err := c.send(ctx, request{method: "GET", path: "/workspace/views/" + view})
	if refused != nil || err != nil {
		return "", refused, err
	}
	var got struct {
		Data struct{ View struct{ Dataset string } }
	}
	err = json.Unmarshal(a.body, &got)
	return got.Data.View.Dataset + "s", nil, err
}

// search answers a page. It asks before the page costs more than max_credits, and the limit
// of the request keeps the charge below what the user permitted, whatever changes meanwhile.
func (c *call) search(ctx context.Context, in arguments, of table) (*sdk.CallToolResult, error) {
	limit, ok := c.limit(in, defaultLimit/of.each)
	if !ok || limit > of.most {
		return wrong("limit is 1 to %d", of.most)
	}
	most, ok := c.maxCredits(in)
	if !ok || most < of.each {
		return wrong("max_credits is %d to %d", of.each, maxLimit)
	}
	agreement, refused := c.agreed()
	if refused != nil {
		return refused, nil
	}
	body := c.body()
	r := request{method: "POST", path: of.path, body: body, key: c.caller.Key}
	switch {
	case agreement != nil:
		most, r.key = agreement.Credits, agreement.Key
	case limit*of.each > most:
		body["limit"] = limit
		price, refused, err := c.price(ctx, r, limit*of.each)
		if refused != nil || err != nil {
			return refused, err
		}
		if price > most {
			return c.ask(fmt.Sprintf("This page of %s costs up to %d credits, more than max_credits (%d).", of.what, price, most), price,
				fmt.Sprintf("Or call with a limit of at most %d, or a higher max_credits if the user's budget allows it.", most/of.each)), nil
		}
	}
	body["limit"], body["max_bytes"], body["fields"] = min(limit, most/of.each), c.server.MaxBytes, in.Fields
	if in.Fields == nil {
		body["fields"] = c.server.brief(of.row)
	}
	if of.each > 1 {
		body["project_fields"], body["contact_fields"] = c.server.brief(
			c.server.rowOf("search_projects"),
		), c.server.brief(c.server.rowOf("search_contacts"))
	}
	a, refused, err := c.send(ctx, r)
	if refused != nil || err != nil {
		return refused, err
	}
	var got struct {
		Metadata struct {
			Total   int
			Capped  bool     `json:"total_is_capped"`
			After   *string  `json:"search_after"`
			LeftOut []string `json:"left_out"`
			Credits int
		}
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	m := got.Metadata
	rows := m.Credits
	if of.each > 1 {
		var joined struct{ Data []json.RawMessage }
		if err := json.Unmarshal(a.body, &joined); err != nil {
			return nil, err
		}
		rows = len(joined.Data)
	}
	head := fmt.Sprintf("%d of %d %s", rows, m.Total, of.what)
	if m.Capped {
		head = fmt.Sprintf("%d of more than %d %s", rows, m.Total, of.what)
	}
	if a.repeated() {
		head = "The same " + of.what + " again"
	}
	head += a.charged(m.Credits)
	if len(m.LeftOut) > 0 {
		head += fmt.Sprintf(" %d records have become too long for this answer: metadata.left_out has their ids.", len(m.LeftOut))
	}
	if m.After != nil {
		head += " More: the same call with search_after from the metadata."
	}
	return done(head, json.RawMessage(a.body))
}

// charged reports the charge of an answer, and the remaining credits.
func (a answer) charged(credits int) string {
	return fmt.Sprintf(", %d credits charged; the workspace has %s left.", credits, a.header.Get("X-Credits-Remaining"))
}

// repeated reports whether the answer is a replay.
func (a answer) repeated() bool { return a.header.Get("Idempotency-Replayed") != "" }

// price is the maximum price of a page. Where a price would reveal e-mail addresses, it is
// the limit.
func (c *call) price(ctx context.Context, r request, limit int) (int, *sdk.CallToolResult, error) {
	body := object{"dry_run": true}
	for name, value := range r.body.(object) {
		if conditions, is := value.(json.RawMessage); is && bytes.Contains(conditions, []byte(`"email"`)) {
			return limit, nil, nil
		}
		body[name] = value
	}
	a, refused, err := c.send(ctx, request{method: r.method, path: r.path, body: body})
	if refused != nil || err != nil {
		return 0, refused, err
	}
	var got struct{ Data struct{ Credits int } }
	err = json.Unmarshal(a.body, &got)
	return got.Data.Credits, nil, err
}

func getRecords(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(datasets, in.Dataset) {
		return wrong("dataset is one of %v", datasets)
	}
	if len(in.IDs) == 0 || len(in.IDs) > maxLimit {
		return wrong("ids are 1 to %d", maxLimit)
	}
	body := c.body()
	body["ids"], body["max_bytes"] = in.IDs, c.server.MaxBytes
	return c.each(
		ctx, in, request{method: "POST", path: "/data/" + in.Dataset + "/get/batch", body: body}, len(in.IDs),
		fmt.Sprintf("ids of %s", in.Dataset),
	)
}

func matchRecords(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(matched, in.Dataset) {
		return wrong("dataset is one of %v", matched)
	}
	most := len(in.Inputs) * max(in.Candidates, 1)
	if most == 0 || most > maxLimit {
		return wrong("inputs times candidates are 1 to %d", maxLimit)
	}
	body := c.body()
	body["max_bytes"] = max(c.server.MaxBytes/2, MinMaxBytes) // reasons take as much space
	return c.each(
		ctx, in, request{method: "POST", path: "/data/" + in.Dataset + "/match", body: body}, most,
		fmt.Sprintf("inputs for %s", in.Dataset),
	)
}

// permit asks before a call whose maximum price is above max_credits. It returns the key of
// the request, or a result in its place.
func (c *call) permit(in arguments, most int, what string) (key string, refused *sdk.CallToolResult) {
	permitted, ok := c.maxCredits(in)
	if !ok {
		refused, _ = wrong("max_credits is 1 to %d", maxLimit)
		return "", refused
	}
	agreement, refused := c.agreed()
	switch {
	case refused != nil:
		return "", refused
	case agreement != nil:
		return agreement.Key, nil
	case most > permitted:
		return "", c.ask(fmt.Sprintf("These %s cost up to %d credits, more than max_credits (%d).", what, most, permitted), most,
			fmt.Sprintf("Or ask for at most %d, or with a higher max_credits if the user's budget allows it.", permitted))
	}
	return c.caller.Key, nil
}

// searchMany sends several searches as one batch, whose results share the size limit of an
// answer.
func searchMany(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if most := min(maxSearches, c.server.MaxBytes/MinMaxBytes); len(in.Searches) == 0 || len(in.Searches) > most {
		return wrong("searches are 1 to %d", most)
	}
	price, searches := 0, make([]object, len(in.Searches))
	for i, s := range in.Searches {
		var dataset string
		if json.Unmarshal(s["dataset"], &dataset) != nil || !slices.Contains(datasets, dataset) {
			return wrong("searches[%d].dataset is one of %v", i, datasets)
		}
		limit := manyLimit
		if given := s["limit"]; given != nil && json.Unmarshal(given, &limit) != nil || limit < 1 || limit > maxLimit {
			return wrong("searches[%d].limit is 1 to %d", i, maxLimit)
		}
		price += limit
		body := object{
			"limit": limit, "max_bytes": c.server.MaxBytes / len(in.Searches), "fields": c.server.brief(c.server.rowOf("search_" + dataset)),
		}
		for name, value := range s {
			if name == "fields" || body[name] == nil {
				body[name] = value
			}
		}
		searches[i] = body
	}
	if price > maxLimit {
		return wrong("all limits together are at most %d, and these are %d: ask for fewer records, or in several calls", maxLimit, price)
	}
	key, refused := c.permit(in, price, "searches")
	if refused != nil {
		return refused, nil
	}
	a, refused, err := c.send(ctx, request{
		method: "POST", path: "/data/search/batch", body: object{"searches": searches}, key: key,
	})
	if refused != nil || err != nil {
		return refused, err
	}
	var got struct {
		Metadata struct{ Credits, Succeeded, Failed int }
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%d of %d searches answered", got.Metadata.Succeeded, len(in.Searches))
	if a.repeated() {
		head = "The same searches again"
	}
	return done(head+a.charged(got.Metadata.Credits), json.RawMessage(a.body))
}

// each answers a request that has a result for each item, and costs at most most.
func (c *call) each(ctx context.Context, in arguments, r request, most int, what string) (*sdk.CallToolResult, error) {
	key, refused := c.permit(in, most, what)
	if refused != nil {
		return refused, nil
	}
	r.key = key
	body := r.body.(object)
	if body["fields"] = in.Fields; in.Fields == nil {
		body["fields"] = c.server.brief(c.server.rowOf("search_" + in.Dataset))
	}
	a, refused, err := c.send(ctx, r)
	if refused != nil || err != nil {
		return refused, err
	}
	var got struct {
		Metadata struct{ Credits, Remaining int }
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	m := got.Metadata
	head := fmt.Sprintf("%d %s", m.Credits, in.Dataset)
	if a.repeated() {
		head = "The same " + in.Dataset + " again"
	}
	head += a.charged(m.Credits)
	if m.Remaining > 0 {
		head += fmt.Sprintf(" The last %d %s did not fit: ask for them again.", m.Remaining, what)
	}
	return done(head, json.RawMessage(a.body))
}

// countedAt is where a dataset, the book or a View is counted.
func countedAt(in arguments, how string) (path string, refused *sdk.CallToolResult) {
	switch {
	case in.ViewID != "" && !isID(in.ViewID):
		refused, _ = wrong(notView)
	case in.ViewID != "":
		path = "/workspace/views/" + in.ViewID + "/records/" + how
	case in.Of == "book" && slices.Contains(books, in.Dataset):
		path = "/workspace/" + in.Dataset + "/" + how
	case in.Of == "book" || in.Of != "" && in.Of != "data" || !slices.Contains(datasets, in.Dataset):
		refused, _ = wrong("dataset is one of %v, and of is data or book, which has no signals", datasets)
	default:
		path = "/data/" + in.Dataset + "/" + how
	}
	return path, refused
}

// counted asks how many records match. An answer that is longer than a result is refused, with
// what would make it shorter; else its numbers are decoded into a value.
func (c *call) counted(
	ctx context.Context, in arguments, how, shorter string, into any,
) (body []byte, refused *sdk.CallToolResult, err error) {
	path, refused := countedAt(in, how)
	if refused != nil {
		return nil, refused, nil
	}
	a, refused, err := c.send(ctx, request{method: "POST", path: path, body: c.body()})
	if refused != nil || err != nil {
		return nil, refused, err
	}
	if len(a.body) > c.server.MaxBytes {
		return nil, failed(fmt.Sprintf(
			"The answer has %d bytes, more than the %d of a result. Nothing was charged.\nWhat to do: ask for %s.",
			len(a.body), c.server.MaxBytes, shorter)), nil
	}
	return a.body, nil, json.Unmarshal(a.body, into)
}

func countAndFacets(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	var got struct{ Data struct{ Count int } }
	body, refused, err := c.counted(ctx, in, "facets", "fewer facets, or with a lower limit, a longer interval or a lower precision", &got)
	if refused != nil || err != nil {
		return refused, err
	}
	return done(fmt.Sprintf("%d %s match. Nothing charged.", got.Data.Count, in.Dataset), json.RawMessage(body))
}

// pivot counts a dataset, the book or a View by one or two fields.
func pivot(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	var got struct {
		Data struct {
			Count int
			Cells int `json:"cell_count"`
		}
	}
	body, refused, err := c.counted(ctx, in, "pivot", "fewer rows or columns by their limit, or a longer interval", &got)
	if refused != nil || err != nil {
		return refused, err
	}
	return done(fmt.Sprintf("%d %s match, in %d cells. Nothing charged.", got.Data.Count, in.Dataset, got.Data.Cells), json.RawMessage(body))
}

func readQuestion(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	path := "/data/" + in.Dataset + "/read"
	switch {
	case in.Of == "book" && slices.Contains(books, in.Dataset):
		path = "/workspace/" + in.Dataset + "/read"
	case in.Of == "book" || in.Of != "" && in.Of != "data" || !slices.Contains(datasets, in.Dataset):
		return wrong("dataset is one of %v, and of is data or book, which has no signals", datasets)
	}
	return c.free(ctx, "How the question is read. Nothing charged.", request{method: "POST", path: path, body: c.body()})
}

func changesSince(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(datasets, in.Dataset) {
		return wrong("dataset is one of %v", datasets)
	}
	limit, ok := c.limit(in, 20)
	if !ok {
		return wrong("limit is 1 to %d", maxLimit)
	}
	return c.shrunk(ctx, limit, "Changes of "+in.Dataset+". Nothing charged.", func(limit int) request {
		body := c.body()
		body["limit"] = limit
		return request{method: "POST", path: "/data/" + in.Dataset + "/changes", body: body}
	})
}

// manyOutput is the short schema of the results of several searches: it does not repeat that
// of records.
func (s *Server) manyOutput() object {
	result := object{"type": "object", "properties": object{
		"index": object{"type": "integer"}, "status": object{"type": "string"}, "error": object{"type": "object"},
		"data": object{}, "metadata": object{"type": "object"},
	}}
	data := object{"type": "object", "properties": object{"results": object{"type": "array", "items": result}}}
	return s.document.envelope(data, s.document.answer("search_data_batch")["properties"].(object)["metadata"])
}

// changesOutput is the schema of changes without records.
func (s *Server) changesOutput() object {
	answer := s.document.answer("read_accounts_changes")
	change := maps.Clone(s.document.schema(s.document.member(answer, "data")["items"]))
	properties := maps.Clone(change["properties"].(object))
	delete(properties, "record")
	change["properties"] = properties
	return s.document.envelope(object{"type": "array", "items": change}, answer["properties"].(object)["metadata"])
}

// shrunk answers a list that costs nothing. While it is too long, it is halved; the next page
// has the rest.
func (c *call) shrunk(ctx context.Context, limit int, head string, of func(limit int) request) (*sdk.CallToolResult, error) {
	for {
		a, refused, err := c.send(ctx, of(limit))
		if refused != nil || err != nil {
			return refused, err
		}
		if len(a.body) <= c.server.MaxBytes || limit == 1 {
			return done(head, json.RawMessage(a.body))
		}
		limit /= 2
	}
}

// free answers short, free operations.
func (c *call) free(ctx context.Context, head string, r request) (*sdk.CallToolResult, error) {
	a, refused, err := c.send(ctx, r)
	if refused != nil || err != nil {
		return refused, err
	}
	return done(head, json.RawMessage(a.body))
}
