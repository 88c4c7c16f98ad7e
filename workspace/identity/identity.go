// Package identity has the rules by which people sign in to a workspace by its own OpenID
// provider: the provider, the proved domains of e-mail addresses, and which user a subject of
// the provider is (docs/identity.md).
//
// It does not call providers (service/oidc), store sessions (service/session) or settings
// (workspace/postgres).
package identity

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

type providerKind struct{}

// ProviderID identifies a provider of a workspace. Another issuer or client gets a new id,
// which ends the sessions of the previous one.
type ProviderID = workspace.TypedID[providerKind]

// Provider is the OpenID provider of a workspace.
type Provider struct {
	ID       ProviderID
	Issuer   string
	ClientID string
	// Scopes are the requested scopes, including openid.
	Scopes []string
	// Required means that people can act in the workspace only with a session of the provider.
	Required bool
	// RoleClaim is the claim whose values Roles maps to roles, "" if roles are given only in the
	// workspace.
	RoleClaim string
	Roles     map[string]people.Role
	// DefaultRole is the role of people without a value of Roles; "" refuses them.
	DefaultRole people.Role
	// SessionHours limits the duration of a session, IdleMinutes the time after its last request.
	SessionHours, IdleMinutes int
	// Revision counts the changes, from 1.
	Revision             int
	CreatedAt, UpdatedAt time.Time
	// UpdatedBy is zero for an operator, and for a user who no longer exists.
	UpdatedBy workspace.UserID
}

// RoleOf returns the role of a person with values of RoleClaim: the highest of several, "" if
// the person is refused. mapped is false if the provider maps no roles.
func (p Provider) RoleOf(values []string) (role people.Role, mapped bool) {
	for _, r := range []people.Role{people.Owner, people.Admin, people.MemberRole} {
		if slices.ContainsFunc(values, func(v string) bool { return p.Roles[v] == r }) {
			return r, true
		}
	}
	return p.DefaultRole, p.RoleClaim != ""
}

// Proof is how a domain was proved.
type Proof string

// The proofs.
const (
	ByDNS      Proof = "dns"
	ByOperator Proof = "operator"
)

// Domain is a domain of e-mail addresses. While it is proved, no other workspace proves it.
type Domain struct {
	Workspace workspace.ID
	Name      string
	// Token is the content of the DNS record.
	Token string
	// ProvedAt is nil for a domain that is not proved, or was lost.
	ProvedAt *time.Time
	// ProvedBy is "" for a domain that is not proved.
	ProvedBy Proof
	// CheckedAt is the time of the last look-up of the record. FailingSince is since when the
	// record is missing.
	CheckedAt, FailingSince *time.Time
	CreatedAt               time.Time
}

const (
	// MaxMembers is the number of members beyond which a provider creates no more.
	MaxMembers = 10_000
	// MaxDomains is the maximum number of domains of a workspace.
	MaxDomains = 50
	// LostAfter is how long the record of a proved domain may be missing.
	LostAfter = 3 * 24 * time.Hour
	// CheckEvery is the interval of look-ups.
	CheckEvery = 6 * time.Hour
	// LostChecks is how many look-ups must also have missed the record, at least ChecksApart
	// from each other: one late look-up, after days without any, loses no domain.
	LostChecks, ChecksApart = 3, CheckEvery / 2
)

// RecordName returns the name of the DNS text record.
func (d Domain) RecordName() string { return "_atlas." + d.Name }

// Record returns the text that the DNS record has.
func (d Domain) Record() string { return "atlas-domain=" + d.Token }

var domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)

// DomainText says what a domain must be.
const DomainText = "must be a domain of e-mail addresses, such as firm.example; one of other letters in its form that begins with xn--"

// ReadDomain returns a domain in the form in which domains are compared: fault.InvalidInput.
func ReadDomain(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	if len(name) > 253 || !domainForm.MatchString(name) {
		return "", fault.Validation(workspace.NewIssue(fault.Custom, "domain", DomainText))
	}
	return name, nil
}

// DomainOf returns the domain of an e-mail address, "" for a text that is none.
func DomainOf(email string) string {
	if !workspace.ValidEmail(email) {
		return ""
	}
	name, err := ReadDomain(email[strings.LastIndexByte(email, '@')+1:])
	if err != nil {
		return ""
	}
	return name
}

// Own is the workspace provider by which somebody signed in; the zero value is another way.
type Own struct {
	Workspace workspace.ID `json:"workspace"`
	Provider  ProviderID   `json:"provider"`
}

// Gate has the sign-in rules for each request of a person: the workspace's provider, zero for
// none, whether it is required, and the proved domains.
type Gate struct {
	Provider ProviderID
	Required bool
	Domains  []string
}

// Person is a provider's description of a person.
type Person struct {
	Provider        ProviderID
	Issuer, Subject string
	// Email is verified.
	Email string
	// Name is "" if the provider has no valid one.
	Name string
	// Values are the values of the provider's role claim. Silent means that the claim is
	// missing: a member's role stays. An empty list is not silent: the person has no values.
	Values []string
	Silent bool
}

// Locked is the state that a change of the settings depends on. It is locked until the change
// is stored.
type Locked struct {
	// Role is the role of the author, "" if they are not a member.
	Role people.Role
	// Provider is the current one, nil for none.
	Provider *Provider
}

// Permit permits a change, or returns the error that refuses it.
type Permit func(Locked) error

// Store stores the settings of workspaces. *postgres.Store implements it.
type Store interface {
	// Provider returns the provider of a workspace: fault.NotFound for none.
	Provider(ctx context.Context, in workspace.ID) (Provider, error)
	// SetProvider stores the provider that change returns, with the encrypted secret; nil
	// leaves the current secret.
	SetProvider(ctx context.Context, in workspace.ID, by workspace.UserID, change func(Locked) (Provider, []byte, error)) (Provider, error)
	// DeleteProvider deletes the provider: fault.NotFound for none.
	DeleteProvider(ctx context.Context, in workspace.ID, by workspace.UserID, permit Permit) error
	// Domains lists the domains of a workspace by name.
	Domains(ctx context.Context, in workspace.ID) ([]Domain, error)
	// Domain returns one: fault.NotFound.
	Domain(ctx context.Context, in workspace.ID, name string) (Domain, error)
	// AddDomain adds an unproved domain and returns it, or the existing one: fault.LimitReached.
	AddDomain(ctx context.Context, in workspace.ID, by workspace.UserID, d Domain, permit Permit) (Domain, error)
	// DeleteDomain deletes a domain: fault.NotFound.
	DeleteDomain(ctx context.Context, in workspace.ID, by workspace.UserID, name string, permit Permit) error
}

// Prover stores the state of domains. *postgres.System implements it.
type Prover interface {
	// NoteCheck records whether the record of a domain was found. A found record proves an
	// unproved domain. A proved domain is lost when its record was missing for LostAfter and
	// LostChecks times, unless an operator proved it. Errors: fault.NotFound, fault.Forbidden
	// if another workspace has proved the domain.
	NoteCheck(ctx context.Context, in workspace.ID, name string, there bool, at time.Time) (Domain, error)
	// DueDomains lists the domains proved by DNS that were last checked before a time, the
	// longest unchecked first.
	DueDomains(ctx context.Context, before time.Time, most int) ([]Domain, error)
}
