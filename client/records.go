package client

import (
	"encoding/json"
	"time"
)

// Unknown values are null in a response, and the zero value here: "" or a zero
// time, which are never real values. Numbers are pointers where they can be
// unknown, because 0 is a number.
//
// Each record keeps its JSON in Raw, including fields that this version does
// not know.

// Account is a company.
type Account struct {
	ID             string        `json:"id"`
	Name           string        `json:"name"`
	AccountTypes   []AccountType `json:"account_types"`
	Domains        []string      `json:"domains"`
	Website        string        `json:"website"`
	Phone          string        `json:"phone"`
	Description    string        `json:"description"`
	City           string        `json:"city"`
	State          string        `json:"state"`
	Country        string        `json:"country"`
	ProjectsCount  int           `json:"projects_count"`
	ContactsCount  int           `json:"contacts_count"`
	SignalsCount   int           `json:"signals_count"`
	LastActivityAt time.Time     `json:"last_activity_at"`
	CreatedAt      time.Time     `json:"created_at"`
	UpdatedAt      time.Time     `json:"updated_at"`

	// Of a Get that includes them.
	Projects []Project `json:"projects,omitempty"`
	Contacts []Contact `json:"contacts,omitempty"`
	Signals  []Signal  `json:"signals,omitempty"`

	Raw json.RawMessage `json:"-"`
}

// Contact is a person.
type Contact struct {
	ID            string        `json:"id"`
	Name          string        `json:"name"`
	Title         string        `json:"title"`
	Email         string        `json:"email"`
	Phone         string        `json:"phone"`
	Role          ContactRole   `json:"role"`
	Status        ContactStatus `json:"status"`
	AccountID     string        `json:"account_id"`
	AccountName   string        `json:"account_name"`
	City          string        `json:"city"`
	State         string        `json:"state"`
	ProjectsCount int           `json:"projects_count"`
	CreatedAt     time.Time     `json:"created_at"`
	UpdatedAt     time.Time     `json:"updated_at"`

	// Set by a Get that includes them. Account is also nil if the record has none.
	Account  *Account  `json:"account,omitempty"`
	Projects []Project `json:"projects,omitempty"`

	Raw json.RawMessage `json:"-"`
}

// Project is a construction project.
type Project struct {
	ID               string      `json:"id"`
	Name             string      `json:"name"`
	Description      string      `json:"description"`
	Address          string      `json:"address"`
	City             string      `json:"city"`
	State            string      `json:"state"`
	Country          string      `json:"country"`
	Stage            Stage       `json:"stage"`
	Disposition      Disposition `json:"disposition"`
	PrimaryUse       PrimaryUse  `json:"primary_use"`
	ResidentialUnits *int64      `json:"residential_units"`
	Sqft             *float64    `json:"sqft"`
	Stories          *int64      `json:"stories"`
	Cost             *float64    `json:"cost"` // in the currency of the source
	GCStatus         GCStatus    `json:"gc_status"`
	FiledAt          time.Time   `json:"filed_at"`
	PermittedAt      time.Time   `json:"permitted_at"`
	CompletedAt      time.Time   `json:"completed_at"`
	DetectedAt       time.Time   `json:"detected_at"`
	LastSignalAt     time.Time   `json:"last_signal_at"`
	SignalsCount     int         `json:"signals_count"`
	AccountIDs       []string    `json:"account_ids"`
	ContactIDs       []string    `json:"contact_ids"`
	Source           string      `json:"source"`
	SourceID         string      `json:"source_id"`
	SourceURL        string      `json:"source_url"`
	Latitude         *float64    `json:"latitude"`
	Longitude        *float64    `json:"longitude"`
	CreatedAt        time.Time   `json:"created_at"`
	UpdatedAt        time.Time   `json:"updated_at"`

	// Of a Get that includes them.
	Accounts []Account `json:"accounts,omitempty"`
	Contacts []Contact `json:"contacts,omitempty"`
	Signals  []Signal  `json:"signals,omitempty"`

	Raw json.RawMessage `json:"-"`
}

// Signal is an event of a project.
type Signal struct {
	ID          string     `json:"id"`
	SignalType  SignalType `json:"signal_type"`
	Title       string     `json:"title"`
	Summary     string     `json:"summary"`
	ProjectID   string     `json:"project_id"`
	ProjectName string     `json:"project_name"`
	AccountIDs  []string   `json:"account_ids"`
	City        string     `json:"city"`
	State       string     `json:"state"`
	Stage       Stage      `json:"stage"`
	OccurredAt  time.Time  `json:"occurred_at"`
	DetectedAt  time.Time  `json:"detected_at"`
	Source      string     `json:"source"`
	SourceID    string     `json:"source_id"`
	SourceURL   string     `json:"source_url"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`

	// Set by a Get that includes them. Project is also nil if the record has none.
	Project  *Project  `json:"project,omitempty"`
	Accounts []Account `json:"accounts,omitempty"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *Account) UnmarshalJSON(b []byte) error {
	type plain Account
	return keepRaw(b, (*plain)(r), &r.Raw)
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *Contact) UnmarshalJSON(b []byte) error {
	type plain Contact
	return keepRaw(b, (*plain)(r), &r.Raw)
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *Project) UnmarshalJSON(b []byte) error {
	type plain Project
	return keepRaw(b, (*plain)(r), &r.Raw)
}

// UnmarshalJSON also keeps the bytes in Raw.
func (r *Signal) UnmarshalJSON(b []byte) error {
	type plain Signal
	return keepRaw(b, (*plain)(r), &r.Raw)
}
