package people

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// Limits of the keys that a workspace makes itself.
const (
	// KeyLife is the default lifetime of a key, MaxKeyDays the maximum of a key that
	// expires.
	KeyLife    = 90 * 24 * time.Hour
	MaxKeyDays = 3650
	// OldSecretFor is the default time for which the secret before a rotation stays valid,
	// MaxOldSecret the maximum.
	OldSecretFor = 24 * time.Hour
	MaxOldSecret = 7 * 24 * time.Hour
	// EndedKeysFor is how long keys are listed after their end.
	EndedKeysFor = 30 * 24 * time.Hour
	// MaxKeys is the maximum number of unended keys that a workspace makes.
	MaxKeys = 100
	// MaxMadeKeys is the maximum number of keys that the people of a workspace make within
	// EndedKeysFor, and the same for all its keys together. MaxKeysOfKey is that of one key and
	// those that it made.
	MaxMadeKeys  = 1000
	MaxKeysOfKey = 100
)

func checkOldSecret(grace time.Duration) error {
	if grace < 0 || grace > MaxOldSecret {
		return fault.Validation(workspace.NewIssue(fault.Custom, "keep", "must be 0 to 168 hours"))
	}
	return nil
}

// KeyMaker is who makes or changes keys of a workspace: a user whose token has Scopes, or a key
// with its Secret. What a key may grant is limited by its own row.
type KeyMaker struct {
	User   workspace.UserID
	Key    workspace.KeyID
	Secret workspace.SecretHash
	Scopes []workspace.Scope
}

// LockedMaker is the state of a maker of keys in the transaction of the change.
type LockedMaker struct {
	// Role is for a user, "" for nobody. Key is for a key, nil if it may not act in the
	// workspace.
	Role Role
	Key  *workspace.KeyRecord
	// Policy is that of the workspace.
	Policy KeyPolicy
}

// WorkspaceKeyStore stores the keys that may act in a workspace. *postgres.Store implements
// it.
type WorkspaceKeyStore interface {
	// WorkspaceKeys lists keys, the newest first, without those that ended before a time.
	WorkspaceKeys(ctx context.Context, in workspace.ID, ended time.Time, limit, offset int) ([]workspace.Key, error)
	// AddKey adds the key that make returns, unless the workspace has MaxKeys keys that have
	// not ended at now. The row of the maker is locked. Errors: fault.LimitReached, those of
	// make.
	AddKey(
		ctx context.Context, in workspace.ID, by KeyMaker, now time.Time,
		make func(LockedMaker) (workspace.KeyRecord, error),
	) (workspace.Key, error)
	// ChangeKey changes a key. It calls change with the maker and the key, both locked, and
	// stores only Hash, OldHash, OldUntil, Form, ExpiresAt and RevokedAt of the result.
	// RevokedAt ends a key without Home in this workspace only. If OldUntil is not after now,
	// the keys that the key made end. Errors: fault.NotFound, those of change.
	ChangeKey(
		ctx context.Context, in workspace.ID, by KeyMaker, id workspace.KeyID, now time.Time,
		change func(LockedMaker, workspace.KeyRecord) (workspace.KeyRecord, error),
	) (workspace.Key, error)
}

// Keys makes, lists, rotates and revokes the keys of workspaces for their owners and admins
// (docs/api.md, "API keys").
type Keys struct {
	store   WorkspaceKeyStore
	now     func() time.Time
	changed func(workspace.KeyID)
}

// NewKeys returns Keys on a store. It calls changed, when not nil, after each change, so that
// caches can drop the key.
func NewKeys(store WorkspaceKeyStore, now func() time.Time, changed func(workspace.KeyID)) *Keys {
	if changed == nil {
		changed = func(workspace.KeyID) {}
	}
	return &Keys{store: store, now: workspace.Clock(now), changed: changed}
}

// List returns a page of keys, the newest first, with those that ended in the last 30 days.
func (s *Keys) List(ctx context.Context, in workspace.ID, limit, offset int) ([]workspace.Key, error) {
	return s.store.WorkspaceKeys(ctx, in, s.now().Add(-EndedKeysFor), limit, offset)
}

// KeyEnd says when a key ends.
type KeyEnd struct {
	// Days is the lifetime from now; nil: KeyLife for a new key, unchanged for an existing
	// one. A key made by a key ends with that key at the latest.
	Days *int
	// Never means that the key does not expire.
	Never bool
}

// KeyInput is the input of Create.
type KeyInput struct {
	Name   string
	Scopes []workspace.Scope
	KeyEnd
	// Networks are those from which the key may be used; nil: those of the key that makes
	// it.
	Networks *[]netip.Prefix
	Budget   workspace.KeyBudget
}

// Create makes a key of the workspace and returns it with its text. Errors: fault.InvalidInput;
// fault.LimitReached; fault.Forbidden for a maker who may not make keys, and for a key that
// could do more than its maker or breaks the policy of the workspace.
func (s *Keys) Create(ctx context.Context, in workspace.ID, by KeyMaker, n KeyInput) (workspace.Key, string, error) {
	secret, now := workspace.NewSecret(), s.now()
	k, err := s.store.AddKey(ctx, in, by, now, func(m LockedMaker) (workspace.KeyRecord, error) {
		k := workspace.Key{
			ID: workspace.NewKeyID(), Name: strings.TrimSpace(n.Name), Workspaces: []workspace.ID{in}, Home: in,
			CreatedBy: by.User, CreatedByKey: by.Key, Scopes: n.Scopes, Budget: n.Budget, CreatedAt: now, Form: workspace.Checked,
		}
		if err := by.permit(m, now, in); err != nil {
			return workspace.KeyRecord{}, err
		}
		if m.Key != nil {
			k.CreatedBy, k.Networks = m.Key.CreatedBy, m.Key.Networks
		}
		if n.Networks != nil {
			k.Networks = *n.Networks
		}
		if n.Days == nil && !n.Never {
			end := now.Add(KeyLife)
			if latest := m.Policy.latestEnd(now); m.Policy.MaxDays > 0 && latest.Before(end) {
				end = latest
			}
			k.ExpiresAt = &end
			if m.Key != nil && m.Key.ExpiresAt != nil && m.Key.ExpiresAt.Before(end) {
				k.ExpiresAt = m.Key.ExpiresAt
			}
		}
		n.apply(&k, now)
		if err := k.Validate(); err != nil {
			return workspace.KeyRecord{}, err
		}
		if err := m.Policy.Check(k, now); err != nil {
			return workspace.KeyRecord{}, err
		}
		return workspace.KeyRecord{Key: k, Hash: secret.Hash()}, by.reach(m, k, true)
	})
	if err != nil {
		return workspace.Key{}, "", err
	}
	return k, secret.Token(k.ID), nil
}

// apply sets the end of a key, if the input names one.
func (e KeyEnd) apply(k *workspace.Key, now time.Time) {
	switch {
	case e.Never:
		k.ExpiresAt = nil
	case e.Days != nil:
		end := now.Add(time.Duration(*e.Days) * 24 * time.Hour)
		k.ExpiresAt = &end
	}
}

// Rotate gives a key of the workspace another secret and, if given, another end, and returns
// its text. The previous secret stays valid for a while, at most MaxOldSecret; if it ends at
// once, so do the keys that the key made. Errors: fault.NotFound, also for a key that has
// ended; fault.Forbidden as in Create, for a key of an operator, and for a key of another
// person, whose new secret would not end with that person's access.
func (s *Keys) Rotate(
	ctx context.Context, in workspace.ID, by KeyMaker, id workspace.KeyID, grace time.Duration, end KeyEnd,
) (workspace.Key, string, error) {
	if err := checkOldSecret(grace); err != nil {
		return workspace.Key{}, "", err
	}
	secret, now := workspace.NewSecret(), s.now()
	k, err := s.store.ChangeKey(ctx, in, by, id, now, func(m LockedMaker, k workspace.KeyRecord) (workspace.KeyRecord, error) {
		if err := by.permit(m, now, in); err != nil {
			return k, err
		}
		switch {
		case k.Home != in:
			return k, fault.New(fault.Forbidden, "an operator made this API key: only an operator rotates it")
		case k.RevokedAt != nil || k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
			return k, fault.New(fault.NotFound, "this API key has ended: make another")
		case !by.Key.IsZero() && by.Key != id && by.Key != k.CreatedByKey:
			return k, fault.New(fault.Forbidden, "an API key rotates itself and those that it made: the secret of another would outlive it")
		case by.Key.IsZero() && by.User != k.CreatedBy:
			return k, fault.New(fault.Forbidden, "only who made this API key rotates it: make another, and revoke this one")
		}
		end.apply(&k.Key, now)
		until := now.Add(grace)
		k.OldHash, k.Hash, k.OldUntil, k.Form = k.Hash, secret.Hash(), &until, workspace.Checked
		if err := m.Policy.Check(k.Key, now); err != nil {
			return k, err
		}
		return k, by.reach(m, k.Key, by.Key != id)
	})
	if err != nil {
		return workspace.Key{}, "", err
	}
	s.changed(id)
	return k, secret.Token(k.ID), nil
}

// Revoke ends a key. A key of the workspace ends for good, with the keys that it made; a key of
// an operator ends in this workspace only. Errors: fault.NotFound, fault.Forbidden.
func (s *Keys) Revoke(ctx context.Context, in workspace.ID, by KeyMaker, id workspace.KeyID) error {
	now := s.now()
	_, err := s.store.ChangeKey(ctx, in, by, id, now, func(m LockedMaker, k workspace.KeyRecord) (workspace.KeyRecord, error) {
		if k.RevokedAt == nil {
			k.RevokedAt = &now
		}
		return k, by.permit(m, now, in)
	})
	if err == nil {
		s.changed(id)
	}
	return err
}

// permit returns fault.Forbidden for a maker who may no longer manage keys in the workspace:
// the authorization of the request can be some seconds old.
func (by KeyMaker) permit(m LockedMaker, now time.Time, in workspace.ID) error {
	if by.Key.IsZero() {
		if !m.Role.Administers() {
			return errNotAdmin()
		}
		return nil
	}
	if m.Key == nil || m.Key.Refusal(now) != "" || !m.Key.Grants(in) {
		return fault.New(fault.Forbidden, "this API key has ended")
	}
	if by.Secret != m.Key.Hash {
		return fault.New(fault.Forbidden, "this secret of the API key has been replaced: only the new one makes, rotates and revokes keys")
	}
	return nil
}

// reach returns fault.Forbidden for a key that could do more than its maker. another means that
// the key is not the maker itself.
func (by KeyMaker) reach(m LockedMaker, k workspace.Key, another bool) error {
	has := by.Scopes
	if m.Key != nil {
		has = m.Key.Scopes
	}
	for _, scope := range k.Scopes {
		if !slices.Contains(has, scope) {
			return fault.New(fault.Forbidden, "you lack the scope %s, so a key that you make cannot have it", scope)
		}
	}
	if m.Key == nil {
		return nil
	}
	end := m.Key.ExpiresAt
	switch {
	case end != nil && (k.ExpiresAt == nil || k.ExpiresAt.After(*end)):
		return fault.New(fault.Forbidden, "a key that an API key makes or rotates ends with that at the latest: %s", *workspace.FormatTime(end))
	case !workspace.Within(k.Networks, m.Key.Networks):
		return fault.New(fault.Forbidden, "a key that an API key makes may be used from networks of that only")
	case another && m.Key.Budget != workspace.KeyBudget{}:
		return fault.New(fault.Forbidden, "an API key with a budget makes no keys: together they could use more")
	}
	return nil
}
