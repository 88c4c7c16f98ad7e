package people

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// WorkspaceStore stores workspaces.
type WorkspaceStore interface {
	// InsertWorkspace adds w: fault.InvalidInput for an id that exists.
	InsertWorkspace(ctx context.Context, w workspace.Workspace) error
	// UpdateWorkspace changes the given fields in one statement and returns the
	// workspace: fault.NotFound.
	UpdateWorkspace(ctx context.Context, id workspace.ID, change WorkspaceChange) (workspace.Workspace, error)
	// Workspaces lists all workspaces by name, then id.
	Workspaces(ctx context.Context) ([]workspace.Workspace, error)
	// WorkspaceByID returns one workspace: fault.NotFound.
	WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error)
}

// KeyStore stores API keys. A key can be valid in several workspaces.
type KeyStore interface {
	// InsertKey adds a key: fault.NotFound when one of its workspaces is unknown.
	InsertKey(ctx context.Context, k workspace.KeyRecord) error
	// KeyByID returns one key: fault.NotFound.
	KeyByID(ctx context.Context, id workspace.KeyID) (workspace.KeyRecord, error)
	// Keys lists the keys of the workspace, or all keys for the zero id, newest
	// first.
	Keys(ctx context.Context, of workspace.ID) ([]workspace.Key, error)
	// UpdateKey changes a key and returns it: fault.NotFound.
	UpdateKey(ctx context.Context, id workspace.KeyID, change KeyChange) (workspace.Key, error)
	// RotateKey gives a key another secret. The previous one stays valid for grace; if that is
	// 0, the keys that the key made end. Error: fault.NotFound, also for a revoked key.
	RotateKey(ctx context.Context, id workspace.KeyID, hash workspace.SecretHash, now time.Time, grace time.Duration) (workspace.Key, error)
}

// UserStore stores users and their memberships for operators.
type UserStore interface {
	// InsertMember adds a membership and returns the member as stored. A user whose id is
	// unknown is added; a known one keeps the stored address and name. With byAddress it takes
	// the user with the address of m (see UserByEmail) or else adds a claimable one with the id
	// of m (see ClaimUser). Errors: fault.AlreadyMember, fault.NotFound for an unknown
	// workspace, fault.InvalidInput for several users.
	InsertMember(ctx context.Context, workspace workspace.ID, m Member, byAddress bool) (Member, error)
	// EnsureMember is InsertMember, but sets the role of an existing member.
	EnsureMember(ctx context.Context, workspace workspace.ID, m Member) (Member, error)
	// MembersOf lists all members by role, highest first, then address.
	MembersOf(ctx context.Context, workspace workspace.ID) ([]Member, error)
	// UsersByEmail returns the users with this address, compared by FoldEmail.
	UsersByEmail(ctx context.Context, email string) ([]User, error)
	// ReleaseUser makes a user claimable: fault.NotFound.
	ReleaseUser(ctx context.Context, id workspace.UserID) (User, error)
	// SignOutUser ends the sessions of a user: fault.NotFound.
	SignOutUser(ctx context.Context, id workspace.UserID) (User, error)
}

// WorkspaceChange has the fields to change; nil fields are not changed.
type WorkspaceChange struct {
	Name    *string
	Plan    *workspace.Plan
	Ceiling *int64
	// TimeZone is the name of a zone of the IANA database.
	TimeZone *string
}

// KeyChange has the fields to change; nil fields are not changed.
type KeyChange struct {
	// RevokeAt revokes the key. A revoked key retains its earlier time.
	RevokeAt   *time.Time
	Restricted *bool
	// DailyCredits and RequestsPerSecond are those of workspace.KeyBudget; 0 removes one.
	DailyCredits      *int64
	RequestsPerSecond *int
	// Networks are those of workspace.Key; an empty list removes the limit.
	Networks *[]netip.Prefix
}

// DirectoryStore is what a Directory needs of a store.
type DirectoryStore interface {
	WorkspaceStore
	KeyStore
	UserStore
}

// Directory creates and changes workspaces, keys and members for operators. It
// validates the input and stores it.
type Directory struct {
	store DirectoryStore
	now   func() time.Time
}

// NewDirectory returns a Directory on a store; now is the clock, time.Now when
// nil.
func NewDirectory(store DirectoryStore, now func() time.Time) *Directory {
	return &Directory{store: store, now: workspace.Clock(now)}
}

// CreateWorkspace adds a workspace; a ceiling of 0 means DefaultCeiling.
func (d *Directory) CreateWorkspace(ctx context.Context, name string, plan workspace.Plan, ceiling int64) (workspace.Workspace, error) {
	w := d.newWorkspace(workspace.NewID(), name, plan, ceiling)
	if err := w.Validate(); err != nil {
		return workspace.Workspace{}, err
	}
	return w, d.store.InsertWorkspace(ctx, w)
}

// EnsureWorkspace creates the workspace with this id, or sets its name, plan and
// ceiling; a ceiling of 0 means DefaultCeiling.
func (d *Directory) EnsureWorkspace(
	ctx context.Context,
	id workspace.ID,
	name string,
	plan workspace.Plan,
	ceiling int64,
) (workspace.Workspace, error) {
	w := d.newWorkspace(id, name, plan, ceiling)
	if err := w.Validate(); err != nil {
		return workspace.Workspace{}, err
	}
	change := WorkspaceChange{Name: &w.Name, Plan: &w.Plan, Ceiling: &w.CreditCeiling}
	stored, err := d.store.UpdateWorkspace(ctx, id, change)
	if fault.CodeOf(err) != fault.NotFound {
		return stored, err
	}
	if err := d.store.InsertWorkspace(ctx, w); err != nil {
		// Another process may have inserted it since the update.
		if stored, retryErr := d.store.UpdateWorkspace(ctx, id, change); retryErr == nil {
			return stored, nil
		}
		return workspace.Workspace{}, err
	}
	return w, nil
}

func (d *Directory) newWorkspace(id workspace.ID, name string, plan workspace.Plan, ceiling int64) workspace.Workspace {
	if ceiling == 0 {
		ceiling = workspace.DefaultCeiling
	}
	return workspace.Workspace{
		ID: id, Name: strings.TrimSpace(name), Plan: plan, CreditCeiling: ceiling, TimeZone: "UTC", CreatedAt: d.now(),
	}
}

// SetWorkspace changes a workspace: fault.NotFound, fault.InvalidInput.
func (d *Directory) SetWorkspace(ctx context.Context, id workspace.ID, change WorkspaceChange) (workspace.Workspace, error) {
	// Stored fields are valid: validate the changed ones in a valid workspace.
	w := d.newWorkspace(id, "unchanged", workspace.Pro, workspace.DefaultCeiling)
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
	if change.TimeZone != nil {
		w.TimeZone = *change.TimeZone
	}
	if err := w.Validate(); err != nil {
		return workspace.Workspace{}, err
	}
	return d.store.UpdateWorkspace(ctx, id, change)
}

// Workspaces lists all workspaces, by name.
func (d *Directory) Workspaces(ctx context.Context) ([]workspace.Workspace, error) {
	return d.store.Workspaces(ctx)
}

// NewKey is the input of CreateKey.
type NewKey struct {
	Name       string
	Workspaces []workspace.ID
	// Scopes means all scopes when empty.
	Scopes []workspace.Scope
	// ExpiresIn is the key's lifetime from now; 0 means unlimited.
	ExpiresIn  time.Duration
	Restricted bool
	Budget     workspace.KeyBudget
	// Networks are those from which the key may be used; none: any.
	Networks []netip.Prefix
}

// CreateKey adds a key and returns it with its text, which cannot be read later.
func (d *Directory) CreateKey(ctx context.Context, n NewKey) (workspace.Key, string, error) {
	secret := workspace.NewSecret()
	k := workspace.Key{
		ID: workspace.NewKeyID(), Name: strings.TrimSpace(n.Name), Workspaces: n.Workspaces,
		Scopes: n.Scopes, Restricted: n.Restricted, Budget: n.Budget, Networks: n.Networks, CreatedAt: d.now(), Form: workspace.Checked,
	}
	if len(k.Scopes) == 0 {
		k.Scopes = workspace.AllScopes()
	}
	if n.ExpiresIn != 0 {
		end := k.CreatedAt.Add(n.ExpiresIn)
		k.ExpiresAt = &end
	}
	if err := k.Validate(); err != nil {
		return workspace.Key{}, "", err
	}
	if err := d.store.InsertKey(ctx, workspace.KeyRecord{Key: k, Hash: secret.Hash()}); err != nil {
		return workspace.Key{}, "", err
	}
	return k, secret.Token(k.ID), nil
}

// Accepts reports whether the text of a key is valid in the workspace now.
func (d *Directory) Accepts(ctx context.Context, token string, in workspace.ID) (bool, error) {
	id, secret, err := workspace.ParseKey(token)
	if err != nil {
		return false, nil
	}
	k, err := d.store.KeyByID(ctx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case !secret.Matches(k.Hash) || k.Refusal(d.now()) != "" || len(k.Networks) > 0:
		return false, nil
	}
	return k.Grants(in), nil
}

// Keys lists the keys of the workspace, or all keys for the zero id.
func (d *Directory) Keys(ctx context.Context, of workspace.ID) ([]workspace.Key, error) {
	return d.store.Keys(ctx, of)
}

// RevokeKey revokes a key permanently. Repeated calls succeed.
func (d *Directory) RevokeKey(ctx context.Context, id workspace.KeyID) (workspace.Key, error) {
	at := d.now()
	return d.store.UpdateKey(ctx, id, KeyChange{RevokeAt: &at})
}

// RestrictKey sets or lifts the restriction of a key.
func (d *Directory) RestrictKey(ctx context.Context, id workspace.KeyID, restricted bool) (workspace.Key, error) {
	return d.store.UpdateKey(ctx, id, KeyChange{Restricted: &restricted})
}

// ChangeKey changes the budget and the networks of a key; nil members do not change, 0 and
// no networks remove a limit. Errors: fault.NotFound, fault.InvalidInput.
func (d *Directory) ChangeKey(ctx context.Context, id workspace.KeyID, change KeyChange) (workspace.Key, error) {
	// Stored fields are valid: validate the changed ones in a valid key.
	k := workspace.Key{ID: id, Name: "unchanged", Workspaces: []workspace.ID{workspace.NewID()}, Scopes: workspace.AllScopes()}
	if change.DailyCredits != nil {
		k.Budget.DailyCredits = *change.DailyCredits
	}
	if change.RequestsPerSecond != nil {
		k.Budget.RequestsPerSecond = *change.RequestsPerSecond
	}
	if change.Networks != nil {
		k.Networks = *change.Networks
	}
	if err := k.Validate(); err != nil {
		return workspace.Key{}, err
	}
	return d.store.UpdateKey(ctx, id, change)
}

// RotateKey gives a key another secret and returns its text. The previous secret stays
// valid for a while, at most MaxOldSecret. Errors: fault.NotFound for a key that is unknown
// or revoked, fault.InvalidInput.
func (d *Directory) RotateKey(ctx context.Context, id workspace.KeyID, grace time.Duration) (workspace.Key, string, error) {
	if err := checkOldSecret(grace); err != nil {
		return workspace.Key{}, "", err
	}
	secret := workspace.NewSecret()
	k, err := d.store.RotateKey(ctx, id, secret.Hash(), d.now(), grace)
	if err != nil {
		return workspace.Key{}, "", err
	}
	return k, secret.Token(id), nil
}

// AddMember adds a user to a workspace. Without an id it is the user with this
// address, or a new user. Errors: fault.InvalidInput when several users have the
// address, fault.AlreadyMember, fault.NotFound.
func (d *Directory) AddMember(ctx context.Context, to workspace.ID, m Member) (Member, error) {
	m.Email, m.Name, m.JoinedAt = strings.TrimSpace(m.Email), strings.TrimSpace(m.Name), d.now()
	byAddress := m.ID.IsZero()
	if byAddress {
		m.ID = workspace.NewUserID()
	}
	if err := m.Validate(); err != nil {
		return Member{}, err
	}
	return d.store.InsertMember(ctx, to, m, byAddress)
}

// SignOutUser ends all present sessions of a user. They may sign in again. Errors:
// fault.NotFound.
func (d *Directory) SignOutUser(ctx context.Context, id workspace.UserID) (User, error) {
	return d.store.SignOutUser(ctx, id)
}

// ReleaseUser lets the next account that signs in with a user's verified address become this
// user, for accounts that the provider re-created. Error: fault.NotFound.
func (d *Directory) ReleaseUser(ctx context.Context, id workspace.UserID) (User, error) {
	return d.store.ReleaseUser(ctx, id)
}

// EnsureMember makes the user with this id a member with this role, or sets the
// role of a member.
func (d *Directory) EnsureMember(ctx context.Context, to workspace.ID, m Member) (Member, error) {
	m.JoinedAt = d.now()
	if err := m.Validate(); err != nil {
		return Member{}, err
	}
	return d.store.EnsureMember(ctx, to, m)
}

// Members lists the members of a workspace: fault.NotFound for an unknown one.
func (d *Directory) Members(ctx context.Context, of workspace.ID) ([]Member, error) {
	if _, err := d.store.WorkspaceByID(ctx, of); err != nil {
		return nil, err
	}
	return d.store.MembersOf(ctx, of)
}

// UserByEmail returns the user with an address: fault.NotFound for none,
// fault.InvalidInput for several.
func (d *Directory) UserByEmail(ctx context.Context, email string) (User, error) {
	users, err := d.store.UsersByEmail(ctx, email)
	if err != nil {
		return User{}, err
	}
	return OneUser(users, email)
}

// OneUser returns the only one of the users with an address: fault.NotFound for none,
// fault.InvalidInput for several.
func OneUser(users []User, email string) (User, error) {
	switch {
	case len(users) == 0:
		return User{}, fault.New(fault.NotFound, "no user has the address %s", email)
	case len(users) > 1:
		return User{}, fault.Validation(workspace.NewIssue(fault.Custom, "user", "several users have this address: say which one by id"))
	}
	return users[0], nil
}
