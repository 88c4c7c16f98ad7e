package workspace

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
)

// WorkspaceStore keeps workspaces, across all of them.
type WorkspaceStore interface {
	// InsertWorkspace adds w; an id that is taken is fault.InvalidInput.
	InsertWorkspace(ctx context.Context, w Workspace) error
	// UpdateWorkspace changes the given fields of a stored workspace, in one
	// statement, and returns it: fault.NotFound.
	UpdateWorkspace(ctx context.Context, id ID, change WorkspaceChange) (Workspace, error)
	// Workspaces lists all, by name, then id.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// WorkspaceByID returns one: fault.NotFound.
	WorkspaceByID(ctx context.Context, id ID) (Workspace, error)
}

// KeyStore keeps API keys, which may span workspaces.
type KeyStore interface {
	// InsertKey adds a key: fault.NotFound when a workspace of it is unknown.
	InsertKey(ctx context.Context, k KeyRecord) error
	// KeyByID returns one: fault.NotFound.
	KeyByID(ctx context.Context, id KeyID) (KeyRecord, error)
	// Keys lists the keys granted the workspace, or all for the zero id,
	// newest first.
	Keys(ctx context.Context, of ID) ([]Key, error)
	// UpdateKey changes the state of a key and returns it: fault.NotFound.
	UpdateKey(ctx context.Context, id KeyID, change KeyChange) (Key, error)
}

// UserStore keeps users and their membership.
type UserStore interface {
	// InsertMember adds the user when unknown (a known user keeps their stored
	// address and name) and the membership. fault.AlreadyMember, or
	// fault.NotFound for an unknown workspace. It returns the member as
	// stored.
	InsertMember(ctx context.Context, workspace ID, m Member) (Member, error)
	// EnsureMember is InsertMember, but gives an existing member the role.
	EnsureMember(ctx context.Context, workspace ID, m Member) (Member, error)
	// MembersOf lists by role, highest first, then address.
	MembersOf(ctx context.Context, workspace ID) ([]Member, error)
	// UsersByEmail returns the users with an address, compared folded.
	UsersByEmail(ctx context.Context, email string) ([]User, error)
}

// WorkspaceChange names the fields to change; nil leaves one as it is.
type WorkspaceChange struct {
	Name    *string
	Plan    *Plan
	Ceiling *int64
}

// KeyChange names the states to change; nil leaves one as it is.
type KeyChange struct {
	// RevokeAt revokes for good: a key revoked earlier keeps its date.
	RevokeAt   *time.Time
	Restricted *bool
}

// Directory is what an operator does to workspaces, keys and members: judge
// the input by the limits of the types, then store it.
type Directory struct {
	store interface {
		WorkspaceStore
		KeyStore
		UserStore
	}
	now func() time.Time
}

// NewDirectory returns a Directory on a store; now is the clock, time.Now when
// nil.
func NewDirectory(store interface {
	WorkspaceStore
	KeyStore
	UserStore
}, now func() time.Time) *Directory {
	if now == nil {
		now = time.Now
	}
	return &Directory{store: store, now: now}
}

// CreateWorkspace adds a workspace; a ceiling of 0 is DefaultCeiling.
func (d *Directory) CreateWorkspace(ctx context.Context, name string, plan Plan, ceiling int64) (Workspace, error) {
	w := d.draft(NewID(), name, plan, ceiling)
	if err := w.Validate(); err != nil {
		return Workspace{}, err
	}
	return w, d.store.InsertWorkspace(ctx, w)
}

// EnsureWorkspace makes the workspace with this id have this name, plan and
// ceiling (0 is DefaultCeiling), adding it when it is unknown.
func (d *Directory) EnsureWorkspace(ctx context.Context, id ID, name string, plan Plan, ceiling int64) (Workspace, error) {
	w := d.draft(id, name, plan, ceiling)
	if err := w.Validate(); err != nil {
		return Workspace{}, err
	}
	change := WorkspaceChange{Name: &w.Name, Plan: &w.Plan, Ceiling: &w.CreditCeiling}
	stored, err := d.store.UpdateWorkspace(ctx, id, change)
	if fault.CodeOf(err) != fault.NotFound {
		return stored, err
	}
	if err := d.store.InsertWorkspace(ctx, w); err != nil {
		// Another process may have added it in between.
		if stored, again := d.store.UpdateWorkspace(ctx, id, change); again == nil {
			return stored, nil
		}
		return Workspace{}, err
	}
	return w, nil
}

func (d *Directory) draft(id ID, name string, plan Plan, ceiling int64) Workspace {
	if ceiling == 0 {
		ceiling = DefaultCeiling
	}
	return Workspace{
		ID: id, Name: strings.TrimSpace(name), Plan: plan, CreditCeiling: ceiling, CreatedAt: StoredTime(d.now()),
	}
}

// SetWorkspace changes a workspace: fault.NotFound, fault.InvalidInput.
func (d *Directory) SetWorkspace(ctx context.Context, id ID, change WorkspaceChange) (Workspace, error) {
	// What is not changed is valid already: judge the rest on a valid one.
	w := d.draft(id, "unchanged", Pro, DefaultCeiling)
	if change.Name != nil {
		name := strings.TrimSpace(*change.Name)
		w.Name, change.Name = name, &name
	}
	if change.Plan != nil {
		w.Plan = *change.Plan
	}
	if change.Ceiling != nil {
		w.CreditCeiling = *change.Ceiling
	}
	if err := w.Validate(); err != nil {
		return Workspace{}, err
	}
	return d.store.UpdateWorkspace(ctx, id, change)
}

// Workspaces lists all workspaces, by name.
func (d *Directory) Workspaces(ctx context.Context) ([]Workspace, error) {
	return d.store.Workspaces(ctx)
}

// NewKey is what an operator chooses of a key.
type NewKey struct {
	Name       string
	Workspaces []ID
	// Scopes are all scopes when empty.
	Scopes []Scope
	// ExpiresIn is the key's life from now; 0 is no end.
	ExpiresIn  time.Duration
	Restricted bool
}

// CreateKey adds a key and returns it with its text, which can never be had
// again.
func (d *Directory) CreateKey(ctx context.Context, n NewKey) (Key, string, error) {
	secret := NewSecret()
	k := Key{
		ID: NewKeyID(), Name: strings.TrimSpace(n.Name), Workspaces: n.Workspaces,
		Scopes: n.Scopes, Restricted: n.Restricted, CreatedAt: StoredTime(d.now()),
	}
	if len(k.Scopes) == 0 {
		k.Scopes = AllScopes()
	}
	if n.ExpiresIn != 0 {
		end := k.CreatedAt.Add(n.ExpiresIn)
		k.ExpiresAt = &end
	}
	if err := k.Validate(); err != nil {
		return Key{}, "", err
	}
	if err := d.store.InsertKey(ctx, KeyRecord{Key: k, Hash: secret.Hash()}); err != nil {
		return Key{}, "", err
	}
	return k, secret.Token(k.ID), nil
}

// Accepts reports whether a key's text would be accepted now for the
// workspace: it is known, in force, and granted it.
func (d *Directory) Accepts(ctx context.Context, token string, in ID) (bool, error) {
	id, secret, err := ParseKey(token)
	if err != nil {
		return false, nil
	}
	k, err := d.store.KeyByID(ctx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case !secret.Matches(k.Hash) || k.Refusal(d.now()) != "":
		return false, nil
	}
	return k.Grants(in), nil
}

// Keys lists the keys granted the workspace, or all for the zero id.
func (d *Directory) Keys(ctx context.Context, of ID) ([]Key, error) { return d.store.Keys(ctx, of) }

// RevokeKey ends a key for good; it is fine to revoke it again.
func (d *Directory) RevokeKey(ctx context.Context, id KeyID) (Key, error) {
	at := StoredTime(d.now())
	return d.store.UpdateKey(ctx, id, KeyChange{RevokeAt: &at})
}

// RestrictKey refuses a key's requests, or accepts them again.
func (d *Directory) RestrictKey(ctx context.Context, id KeyID, restricted bool) (Key, error) {
	return d.store.UpdateKey(ctx, id, KeyChange{Restricted: &restricted})
}

// AddMember adds a user to a workspace. Without an id it is the known user
// with that address, else a new one; an address that several users have needs
// the id (fault.InvalidInput). fault.AlreadyMember, fault.NotFound.
func (d *Directory) AddMember(ctx context.Context, to ID, m Member) (Member, error) {
	m.Email, m.Name, m.JoinedAt = strings.TrimSpace(m.Email), strings.TrimSpace(m.Name), StoredTime(d.now())
	if m.ID.IsZero() {
		users, err := d.store.UsersByEmail(ctx, m.Email)
		switch {
		case err != nil:
			return Member{}, err
		case len(users) > 1:
			return Member{}, fault.Validation(NewIssue(fault.Custom, "user", "several users have this address: say which one by id"))
		case len(users) == 1:
			m.ID = users[0].ID
		default:
			m.ID = NewUserID()
		}
	}
	if err := m.Validate(); err != nil {
		return Member{}, err
	}
	return d.store.InsertMember(ctx, to, m)
}

// EnsureMember makes the user with this id a member with this role.
func (d *Directory) EnsureMember(ctx context.Context, to ID, m Member) (Member, error) {
	m.JoinedAt = StoredTime(d.now())
	if err := m.Validate(); err != nil {
		return Member{}, err
	}
	return d.store.EnsureMember(ctx, to, m)
}

// Members lists the members of a workspace: fault.NotFound when it is unknown.
func (d *Directory) Members(ctx context.Context, of ID) ([]Member, error) {
	if _, err := d.store.WorkspaceByID(ctx, of); err != nil {
		return nil, err
	}
	return d.store.MembersOf(ctx, of)
}

// UserByEmail returns the one user with an address: fault.NotFound for none,
// fault.InvalidInput for several.
func (d *Directory) UserByEmail(ctx context.Context, email string) (User, error) {
	users, err := d.store.UsersByEmail(ctx, email)
	switch {
	case err != nil:
		return User{}, err
	case len(users) == 0:
		return User{}, fault.New(fault.NotFound, "no user has the address %s", email)
	case len(users) > 1:
		return User{}, fault.Validation(NewIssue(fault.Custom, "user", "several users have this address: say which one by id"))
	}
	return users[0], nil
}
