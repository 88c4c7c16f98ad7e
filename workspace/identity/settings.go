package identity

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/internal/seal"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Limits of a provider.
const (
	MaxIssuer, MaxClient, MaxSecret = 500, 255, 2000
	MaxScopes, MaxScope             = 20, 100
	MaxClaim, MaxRoles, MaxValue    = 200, 100, 200
	MinSessionHours, MaxSession     = 1, 720
	MinIdleMinutes, MaxIdleMinutes  = 5, 43_200
	DefaultSession, DefaultIdle     = 12, 60
	openID                          = "openid"
)

// Sealer encrypts the secrets of providers. Keys are those of the servers: the first
// encrypts, all decrypt.
type Sealer struct{ Keys [][]byte }

// purpose binds a secret to this use of the keys, and to its workspace.
func purpose(in workspace.ID) string { return "secret of the provider of " + in.String() }

// Seal encrypts the secret of the provider of a workspace.
func (s Sealer) Seal(in workspace.ID, secret string) ([]byte, error) {
	return seal.Seal(s.Keys[0], purpose(in), secret)
}

// Open decrypts it. current is false if a key other than the first encrypted it.
func (s Sealer) Open(in workspace.ID, sealed []byte) (secret string, current bool, err error) {
	for i, key := range s.Keys {
		if err = seal.Open(key, purpose(in), sealed, &secret); err == nil {
			return secret, i == 0, nil
		}
	}
	return "", false, err
}

// Guard decides which addresses providers may have. *egress.Guard implements it.
type Guard interface {
	// Check returns why an address is refused, in words for the client.
	Check(address string) error
}

// Resolver looks up DNS text records. *net.Resolver implements it.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// Settings shows and changes how people of workspaces sign in.
type Settings struct {
	Store    Store
	Prover   Prover
	Guard    Guard
	Sealer   Sealer
	Resolver Resolver
	// PublicURL is the origin at which browsers reach the service, "" if people cannot sign in.
	PublicURL string
	// Changed, when not nil, is called after a change, so that caches can drop the workspace.
	Changed func(in workspace.ID)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// By is the author of a change of settings.
type By struct {
	User workspace.UserID
	// Own is the workspace provider of the author's session, zero for another way of signing
	// in; Email is the address of the session.
	Own   Own
	Email string
	// Began is when the session began, zero for none.
	Began time.Time
}

// Change is the input of SetProvider.
type Change struct {
	Issuer, ClientID string
	// ClientSecret is "" to leave the current one.
	ClientSecret string
	Scopes       []string
	Required     bool
	RoleClaim    string
	Roles        map[string]people.Role
	DefaultRole  people.Role
	SessionHours int
	IdleMinutes  int
	// Revision is the expected revision of the provider; 0 skips the check.
	Revision int
}

// RedirectURI is the address to which the provider of a workspace sends people back, "" for
// none.
func (s *Settings) RedirectURI(in workspace.ID) string {
	if s.PublicURL == "" {
		return ""
	}
	return s.PublicURL + "/session/callback/" + in.String()
}

func (s *Settings) now() time.Time { return workspace.Clock(s.Now)() }

func (s *Settings) changed(in workspace.ID, err error) {
	if err == nil && s.Changed != nil {
		s.Changed(in)
	}
}

func notOwner() error {
	return fault.New(fault.Forbidden, "only an owner of the workspace may do this: a provider says who its owners are")
}

func byOwner(l Locked) error {
	if l.Role != people.Owner {
		return notOwner()
	}
	return nil
}

func byAdmin(l Locked) error {
	if !l.Role.Administers() {
		return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
	}
	return nil
}

// Provider returns the provider of a workspace: fault.NotFound for none.
func (s *Settings) Provider(ctx context.Context, in workspace.ID) (Provider, error) {
	return s.Store.Provider(ctx, in)
}

// SetProvider sets the provider, by an owner only: the provider decides who the owners are.
// Errors: fault.InvalidInput, fault.Forbidden, fault.RevisionConflict.
func (s *Settings) SetProvider(ctx context.Context, in workspace.ID, by By, c Change) (Provider, error) {
	if c.Scopes == nil {
		c.Scopes = []string{openID, "email", "profile"}
	}
	c.SessionHours, c.IdleMinutes = cmp.Or(c.SessionHours, DefaultSession), cmp.Or(c.IdleMinutes, DefaultIdle)
	if err := s.check(c); err != nil {
		return Provider{}, err
	}
	p, err := s.Store.SetProvider(ctx, in, by.User, func(l Locked) (p Provider, sealed []byte, err error) {
		if err := byOwner(l); err != nil {
			return p, nil, err
		}
		if p, err = c.on(l.Provider, by, s.now()); err != nil {
			return p, nil, err
		}
		if c.ClientSecret != "" {
			sealed, err = s.Sealer.Seal(in, c.ClientSecret)
		}
		return p, sealed, err
	})
	s.changed(in, err)
	return p, err
}

// on applies a change to the current provider, nil for none.
func (c Change) on(before *Provider, by By, now time.Time) (Provider, error) {
	p := Provider{
		ID: ProviderID(workspace.NewUUID()), Issuer: c.Issuer, ClientID: c.ClientID, Scopes: c.Scopes, Required: c.Required,
		RoleClaim: c.RoleClaim, Roles: c.Roles, DefaultRole: c.DefaultRole, SessionHours: c.SessionHours, IdleMinutes: c.IdleMinutes,
		Revision: 1, CreatedAt: now, UpdatedAt: now, UpdatedBy: by.User,
	}
	same := before != nil && before.Issuer == p.Issuer && before.ClientID == p.ClientID
	switch {
	case before == nil && c.Revision != 0, before != nil && c.Revision != 0 && c.Revision != before.Revision:
		return p, fault.New(fault.RevisionConflict, "the provider was changed since: read it again")
	case !same && c.ClientSecret == "":
		return p, fault.Validation(workspace.NewIssue(fault.Custom, "client_secret", "is required for another issuer or client"))
	}
	if before != nil {
		p.Revision, p.CreatedAt = before.Revision+1, before.CreatedAt
	}
	if same {
		p.ID = before.ID
	}
	return p, c.mayRequire(before, p, by)
}

// mayRequire refuses what could lock everybody out: to require a provider before its author has
// signed in by it as it is, or to change how people sign in by a required one.
func (c Change) mayRequire(before *Provider, p Provider, by By) error {
	const then = "set it with required false, sign in by it, then require it"
	switch on := before != nil && before.Required; {
	case !p.Required:
		return nil
	case by.Own.Provider != p.ID:
		return fault.New(fault.Forbidden, "only who signed in by this provider may require it, so that nobody is locked out: "+then)
	case on && (c.ClientSecret != "" || p.RoleClaim != before.RoleClaim || !slices.Equal(p.Scopes, before.Scopes)):
		return fault.New(fault.Forbidden,
			"while the provider is required, its secret, scopes and role_claim stay, so that nobody is locked out: "+then)
	case !on && !by.Began.After(before.UpdatedAt):
		return fault.New(fault.Forbidden, "you signed in before the provider was changed: sign in by it as it is now, then require it")
	}
	return nil
}

func (s *Settings) check(c Change) error {
	var issues []fault.Issue
	if err := s.Guard.Check(c.Issuer); err != nil {
		issues = append(issues, workspace.NewIssue(fault.Custom, "issuer", err.Error()))
	} else if strings.Contains(c.Issuer, "?") {
		issues = append(issues, workspace.NewIssue(fault.Custom, "issuer", "must have no query"))
	}
	if !slices.Contains(c.Scopes, openID) {
		issues = append(issues, workspace.NewIssue(fault.Custom, "scopes", "must contain openid"))
	}
	for _, scope := range c.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			issues = append(issues, workspace.NewIssue(fault.Custom, "scopes", "must be words of ASCII characters"))
		}
	}
	if len(c.Roles) > 0 && c.RoleClaim == "" {
		issues = append(issues, workspace.NewIssue(fault.Custom, "role_claim", "is required with roles"))
	}
	if c.RoleClaim != "" && len(c.Roles) == 0 {
		issues = append(issues, workspace.NewIssue(fault.Custom, "roles", "must have a role for a value of the claim"))
	}
	return workspace.ValidationError(issues)
}

// DeleteProvider deletes the provider of a workspace and ends its sessions. Errors:
// fault.NotFound, fault.Forbidden for users who are not owners.
func (s *Settings) DeleteProvider(ctx context.Context, in workspace.ID, by By) error {
	err := s.Store.DeleteProvider(ctx, in, by.User, byOwner)
	s.changed(in, err)
	return err
}

// Domains lists the domains of a workspace by name.
func (s *Settings) Domains(ctx context.Context, in workspace.ID) ([]Domain, error) {
	return s.Store.Domains(ctx, in)
}

// AddDomain adds an unproved domain, or returns the existing one. Errors: fault.InvalidInput,
// fault.LimitReached, fault.Forbidden.
func (s *Settings) AddDomain(ctx context.Context, in workspace.ID, by By, name string) (Domain, error) {
	name, err := ReadDomain(name)
	if err != nil {
		return Domain{}, err
	}
	return s.Store.AddDomain(ctx, in, by.User, NewDomain(name, s.now()), byAdmin)
}

// NewDomain returns an unproved domain with a new token.
func NewDomain(name string, now time.Time) Domain {
	return Domain{Name: name, Token: strings.ToLower(rand.Text()), CreatedAt: now}
}

// DeleteDomain deletes a domain and ends the sessions of its addresses. With a provider only
// owners may. Errors: fault.NotFound, fault.Forbidden, also for users who would lock themselves
// out.
func (s *Settings) DeleteDomain(ctx context.Context, in workspace.ID, by By, name string) error {
	name, err := ReadDomain(name)
	if err != nil {
		return err
	}
	err = s.Store.DeleteDomain(ctx, in, by.User, name, func(l Locked) error {
		permit := byAdmin
		if l.Provider != nil { // the domains decide whom it admits
			permit = byOwner
		}
		if err := permit(l); err != nil {
			return err
		}
		if l.Provider != nil && l.Provider.Required && DomainOf(by.Email) == name {
			return fault.New(fault.Forbidden, "the provider is required, and you sign in with an address of this domain: it would lock you out")
		}
		return nil
	})
	s.changed(in, err)
	return err
}

// lookupTimeout bounds a look-up of a record.
const lookupTimeout = 5 * time.Second

// CheckDomain looks up the record of a domain now. Errors: fault.NotFound; fault.Forbidden if
// another workspace has proved it, fault.Unavailable if the name servers do not answer.
func (s *Settings) CheckDomain(ctx context.Context, in workspace.ID, name string) (Domain, error) {
	name, err := ReadDomain(name)
	if err != nil {
		return Domain{}, err
	}
	d, err := s.Store.Domain(ctx, in, name)
	if err != nil || d.ProvedBy == ByOperator { // which needs no record
		return d, err
	}
	there, err := s.lookUp(ctx, d)
	if err != nil {
		return d, fault.BackendUnavailable(err, "DNS")
	}
	d, err = s.Prover.NoteCheck(ctx, in, name, there, s.now())
	s.changed(in, err)
	return d, err
}

func (s *Settings) lookUp(ctx context.Context, d Domain) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	texts, err := s.Resolver.LookupTXT(ctx, d.RecordName()+".")
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return false, nil
	}
	return slices.Contains(texts, d.Record()), err
}
