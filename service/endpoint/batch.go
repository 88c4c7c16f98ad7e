package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
)

// MaxBatch is the maximum number of items in a batch; the minimum is 1.
const MaxBatch = 100

// sentItem is one item of a batch as the client sent it: its value and its JSON issues, with
// paths relative to the item.
type sentItem struct {
	Value  input.Value
	Issues input.Issues
}

// BatchItem is one item as its rule read it, or the error if it is invalid.
type BatchItem[T any] struct {
	In  T
	Err error
}

// BatchItems reads a body of exactly { name: [ 1..most items ] } and the members that options
// takes, if it is not nil. An invalid envelope fails the call; an invalid item fails alone.
func (c *Call) BatchItems(name string, most int, options func(*input.Issues, *input.Reader)) ([]sentItem, error) {
	data, err := c.read()
	if err != nil {
		return nil, err
	}
	body, problems := input.DecodeBatch(data)
	var issues input.Issues
	within := map[int]input.Issues{}
	for _, p := range problems {
		position, notNumber := 0, error(strconv.ErrSyntax)
		if len(p.Path) > 1 && p.Path[0] == name {
			position, notNumber = strconv.Atoi(p.Path[1])
		}
		if notNumber != nil || len(problems) == input.MaxBatchIssues { // there may be more problems than are listed
			issues = append(issues, p)
			continue
		}
		p.Path = slices.Clone(p.Path[2:])
		within[position] = append(within[position], p)
	}
	if len(issues) > 0 {
		if body.Kind == input.Array {
			issues[0].Message += fmt.Sprintf("; send {%q:[…]}", name)
		}
		return nil, issues.Err()
	}
	body = WithoutNulls(c.withoutMisplaced(body), c.Route.Body)
	r := issues.Object(body)
	list := r.Take(name)
	if options != nil {
		options(&issues, r)
	}
	r.Done()
	if list.Kind != input.Array {
		issues.WrongTypeInstead([]string{name}, "an array of 1 to "+strconv.Itoa(most), list, input.Wrapped("[", list, "]"))
	} else {
		issues.Length(len(list.Items), 1, most, name)
	}
	if err := issues.Err(); err != nil {
		return nil, err
	}
	items := make([]sentItem, len(list.Items))
	for i, v := range list.Items {
		items[i] = sentItem{v, within[i]}
	}
	return items, nil
}

// ValidItems returns the items without an error, and their positions.
func ValidItems[T any](items []BatchItem[T]) (positions []int, valid []T) {
	for i, item := range items {
		if item.Err == nil {
			positions, valid = append(positions, i), append(valid, item.In)
		}
	}
	return positions, valid
}

// ResultsOf returns the results of a batch of ids, before it runs.
func ResultsOf[T fmt.Stringer](items []BatchItem[T]) []BatchResult {
	results := make([]BatchResult, len(items))
	for i, item := range items {
		results[i].Err = item.Err
		if item.Err == nil {
			results[i].ID = item.In.String()
		}
	}
	return results
}

// BatchResult is the outcome of one item. Its id is "" when it is not known.
type BatchResult struct {
	ID   string
	Data any // nil in deletions and memberships
	Err  error
}

// BatchMetadata is the metadata of a batch.
type BatchMetadata struct {
	Credits   int64 `json:"credits"`
	Succeeded int   `json:"succeeded"`
	Failed    int   `json:"failed"`
}

// BatchMetadataSchema is the schema of BatchMetadata.
var BatchMetadataSchema = schema.Named("BatchMetadata", schema.Object(
	schema.Required("credits", schema.Always(0)),
	schema.Required("succeeded", schema.Integer(0, MaxBatch).Example(1)),
	schema.Required("failed", schema.Integer(0, MaxBatch)),
))

// ItemError is the error of a failed item in the response.
type ItemError struct {
	Code    fault.Code    `json:"code"`
	Message string        `json:"message"`
	DocURL  string        `json:"doc_url"`
	Issues  []fault.Issue `json:"issues,omitzero"`
	// MergedInto is the id of the record that the missing one was merged into.
	MergedInto string `json:"merged_into,omitzero"`
	// Current is the workspace's data on a record that is not as expected.
	Current jsontext.Value `json:"current,omitzero"`
}

// itemIssues returns the issues of all items as the error of a call that fails as a
// whole, with paths relative to the body.
func itemIssues[T any](name string, items []BatchItem[T]) error {
	var issues input.Issues
	for i, item := range items {
		e, _ := errors.AsType[*fault.Error](item.Err)
		if e == nil {
			continue
		}
		for _, issue := range e.Issues {
			issue.Path = slices.Concat([]string{name, strconv.Itoa(i)}, issue.Path)
			issues = append(issues, issue)
		}
	}
	return issues.Err()
}

// Messages of items whose outcome is unknown.
const (
	inDoubtText  = "the service could not answer: this item was done wholly, or not at all; look, or send it again"
	notTriedText = "not tried, because the service could not answer for an item before; send it again"
	// Those of searches.
	NotSearchedText = "the service could not answer this search; send it again"
	TooManyBytes    = "not searched, because the records of this batch already have 16 MB; send it in another batch"
)

// unavailableTexts are messages of items that are known not to be done.
var unavailableTexts = []string{notTriedText, NotSearchedText, TooManyBytes}

// OneByOne executes the valid items, each in a transaction of its own. It stops at an outage,
// because the remaining items would wait for the same backend, and at an internal error. With
// an Idempotency-Key, items that an earlier request completed are not repeated.
func (c *Call) OneByOne(results []BatchResult, do func(i int) BatchResult) (err error) {
	stopped := false
	for i := range results {
		switch {
		case results[i].Err != nil:
		case stopped:
			results[i].Err = fault.New(fault.Unavailable, notTriedText)
		default:
			if results[i], err = c.itemOnce(i, do); err != nil {
				return err
			}
			stopped = IsServerFault(results[i].Err)
		}
	}
	return nil
}

// IsServerFault reports whether an error is an outage or internal, not one that the
// client can correct.
func IsServerFault(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Unavailable || code == fault.Internal
}

// ItemResults renders the results in input order, with the id of each under idKey.
// While no item has succeeded, an outage fails the call, and the client repeats all
// of it. Once one has, the client needs the outcome of each item.
func (c *Call) ItemResults(idKey string, results []BatchResult) ([]map[string]any, BatchMetadata, error) {
	done := slices.ContainsFunc(results, func(r BatchResult) bool { return r.Err == nil })
	rendered := make([]map[string]any, len(results))
	var m BatchMetadata
	logged := false
	for i, r := range results {
		item := map[string]any{"index": i, "status": "ok"}
		if r.ID != "" {
			item[idKey] = r.ID
		}
		if IsServerFault(r.Err) {
			if !done {
				return nil, m, r.Err
			}
			c.Unfinished = true
			if !logged {
				logged = true
				c.LogFailure(FaultOf(r.Err), r.Err)
			}
		}
		if r.Err != nil {
			m.Failed++
			failure := c.ItemErrorOf(r.Err)
			item["status"], item["error"] = failure.Code, failure
		} else {
			m.Succeeded++
			if r.Data != nil {
				item["data"] = r.Data
			}
		}
		rendered[i] = item
	}
	return rendered, m, nil
}

// BatchReply is the answer of a batch.
func (c *Call) BatchReply(idKey string, results []BatchResult) (Reply, error) {
	items, m, err := c.ItemResults(idKey, results)
	return Reply{map[string]any{"results": items}, m}, err
}

// ItemErrorOf is the error of an item in the response.
func (c *Call) ItemErrorOf(err error) ItemError {
	s := c.server
	e := FaultOf(err)
	item := ItemError{e.Code, s.addresses.in(e.Message), s.docURL(e.Code), s.addresses.inIssues(e.Issues), e.MergedInto, e.Current}
	switch {
	case e.Code == fault.Internal:
		item.Message = InternalText
	case e.Code == fault.Unavailable && !slices.Contains(unavailableTexts, e.Message):
		item.Message = inDoubtText
	}
	return item
}

// ItemCodes are the codes of failed items, in order.
func ItemCodes(codes []fault.Code) []fault.Code {
	return slices.SortedFunc(slices.Values(codes), func(a, b fault.Code) int { return cmp.Compare(a, b) })
}

// ItemMeanings describes when an item of a batch fails with each of the codes.
func ItemMeanings(codes []fault.Code) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		row := errorTable[code]
		texts[i] = "- `" + string(code) + "`: " + cmp.Or(row.item, row.meaning)
	}
	return strings.Join(texts, "\n")
}

// BatchCodes are the codes that items of a batch can fail with: those of the
// route, and those of any batch.
func BatchCodes(own ...fault.Code) []fault.Code {
	return append([]fault.Code{fault.InvalidInput, fault.Internal, fault.Unavailable}, own...)
}

// BatchResults is the schema of the results of a batch's items. data is nil if successful
// items have none. The id is missing if the item was too malformed to read it.
func BatchResults(idKey string, data *schema.Schema, codes ...fault.Code) *schema.Schema {
	index := schema.Required("index", schema.Integer(0, MaxBatch-1))
	if len(codes) == 0 {
		return schema.Array(
			schema.Object(index, schema.Required(idKey, schema.UUID()), schema.Required("status", schema.Const("ok"))),
			1, MaxBatch,
		)
	}
	codes = ItemCodes(codes)
	members := []schema.Property{
		index, schema.Optional(idKey, schema.UUID()),
		schema.Required("status", schema.OneOf(append([]fault.Code{"ok"}, codes...)...)),
	}
	good, bad := schema.Requires(idKey).And(schema.Never().At("error")), schema.Requires("error")
	if data != nil {
		good, bad = good.And(schema.Requires("data")), bad.And(schema.Never().At("data"))
		members = append(members, schema.Optional("data", data.Described("Of an item that succeeded.")))
	}
	failure := ItemErrorSchema.Narrowed((&schema.Schema{Enum: schema.OneOf(codes...).Enum}).At("code"))
	members = append(members, schema.Optional("error", failure.Described("Of an item that failed:\n\n"+ItemMeanings(codes))))
	return schema.Array(schema.Object(members...).When(schema.Is("status", "ok"), good, bad), 1, MaxBatch)
}

// ItemErrorSchema is the schema of ItemError.
var ItemErrorSchema = schema.Named("ItemError", schema.Object(
	schema.Required("code", schema.Named("ItemErrorCode", errorCodes(func(fault.Code, errorRow) bool { return true }))),
	schema.Required("message", messageSchema),
	schema.Required("doc_url", docURLSchema),
	schema.Optional("issues", schema.Array(issueSchema, 1, fault.MaxIssues).Described("With `invalid_input`.")),
	schema.Optional("merged_into", mergedIntoSchema),
	schema.Optional("current", currentSchema),
))

// BatchBody is a body of 1..100 items.
func BatchBody(member string, item *schema.Schema, options ...schema.Property) *schema.Schema {
	items := schema.Array(item, 1, MaxBatch).Described("The service takes items of another shape too: they fail alone, as `invalid_input`.")
	return schema.Object(append([]schema.Property{schema.Required(member, items)}, options...)...)
}

// batchText is the description of every batch.
const batchText = "1 to 100 items, which apply one after the other; one that fails stops none of the others. Answers 200 with one result for each, in their order. A 503 means that no item is known to be done; once one is, an outage makes the rest `unavailable`."

// ResultsData is the data of a batch.
func ResultsData(results *schema.Schema) *schema.Schema {
	return schema.Object(schema.Required("results", results))
}

// storedItem is the stored form of a completed item, until the batch is complete.
type storedItem struct {
	ID   string         `json:"id"`
	Data jsontext.Value `json:"data,omitzero"`
}

// itemOnce runs do for an item of a batch, or returns what it did for an earlier request.
func (c *Call) itemOnce(i int, do func(i int) BatchResult) (r BatchResult, err error) {
	if !c.Idempotent() {
		return do(i), nil
	}
	stored, replayed, err := c.onceFor(i+1, func() ([]byte, error) {
		if r = do(i); r.Err != nil {
			return nil, r.Err
		}
		item := storedItem{ID: r.ID}
		if r.Data != nil {
			data, err := json.Marshal(r.Data, json.Deterministic(true))
			if err != nil {
				return nil, err
			}
			item.Data = data
		}
		return json.Marshal(item)
	})
	switch code := fault.CodeOf(err); {
	case code == fault.IdempotencyConflict || code == fault.IdempotencyInProgress:
		return r, err
	case err != nil:
		return BatchResult{ID: r.ID, Err: err}, nil
	case !replayed:
		return r, nil
	}
	var item storedItem
	if err := json.Unmarshal(stored, &item); err != nil {
		return r, err
	}
	r = BatchResult{ID: item.ID}
	if item.Data != nil {
		r.Data = item.Data
	}
	return r, nil
}
