package api

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
	"atlas/workspace"
	rows "atlas/workspace/records"
)

// RecordSearcher searches books and Views. *rows.Records does.
type RecordSearcher interface {
	SearchBook(ctx context.Context, in workspace.ID, request query.Query) (rows.Page, error)
	SearchView(ctx context.Context, v workspace.View, request query.Query) (rows.Page, error)
}

// membersData is the answer of a change of a View's records.
type membersData struct {
	ViewID  workspace.ViewID `json:"view_id"`
	Results []map[string]any `json:"results"`
}

// recordIDKey names a record in the results of a change.
const recordIDKey = "record_id"

// membersReply is batchReply with the View's id. A change of one record answers
// as a batch of one.
func (c *call) membersReply(view uuid.UUID, results []batchResult) (reply, error) {
	items, m, err := c.itemResults(recordIDKey, results)
	return reply{membersData{workspace.ViewID(view), items}, m}, err
}

func (s *Server) addViewRecord(c *call) (reply, error) {
	var issues input.Issues
	view := c.idIn(&issues, "id")
	body, err := c.body()
	if err != nil {
		return reply{}, beside(issues, err)
	}
	record := recordID(&issues, body)
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	return s.addRecords(c, view, []batchResult{{id: record}})
}

func (s *Server) addViewRecords(c *call) (reply, error) {
	var issues input.Issues
	view := c.idIn(&issues, "id")
	items, err := c.batchItems("inputs")
	if err != nil {
		return reply{}, beside(issues, err)
	}
	results := make([]batchResult, len(items))
	for i, item := range items {
		own := item.issues
		results[i].id = recordID(&own, item.value)
		results[i].err = own.Err()
	}
	if len(issues) > 0 {
		return reply{}, beside(issues, itemFaults("inputs", results))
	}
	return s.addRecords(c, view, results)
}

// recordID reads { record_id }.
func recordID(issues *input.Issues, v input.Value) string {
	r := issues.Object(v)
	if !r.Ok() {
		return ""
	}
	id, _ := issues.UUID(r.Take(recordIDKey), recordIDKey)
	r.Done()
	return id
}

func (s *Server) addRecords(c *call, view uuid.UUID, results []batchResult) (reply, error) {
	positions, ids := valid(results)
	outcomes, err := s.Views.Memberships.Add(c.Context(), c.principal.Workspace.ID, workspace.ViewID(view), ids)
	if err != nil {
		return reply{}, err
	}
	for i, outcome := range outcomes {
		results[positions[i]].err = outcome
	}
	return c.membersReply(view, results)
}

// valid are the ids of the items that nothing is wrong with, and where they are.
func valid(results []batchResult) (positions []int, ids []uuid.UUID) {
	for i, r := range results {
		if r.err == nil {
			positions, ids = append(positions, i), append(ids, uuid.MustParse(r.id))
		}
	}
	return positions, ids
}

func (s *Server) removeViewRecord(c *call) (reply, error) {
	var issues input.Issues
	view, record := c.idIn(&issues, "id"), c.idIn(&issues, "recordId")
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	return s.removeRecords(c, view, []batchResult{{id: record.String()}})
}

func (s *Server) removeViewRecords(c *call) (reply, error) {
	var issues input.Issues
	view := c.idIn(&issues, "id")
	ids, errs, err := c.batchIDs()
	if err != nil {
		return reply{}, beside(issues, err)
	}
	results := make([]batchResult, len(ids))
	for i, id := range ids {
		results[i] = batchResult{id: id, err: errs[i]}
	}
	if len(issues) > 0 {
		return reply{}, beside(issues, itemFaults("ids", results))
	}
	return s.removeRecords(c, view, results)
}

func (s *Server) removeRecords(c *call, view uuid.UUID, results []batchResult) (reply, error) {
	_, ids := valid(results)
	if err := s.Views.Memberships.Remove(c.Context(), c.principal.Workspace.ID, workspace.ViewID(view), ids); err != nil {
		return reply{}, err
	}
	return c.membersReply(view, results)
}

// rowsData is the answer of a View-record search.
type rowsData struct {
	Dataset string           `json:"dataset"`
	Records []jsontext.Value `json:"records"`
}

func (s *Server) searchViewRecords(c *call) (reply, error) {
	var issues input.Issues
	id := c.idIn(&issues, "id")
	body, err := c.body()
	if err != nil {
		return reply{}, beside(issues, err)
	}
	if len(issues) > 0 {
		return reply{}, beside(issues, ofAnyDataset(body))
	}
	in := c.principal.Workspace.ID
	base := query.Base{Kind: query.View, Workspace: in.String(), View: id.String()}
	if err := s.checkCursor(body, base); err != nil {
		return reply{}, err
	}
	v, err := s.Views.Views.ToSearch(c.Context(), in, workspace.ViewID(id))
	if fault.CodeOf(err) == fault.ViewNotFound {
		err = cmp.Or(ofAnyDataset(body), err) // what is wrong whatever the View comes first
	}
	if err != nil {
		return reply{}, err
	}
	q, err := query.Parse(body, v.Dataset, base)
	if err != nil {
		return reply{}, err
	}
	return c.metered(q.Limit, func(ctx context.Context) (reply, int, error) {
		p, err := s.Records.SearchView(ctx, v, q)
		return reply{rowsData{v.Dataset.Singular(), rowsOf(p)}, metadataOf(q, p.Total, p.Capped, p.Next, len(p.Rows))}, len(p.Rows), err
	})
}

// rowsOf are the rows of a page, none as an empty array.
func rowsOf(p rows.Page) []jsontext.Value {
	if p.Rows == nil {
		return []jsontext.Value{}
	}
	return p.Rows
}

// checkCursor refuses a cursor that no search of the View can have answered,
// whatever the View's dataset is.
func (s *Server) checkCursor(body input.Value, base query.Base) (refused error) {
	if body.Get("search_after").Kind != input.String {
		return nil
	}
	for _, d := range query.Held {
		q, err := query.Parse(body, d, base)
		if err != nil {
			continue
		}
		if refused = s.Search.CheckCursor(q); refused == nil {
			return nil
		}
	}
	return refused
}

// ofAnyDataset is what is wrong with the body of a search in a View whatever the
// View's dataset is; nil when nothing is.
func ofAnyDataset(body input.Value) error {
	var common []fault.Issue
	for i, d := range query.Held {
		_, err := query.Parse(body, d, query.Base{Kind: query.View})
		e, invalid := errors.AsType[*fault.Error](err)
		if !invalid {
			return nil
		}
		if i == 0 {
			common = e.Issues
			continue
		}
		common = slices.DeleteFunc(common, func(a fault.Issue) bool {
			return !slices.ContainsFunc(e.Issues, func(b fault.Issue) bool {
				return a.Code == b.Code && slices.Equal(a.Path, b.Path) && slices.Equal(a.Keys, b.Keys)
			})
		})
	}
	if len(common) == 0 {
		return nil
	}
	return fault.Validation(common...)
}
