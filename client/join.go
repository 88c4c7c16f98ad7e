package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
)

// MaxJoinRows is the maximum number of rows of a page of a join, and the default in Pages and
// All.
const MaxJoinRows = 33

// Join requests accounts, each with a project and a person.
type Join struct {
	// Search finds the accounts; up to MaxJoinRows on a page, without Highlight. The project
	// meets its "has_project".
	Search
	// ProjectBy is the numeric field by which the project with the highest value is chosen:
	// cost by default.
	ProjectBy string `json:"project_by,omitzero"`
	// ProjectFields and ContactFields select members of the project and the contact, like
	// Fields of the account.
	ProjectFields []string `json:"project_fields,omitzero"`
	ContactFields []string `json:"contact_fields,omitzero"`
}

// JoinRow is an account A with its project, and the person whom one calls first (docs/api.md,
// "Join"). Each is nil if there is none.
type JoinRow[A any] struct {
	Account A        `json:"account"`
	Project *Project `json:"project"`
	Contact *Contact `json:"contact"`
}

// Joins joins projects and people to accounts. Each record of a row costs a credit, at most
// three.
type Joins[R any] struct {
	conn *conn
	path string
}

// JoinRows are the joins of the book, or of the global accounts, with rows as received.
func (c *Client) JoinRows(book bool) *Joins[json.RawMessage] {
	path := c.Joins.path
	if book {
		path = c.Book.Joins.path
	}
	return &Joins[json.RawMessage]{c.conn, path}
}

// Page returns one page.
func (j *Joins[R]) Page(ctx context.Context, q Join) (*Page[R], error) {
	a, err := call[[]R](ctx, j.conn, request{method: http.MethodPost, path: j.path, body: q})
	return pageOf(a.Data, a.Metadata, a.header), err
}

// Cost counts the accounts exactly, and returns the maximum price of the page. It costs
// nothing. Errors: ErrTooManyRequests.
func (j *Joins[R]) Cost(ctx context.Context, q Join) (Cost, error) {
	body := struct {
		Join
		DryRun bool `json:"dry_run"`
	}{q, true}
	return data[Cost](ctx, j.conn, request{method: http.MethodPost, path: j.path, body: body})
}

// Pages iterates over pages like Source.Pages. Its cursors are those of the accounts.
func (j *Joins[R]) Pages(ctx context.Context, q Join) iter.Seq2[*Page[R], error] {
	if q.Limit == 0 {
		q.Limit = MaxJoinRows
	}
	return walkPages(ctx, q.Search, func(ctx context.Context, s Search) (*Page[R], error) {
		q := q
		q.Search = s
		return j.Page(ctx, q)
	})
}

// All iterates over the rows of Pages. A loop that ends early has paid for its whole page:
// set Limit.
func (j *Joins[R]) All(ctx context.Context, q Join) iter.Seq2[R, error] {
	return recordsOf(j.Pages(ctx, q))
}
