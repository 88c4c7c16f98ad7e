// Package identity has how people of a workspace sign in by its own OpenID provider: the
// domains of e-mail addresses that it proved, its provider, and who a subject of the provider
// is (docs/identity.md).
//
// It does not speak to providers (service/oidc), keep sessions (service/session) or store
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

// ProviderID identifies a provider of a workspace. Another issuer or client has another id,
// so that the sessions of the one before end.
type ProviderID = workspace.TypedID[providerKind]

// Provider is the OpenID provider of a workspace.
type Provider struct {
	ID       ProviderID
	Issuer   string
	ClientID string
	// Scopes are asked for; openid is among them.
	Scopes []string
	// Required means that people act in the workspace only with a session of the provider.
	Required bool
	// RoleClaim is the claim whose values Roles has roles for, "" if roles are given in the
	// workspace alone.
	RoleClaim string
	Roles     map[string]people.Role
	// DefaultRole is of who has no value of Roles; "": they do not get in.
	DefaultRole people.Role
	// SessionHours is how long a session lasts at most, IdleMinutes how long after its last
	// request.
	SessionHours, IdleMinutes int
	// Revision counts the changes, from 1.
	Revision             int
	CreatedAt, UpdatedAt time.Time
	// UpdatedBy is zero for an operator, and for a user who is gone.
	UpdatedBy workspace.UserID
}

// RoleOf returns the role of a person with values of RoleClaim, the highest of several, and ""
// for who does not get in. told is false where the provider says nothing of roles.
func (p Provider) RoleOf(values []string) (role people.Role, told bool) {
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
	// Token is what the DNS record has.
	Token string
	// ProvedAt is nil for a domain that is not proved, or was lost.
	ProvedAt *time.Time
	// ProvedBy is "" for a domain that is not proved.
	ProvedBy Proof
	// CheckedAt is when its record was looked for last, FailingSince since when it is away.
	CheckedAt, FailingSince *time.Time
	CreatedAt               time.Time
}

const (
	// MaxMembers is the number of members from which a provider makes no more.
	MaxMembers = 10_000
	// MaxDomains is the maximum number of domains of a workspace.
	MaxDomains = 50
	// LostAfter is how long the record of a proved domain may be away.
	LostAfter = 3 * 24 * time.Hour
	// CheckEvery is how often it is looked for.
	CheckEvery = 6 * time.Hour
	// LostChecks is how many look-ups must have found it away besides, ChecksApart how far apart
	// at least: one that is late, after nobody looked for days, loses no domain.
	LostChecks, ChecksApart = 3, CheckEvery / 2
)

// RecordName is the name of the DNS text record, Record what it has.
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

// Own says by which provider of a workspace somebody signed in; the zero value: by none of a
// workspace.
type Own struct {
	Workspace workspace.ID `json:"workspace"`
	Provider  ProviderID   `json:"provider"`
}

// Gate is what each request of a person looks at: the provider of the workspace, zero for
// none, whether it is required, and the domains that are proved.
type Gate struct {
	Provider ProviderID
	Required bool
	Domains  []string
}

// Person is who a provider says that somebody is.
type Person struct {
	Provider        ProviderID
	Issuer, Subject string
	// Email is verified.
	Email string
	// Name is "" if the provider has none that can be used.
	Name string
	// Values are those of the provider's role claim. Silent means that this answer did not say
	// what they are: the role of a member stays. An empty list is not silent: they have none.
	Values []string
	Silent bool
}

// Locked is what a change of the settings is decided on; nothing of it changes before the
// change is made.
type Locked struct {
	// Role is that of who changes, "" for no member.
	Role people.Role
	// Provider is the one before, nil for none.
	Provider *Provider
}

// Permit permits a change, or returns the error that refuses it.
type Permit func(Locked) error

// Store keeps the settings of workspaces. *postgres.Store implements it.
type Store interface {
	// Provider returns the provider of a workspace: fault.NotFound for none.
	Provider(ctx context.Context, in workspace.ID) (Provider, error)
	// SetProvider puts the provider in place that change returns, with a sealed secret; nil
	// keeps the one before.
	SetProvider(ctx context.Context, in workspace.ID, by workspace.UserID, change func(Locked) (Provider, []byte, error)) (Provider, error)
	// DeleteProvider deletes the provider: fault.NotFound for none.
	DeleteProvider(ctx context.Context, in workspace.ID, by workspace.UserID, permit Permit) error
	// Domains lists the domains of a workspace by name.
	Domains(ctx context.Context, in workspace.ID) ([]Domain, error)
	// Domain returns one: fault.NotFound.
	Domain(ctx context.Context, in workspace.ID, name string) (Domain, error)
	// AddDomain adds a domain that is not proved, and returns it, or the one that is there:
	// fault.LimitReached.
	AddDomain(ctx context.Context, in workspace.ID, by workspace.UserID, d Domain, permit Permit) (Domain, error)
	// DeleteDomain deletes a domain: fault.NotFound.
	DeleteDomain(ctx context.Context, in workspace.ID, by workspace.UserID, name string, permit Permit) error
}

// Prover keeps what was proved. *postgres.System implements it.
type Prover interface {
	// NoteCheck records that the record of a domain was there or not. A domain that was not
	// proved is proved by a record that is there, and a proved one is lost when its record was
	// away for LostAfter, and LostChecks times; one that an operator proved is neither. Errors: fault.NotFound,
	// fault.Forbidden if another workspace has proved the domain.
	NoteCheck(ctx context.Context, in workspace.ID, name string, there bool, at time.Time) (Domain, error)
	// DueDomains lists domains that were proved by DNS and not checked since a time, those
	// first that were not for longest.
	DueDomains(ctx context.Context, before time.Time, most int) ([]Domain, error)
}
