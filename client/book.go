package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Books are the global records that the workspace has added or annotated.
type Books struct {
	Accounts *Book[BookAccount, AccountUpsert]
	Contacts *Book[BookContact, ContactUpsert]
	Projects *Book[BookProject, ProjectUpsert]
	// Joins joins projects and people to accounts of the book.
	Joins *Joins[JoinRow[BookAccount]]

	conn *conn
}

func booksOf(c *conn) Books {
	return Books{
		Accounts: book[BookAccount, AccountUpsert](c, "accounts"),
		Contacts: book[BookContact, ContactUpsert](c, "contacts"),
		Projects: book[BookProject, ProjectUpsert](c, "projects"),
		Joins:    &Joins[JoinRow[BookAccount]]{c, "/workspace/accounts/join"},
		conn:     c,
	}
}

// Dataset returns a book by the name of its dataset, with records as received
// and upserts as JSON.
func (b Books) Dataset(name DatasetName) *Book[json.RawMessage, json.RawMessage] {
	return book[json.RawMessage, json.RawMessage](b.conn, string(name))
}

// Book is the book of one dataset, with records R and upserts U. A search sees
// all earlier writes of the workspace.
type Book[R, U any] struct{ Source[R] }

func book[R, U any](c *conn, name string) *Book[R, U] {
	return &Book[R, U]{Source[R]{conn: c, path: "/workspace" + segment(name)}}
}

// Get returns a record of the book, or ErrNotFound. It costs a credit.
func (b *Book[R, U]) Get(ctx context.Context, id string) (R, error) {
	return get[R](ctx, b.conn, b.path+segment(id))
}

// GetWith is Get with some of the record's fields. A book has nothing to include.
func (b *Book[R, U]) GetWith(ctx context.Context, id string, fields ...string) (R, error) {
	r := request{method: http.MethodGet, path: b.path + segment(id)}
	if len(fields) > 0 {
		r.params = url.Values{"fields": {strings.Join(fields, ",")}}
	}
	return data[R](ctx, b.conn, r)
}

// Upsert adds a record to the book, or changes its overlay.
func (b *Book[R, U]) Upsert(ctx context.Context, u U) (R, error) {
	return post[R](ctx, b.conn, b.path+"/upsert", u)
}

// UpsertAll is Upsert for 1 to 100 records.
func (b *Book[R, U]) UpsertAll(ctx context.Context, all []U) (Batch[R], error) {
	return inputBatch[R](ctx, b.conn, b.path+"/upsert", all)
}

// Delete removes a record with its overlay from the book. It succeeds when
// there is none.
func (b *Book[R, U]) Delete(ctx context.Context, id string) error {
	return remove(ctx, b.conn, b.path+segment(id))
}

// DeleteAll is Delete for 1 to 100 records.
func (b *Book[R, U]) DeleteAll(ctx context.Context, all []string) (Batch[Nothing], error) {
	return deleteBatch(ctx, b.conn, b.path, all)
}

// DeleteExpected is DeleteAll with expectations by id; ids without one are deleted in any
// case. A record that is not as expected remains, and its item is ErrRevisionConflict.
func (b *Book[R, U]) DeleteExpected(ctx context.Context, all []string, expected map[string]Expectation) (Batch[Nothing], error) {
	body := map[string]any{"ids": all, "expected": expected}
	return batch[Nothing](ctx, b.conn, request{method: http.MethodPost, path: b.path + "/delete/batch", body: body})
}

// History iterates over the changes of a record's overlay and of its memberships in Static
// Views, the newest first. Each has the names of fields, no values.
func (b *Book[R, U]) History(ctx context.Context, id string) iter.Seq2[WorkspaceChange, error] {
	return list[WorkspaceChange](ctx, b.conn, b.path+segment(id)+"/history", "changes", nil)
}

// Change sets or clears a text. The zero Change does not change the value.
type Change struct {
	set   bool
	value *string
}

// To sets a text or an enum value.
func To[T ~string](value T) Change { return Change{true, new(string(value))} }

// Clear removes the value.
func Clear() Change { return Change{set: true} }

// IsZero omits a zero Change from the request.
func (c Change) IsZero() bool { return !c.set }

// MarshalJSON encodes the text or null.
func (c Change) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

// Expectation is the expected state of a record. If it differs, nothing changes, and the
// error is ErrRevisionConflict, whose Current is the present state. The zero Expectation is
// that the record is in the book.
type Expectation struct {
	// InBook false: the record must not be in the book; other members are left out. Nil:
	// true.
	InBook  *bool  `json:"in_book,omitzero"`
	ICPTier Change `json:"icp_tier,omitzero"` // of accounts; Clear() expects no tier
	Status  Change `json:"workspace_status,omitzero"`
	Notes   Change `json:"notes,omitzero"`
	// Tags are all tags; nil: any, an empty list: none.
	Tags []string `json:"tags,omitzero"`
}

// Annotations are the workspace's present values of a record, when they were changed, and
// by which user; UpdatedBy is empty for an API key, for Atlas itself and for a deleted
// user.
type Annotations struct {
	ICPTier   ICPTier   `json:"icp_tier"`
	Status    string    `json:"workspace_status"`
	Notes     string    `json:"notes"`
	Tags      []string  `json:"tags"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"`
}

// AccountUpsert identifies an account by either AccountID or Match, and holds
// the changes.
type AccountUpsert struct {
	AccountID string        `json:"account_id,omitzero"`
	Match     *AccountMatch `json:"match,omitzero"`
	ICPTier   Change        `json:"icp_tier,omitzero"` // To(ICPTier1), …
	Status    Change        `json:"workspace_status,omitzero"`
	Notes     Change        `json:"notes,omitzero"`
	// Tags replaces all tags; nil does not change them, an empty list clears them.
	Tags []string `json:"tags,omitzero"`
	// Expected, when set, is the required present state.
	Expected *Expectation `json:"expected,omitzero"`
}

// AccountMatch matches the single account with a domain.
type AccountMatch struct {
	Domain string `json:"domain"`
}

// ContactUpsert identifies a contact by either ContactID or Match, and holds
// the changes.
type ContactUpsert struct {
	ContactID string        `json:"contact_id,omitzero"`
	Match     *ContactMatch `json:"match,omitzero"`
	Status    Change        `json:"workspace_status,omitzero"`
	Notes     Change        `json:"notes,omitzero"`
	Tags      []string      `json:"tags,omitzero"` // as in AccountUpsert
	Expected  *Expectation  `json:"expected,omitzero"`
}

// ContactMatch matches the single contact with an e-mail address.
type ContactMatch struct {
	Email string `json:"email"`
}

// ProjectUpsert identifies a project and holds the changes.
type ProjectUpsert struct {
	ProjectID string       `json:"project_id"`
	Status    Change       `json:"workspace_status,omitzero"`
	Notes     Change       `json:"notes,omitzero"`
	Tags      []string     `json:"tags,omitzero"` // as in AccountUpsert
	Expected  *Expectation `json:"expected,omitzero"`
}
