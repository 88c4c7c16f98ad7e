package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

type recordInput struct {
	RecordID string `json:"record_id"`
}

// AddRecord adds a record to a Static View. It succeeds when the View has it
// already.
func (v *Views) AddRecord(ctx context.Context, view, record string) error {
	b, err := batch[Nothing](ctx, v.conn, request{method: http.MethodPost, path: viewRecords(view) + "/add", body: recordInput{record}})
	return oneItem(b, err)
}

// AddRecords is AddRecord for 1 to 100 records.
func (v *Views) AddRecords(ctx context.Context, view string, records []string) (Batch[Nothing], error) {
	all := make([]recordInput, len(records))
	for i, id := range records {
		all[i] = recordInput{id}
	}
	return inputBatch[Nothing](ctx, v.conn, viewRecords(view)+"/add", all)
}

// RemoveRecord removes a record from a Static View. It succeeds when the View
// does not have it.
func (v *Views) RemoveRecord(ctx context.Context, view, record string) error {
	b, err := batch[Nothing](ctx, v.conn, request{method: http.MethodDelete, path: viewRecords(view) + segment(record)})
	return oneItem(b, err)
}

// RemoveRecords is RemoveRecord for 1 to 100 records.
func (v *Views) RemoveRecords(ctx context.Context, view string, records []string) (Batch[Nothing], error) {
	return deleteBatch(ctx, v.conn, viewRecords(view), records)
}

// oneItem returns the error of a batch with one item.
func oneItem(b Batch[Nothing], err error) error {
	if err != nil || len(b.Items) == 0 {
		return err
	}
	return b.Items[0].Err
}

func viewRecords(view string) string { return viewsPath + segment(view) + "/records" }

func viewSource[R any](v *Views, view string) *Source[R] {
	return &Source[R]{conn: v.conn, path: viewRecords(view), nested: true}
}

// Records searches a View of any dataset, with records as received. A Search
// narrows the View for that call.
func (v *Views) Records(view string) *Source[json.RawMessage] {
	return viewSource[json.RawMessage](v, view)
}

// Accounts searches a View of accounts.
func (v *Views) Accounts(view string) *Source[ViewAccount] { return viewSource[ViewAccount](v, view) }

// Contacts searches a View of contacts.
func (v *Views) Contacts(view string) *Source[ViewContact] { return viewSource[ViewContact](v, view) }

// Projects searches a View of projects.
func (v *Views) Projects(view string) *Source[ViewProject] { return viewSource[ViewProject](v, view) }

// ViewAccount is an account of a View. Its overlay is unknown, and UpdatedAt
// zero, when it is not in the book.
type ViewAccount struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	AccountTypes []AccountType `json:"account_types"`
	ICPTier      ICPTier       `json:"icp_tier"`
	AtlasScore   *int          `json:"atlas_score"`
	Status       string        `json:"workspace_status"`
	Tags         []string      `json:"tags"`
	UpdatedAt    time.Time     `json:"updated_at"`

	// These are there only when Search.Fields names them.
	Domains        []string  `json:"domains,omitempty"`
	Website        string    `json:"website,omitzero"`
	Phone          string    `json:"phone,omitzero"`
	Description    string    `json:"description,omitzero"`
	City           string    `json:"city,omitzero"`
	State          string    `json:"state,omitzero"`
	Country        string    `json:"country,omitzero"`
	ProjectsCount  int       `json:"projects_count,omitzero"`
	ContactsCount  int       `json:"contacts_count,omitzero"`
	SignalsCount   int       `json:"signals_count,omitzero"`
	LastActivityAt time.Time `json:"last_activity_at,omitzero"`
	CreatedAt      time.Time `json:"created_at,omitzero"`
	Notes          string    `json:"notes,omitzero"`
	UpdatedBy      string    `json:"updated_by,omitzero"`
	AtlasTrend     Trend     `json:"atlas_trend,omitzero"`

	Raw json.RawMessage `json:"-"`
}

// ViewContact is a contact of a View.
type ViewContact struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Title     string    `json:"title"`
	Email     string    `json:"email"`
	AccountID string    `json:"account_id"`
	Status    string    `json:"workspace_status"`
	Tags      []string  `json:"tags"`
	UpdatedAt time.Time `json:"updated_at"`

	// These are there only when Search.Fields names them.
	Phone         string        `json:"phone,omitzero"`
	Role          ContactRole   `json:"role,omitzero"`
	ContactStatus ContactStatus `json:"status,omitzero"`
	AccountName   string        `json:"account_name,omitzero"`
	City          string        `json:"city,omitzero"`
	State         string        `json:"state,omitzero"`
	ProjectsCount int           `json:"projects_count,omitzero"`
	CreatedAt     time.Time     `json:"created_at,omitzero"`
	Notes         string        `json:"notes,omitzero"`
	UpdatedBy     string        `json:"updated_by,omitzero"`

	Raw json.RawMessage `json:"-"`
}

// ViewProject is a project of a View.
type ViewProject struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	City             string     `json:"city"`
	State            string     `json:"state"`
	Stage            Stage      `json:"stage"`
	PrimaryUse       PrimaryUse `json:"primary_use"`
	ResidentialUnits *int64     `json:"residential_units"`
	LastSignalAt     time.Time  `json:"last_signal_at"`
	Status           string     `json:"workspace_status"`
	Tags             []string   `json:"tags"`
	UpdatedAt        time.Time  `json:"updated_at"`

	// These are there only when Search.Fields names them.
	Description  string      `json:"description,omitzero"`
	Address      string      `json:"address,omitzero"`
	Country      string      `json:"country,omitzero"`
	Disposition  Disposition `json:"disposition,omitzero"`
	Sqft         *float64    `json:"sqft,omitzero"`
	Stories      *int64      `json:"stories,omitzero"`
	Cost         *float64    `json:"cost,omitzero"` // in the currency of the source
	GCStatus     GCStatus    `json:"gc_status,omitzero"`
	FiledAt      time.Time   `json:"filed_at,omitzero"`
	PermittedAt  time.Time   `json:"permitted_at,omitzero"`
	CompletedAt  time.Time   `json:"completed_at,omitzero"`
	DetectedAt   time.Time   `json:"detected_at,omitzero"`
	SignalsCount int         `json:"signals_count,omitzero"`
	AccountIDs   []string    `json:"account_ids,omitempty"`
	ContactIDs   []string    `json:"contact_ids,omitempty"`
	Source       string      `json:"source,omitzero"`
	SourceID     string      `json:"source_id,omitzero"`
	SourceURL    string      `json:"source_url,omitzero"`
	Latitude     *float64    `json:"latitude,omitzero"`
	Longitude    *float64    `json:"longitude,omitzero"`
	CreatedAt    time.Time   `json:"created_at,omitzero"`
	Notes        string      `json:"notes,omitzero"`
	UpdatedBy    string      `json:"updated_by,omitzero"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *ViewAccount) UnmarshalJSON(b []byte) error {
	type plain ViewAccount
	return keepRaw(b, (*plain)(r), &r.Raw)
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *ViewContact) UnmarshalJSON(b []byte) error {
	type plain ViewContact
	return keepRaw(b, (*plain)(r), &r.Raw)
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *ViewProject) UnmarshalJSON(b []byte) error {
	type plain ViewProject
	return keepRaw(b, (*plain)(r), &r.Raw)
}
