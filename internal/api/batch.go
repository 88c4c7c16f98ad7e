package api

import (
	"errors"
	"slices"
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// maxBatch is how many items a batch call takes; the fewest is 1.
const maxBatch = 100

// batchItem is one item of a batch as it was sent: its value, and what is wrong
// with it already as JSON, with paths that begin at the item.
type batchItem struct {
	value  input.Value
	issues input.Issues
}

// batchItems reads a body of exactly { name: [ 1..100 items ] }. A wrong
// envelope fails the call; what is wrong with an item is the item's own.
func (c *call) batchItems(name string) ([]batchItem, error) {
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
		if notNumber != nil || len(problems) == input.MaxBatchIssues { // there may be more than are listed
			issues = append(issues, p)
			continue
		}
		p.Path = slices.Clone(p.Path[2:])
		within[position] = append(within[position], p)
	}
	if len(issues) > 0 {
		return nil, issues.Err()
	}
	r := issues.Object(body)
	list := r.Take(name)
	r.Done()
	if list.Kind != input.Array {
		issues.WrongType([]string{name}, "an array", list)
	} else {
		issues.Length(len(list.Items), 1, maxBatch, name)
	}
	if err := issues.Err(); err != nil {
		return nil, err
	}
	items := make([]batchItem, len(list.Items))
	for i, v := range list.Items {
		items[i] = batchItem{v, within[i]}
	}
	return items, nil
}

// batchIDs reads a body of exactly { ids: [ 1..100 UUIDs ] }. What is no UUID is
// an empty string and an error at its position.
func (c *call) batchIDs() (ids []string, errs []error, err error) {
	items, err := c.batchItems("ids")
	if err != nil {
		return nil, nil, err
	}
	ids, errs = make([]string, len(items)), make([]error, len(items))
	for i, item := range items {
		issues := item.issues
		if id, ok := issues.UUID(item.value); ok {
			ids[i] = id
		}
		errs[i] = issues.Err()
	}
	return ids, errs, nil
}

// batchResult is the outcome of one item. Its id is "" when it is not known.
type batchResult struct {
	id   string
	data any // nil in deletions and memberships
	err  error
}

// batchMetadata is the metadata of a batch.
type batchMetadata struct {
	Credits   int64 `json:"credits"`
	Succeeded int   `json:"succeeded"`
	Failed    int   `json:"failed"`
}

// itemError is what a failed item says.
type itemError struct {
	Code    fault.Code    `json:"code"`
	Message string        `json:"message"`
	Issues  []fault.Issue `json:"issues,omitzero"`
}

// itemFaults is what is wrong with items, as the error of a call that fails as a
// whole: their paths lead through the batch.
func itemFaults(name string, results []batchResult) error {
	var issues input.Issues
	for i, r := range results {
		e, _ := errors.AsType[*fault.Error](r.err)
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

// Messages of items that are not known to be done.
const (
	inDoubtText  = "the service could not answer: this item was done wholly, or not at all; look, or send it again"
	notTriedText = "not tried, because the service could not answer for an item before; send it again"
)

// oneByOne does the items that nothing is wrong with yet, each in a transaction
// of its own. An outage ends it: what is left would only wait for the same
// backend. A mistake of ours ends it too.
func oneByOne(results []batchResult, do func(i int) batchResult) {
	stopped := false
	for i := range results {
		switch {
		case results[i].err != nil:
		case stopped:
			results[i].err = fault.New(fault.Unavailable, notTriedText)
		default:
			results[i] = do(i)
			stopped = isOurs(results[i].err)
		}
	}
}

// isOurs tells an outage or a mistake of ours from what the client can mend.
func isOurs(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Unavailable || code == fault.Internal
}

// itemResults renders the outcomes in input order, the id of each under idKey.
// An outage is the call's error while no item is known to be done: the client
// sends all of it again. Once one is, the client must learn what became of each.
func (c *call) itemResults(idKey string, results []batchResult) ([]map[string]any, batchMetadata, error) {
	done := slices.ContainsFunc(results, func(r batchResult) bool { return r.err == nil })
	rendered := make([]map[string]any, len(results))
	var m batchMetadata
	told := false
	for i, r := range results {
		item := map[string]any{"index": i, "status": "ok"}
		if r.id != "" {
			item[idKey] = r.id
		}
		if isOurs(r.err) {
			if !done {
				return nil, m, r.err
			}
			if !told {
				told = true
				c.logFailure(faultOf(r.err), r.err)
			}
		}
		if r.err != nil {
			m.Failed++
			failure := itemErrorOf(r.err)
			item["status"], item["error"] = failure.Code, failure
		} else {
			m.Succeeded++
			if r.data != nil {
				item["data"] = r.data
			}
		}
		rendered[i] = item
	}
	return rendered, m, nil
}

// batchReply is the answer of a batch.
func (c *call) batchReply(idKey string, results []batchResult) (reply, error) {
	items, m, err := c.itemResults(idKey, results)
	return reply{map[string]any{"results": items}, m}, err
}

func itemErrorOf(err error) itemError {
	e := faultOf(err)
	switch {
	case e.Code == fault.Internal:
		return itemError{Code: e.Code, Message: internalText}
	case e.Code == fault.Unavailable && e.Message != notTriedText:
		return itemError{Code: e.Code, Message: inDoubtText}
	}
	return itemError{e.Code, e.Message, e.Issues}
}
