package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// KeyPolicy is what a workspace permits for new and rotated API keys (docs/api.md, "API
// keys"). The zero value permits everything.
type KeyPolicy struct {
	// Scopes are those that keys may have; nil: any.
	Scopes []workspace.Scope
	// MaxDays is the maximum lifetime of a key; 0: any, including unlimited.
	MaxDays int
	// Networks is set if keys must be limited to networks.
	Networks bool
	// MaxDailyCredits is the maximum budget, and makes a budget required; 0: no
	// requirement.
	MaxDailyCredits int64
	// UpdatedAt is when it was last set, zero if never; UpdatedBy by whom, zero for a
	// deleted user.
	UpdatedAt time.Time
	UpdatedBy workspace.UserID
}

// Rules that a key can break, named by the members of a key.
const (
	breaksScopes   = "scopes"
	breaksEnd      = "expires_at"
	breaksNetworks = "networks"
	breaksBudget   = "daily_credits"
)

// PolicyMembers are the members of a key that a policy limits.
func PolicyMembers() []string {
	return []string{breaksScopes, breaksEnd, breaksNetworks, breaksBudget}
}

// Breaks returns the members of a key that the policy would not permit now.
func (p KeyPolicy) Breaks(k workspace.Key, now time.Time) (members []string) {
	if p.Scopes != nil && slices.ContainsFunc(k.Scopes, func(s workspace.Scope) bool { return !slices.Contains(p.Scopes, s) }) {
		members = append(members, breaksScopes)
	}
	if p.MaxDays > 0 && (k.ExpiresAt == nil || k.ExpiresAt.After(p.latestEnd(now))) {
		members = append(members, breaksEnd)
	}
	if p.Networks && len(k.Networks) == 0 {
		members = append(members, breaksNetworks)
	}
	if p.MaxDailyCredits > 0 && (k.Budget.DailyCredits == 0 || k.Budget.DailyCredits > p.MaxDailyCredits) {
		members = append(members, breaksBudget)
	}
	return members
}

func (p KeyPolicy) latestEnd(now time.Time) time.Time {
	return now.Add(time.Duration(p.MaxDays) * 24 * time.Hour)
}

// Check returns fault.Forbidden for a key that the policy does not permit.
func (p KeyPolicy) Check(k workspace.Key, now time.Time) error {
	var wants []string
	for _, member := range p.Breaks(k, now) {
		switch member {
		case breaksScopes:
			var names []string
			for _, s := range p.Scopes {
				names = append(names, string(s))
			}
			wants = append(wants, "have no scopes but "+strings.Join(names, ", "))
		case breaksEnd:
			wants = append(wants, fmt.Sprintf("end within %d days", p.MaxDays))
		case breaksNetworks:
			wants = append(wants, "be limited to networks")
		case breaksBudget:
			wants = append(wants, fmt.Sprintf("have a budget of at most %d credits a day", p.MaxDailyCredits))
		}
	}
	if len(wants) == 0 {
		return nil
	}
	return fault.New(fault.Forbidden, "by the policy of the workspace a key must %s", strings.Join(wants, ", and "))
}

// KeyPolicyStore stores the policies of workspaces. *postgres.Store implements it.
type KeyPolicyStore interface {
	// KeyPolicy returns the policy of a workspace, the zero value if it has none.
	KeyPolicy(ctx context.Context, in workspace.ID) (KeyPolicy, error)
	// SetKeyPolicy replaces the policy if permit lets the user, whose row is locked. Every key
	// made or rotated after it returns follows the new one. Errors: those of permit.
	SetKeyPolicy(ctx context.Context, in workspace.ID, by workspace.UserID, p KeyPolicy, permit func(Role) error) error
}

// Policies sets and shows what workspaces permit of keys.
type Policies struct {
	store KeyPolicyStore
	now   func() time.Time
}

// NewPolicies returns Policies on a store.
func NewPolicies(store KeyPolicyStore, now func() time.Time) *Policies {
	return &Policies{store, workspace.Clock(now)}
}

// Keys returns the policy of a workspace for its keys.
func (s *Policies) Keys(ctx context.Context, in workspace.ID) (KeyPolicy, error) {
	return s.store.KeyPolicy(ctx, in)
}

// SetKeys replaces the policy and returns the new one. Error: fault.Forbidden for a user
// who is no longer owner or admin.
func (s *Policies) SetKeys(ctx context.Context, in workspace.ID, by workspace.UserID, p KeyPolicy) (KeyPolicy, error) {
	p.UpdatedAt, p.UpdatedBy = s.now(), by
	return p, s.store.SetKeyPolicy(ctx, in, by, p, func(role Role) error {
		if !role.Administers() {
			return errNotAdmin()
		}
		return nil
	})
}

func errNotAdmin() error {
	return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
}
