package views

import (
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
)

// Candidate is a record to add to a Static View.
type Candidate struct {
	Record uuid.UUID
	// Linked means that every workspace sees the record. This holds for all
	// accounts and projects, and for a contact that a project names.
	Linked bool
}

// MembershipStore stores which records are in which Static Views.
type MembershipStore interface {
	// BareView is that of Store.
	BareView(ctx context.Context, in workspace.ID, id ID) (View, error)
	// AddMembers adds the candidates in order and returns the error of each: nil,
	// fault.RecordNotVisible, fault.ViewFull. A record that is already a member is
	// not an error. The call itself fails with fault.ViewNotFound.
	AddMembers(ctx context.Context, in workspace.ID, v View, candidates []Candidate) ([]error, error)
	// RemoveMembers removes records; one that is not a member is not an error.
	// fault.ViewNotFound.
	RemoveMembers(ctx context.Context, in workspace.ID, v View, records []uuid.UUID) error
}

// RecordSource reads the global dataset.
type RecordSource interface {
	// Lookup returns the public records with these ids, by id. Unknown ids are
	// left out.
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
}

// Memberships changes the records of Static Views (docs/api.md, "View records").
type Memberships struct {
	Store   MembershipStore
	Records RecordSource
	// Changed, when not nil, is called after a change was stored. It must not
	// block.
	Changed func(in workspace.ID)
}

// Add adds records to a Static View, in order. It returns the error of each
// record: nil, fault.RecordNotFound, fault.RecordNotVisible, fault.ViewFull. The
// call itself fails with fault.ViewNotFound or fault.ViewTypeMismatch; then nothing
// was added.
func (m *Memberships) Add(ctx context.Context, in workspace.ID, view ID, records []uuid.UUID) ([]error, error) {
	v, err := m.staticView(ctx, in, view)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	ids := make([]string, len(records))
	for i, id := range records {
		ids[i] = id.String()
	}
	found, err := m.Records.Lookup(ctx, v.Dataset, ids)
	if err != nil {
		return nil, err
	}
	outcomes := make([]error, len(records))
	var candidates []Candidate
	var positions []int
	for i, id := range records {
		record, ok := found[ids[i]]
		if !ok {
			outcomes[i] = fault.New(fault.RecordNotFound, "no %s has this id", v.Dataset.Singular())
			continue
		}
		linked, err := Linked(v.Dataset, record)
		if err != nil {
			return nil, err
		}
		candidates, positions = append(candidates, Candidate{id, linked}), append(positions, i)
	}
	if len(candidates) == 0 {
		return outcomes, nil
	}
	added, err := m.Store.AddMembers(ctx, in, v, candidates)
	if err != nil {
		return nil, err
	}
	for i, outcome := range added {
		outcomes[positions[i]] = outcome
	}
	m.notify(in)
	return outcomes, nil
}

// Remove removes records from a Static View: fault.ViewNotFound,
// fault.ViewTypeMismatch. A record that is not a member is not an error.
func (m *Memberships) Remove(ctx context.Context, in workspace.ID, view ID, records []uuid.UUID) error {
	v, err := m.staticView(ctx, in, view)
	if err != nil || len(records) == 0 {
		return err
	}
	if err := m.Store.RemoveMembers(ctx, in, v, records); err != nil {
		return err
	}
	m.notify(in)
	return nil
}

func (m *Memberships) notify(in workspace.ID) {
	if m.Changed != nil {
		m.Changed(in)
	}
}

func (m *Memberships) staticView(ctx context.Context, in workspace.ID, id ID) (View, error) {
	v, err := m.Store.BareView(ctx, in, id)
	if err == nil && v.Type != Static {
		err = fault.New(
			fault.ViewTypeMismatch,
			"the records of a Dynamic View are chosen by its definition; only a Static View takes and loses records",
		)
	}
	return v, err
}

// Linked reports whether every workspace sees a global record: see Candidate.
func Linked(d catalog.Dataset, record jsontext.Value) (bool, error) {
	if d != catalog.Contacts {
		return true, nil
	}
	var contact struct {
		Projects int64 `json:"projects_count"`
	}
	if err := json.Unmarshal(record, &contact); err != nil {
		return false, fault.Wrap(err, fault.Internal, "a global record is unreadable")
	}
	return contact.Projects > 0, nil
}
