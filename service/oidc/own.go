package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

const (
	// maxAnswer is the maximum length of an answer of a workspace's provider, in bytes.
	maxAnswer = 1 << 20
	// maxOwn is how many providers are cached, each for ownFor: then its metadata is read again.
	maxOwn = 500
	ownFor = time.Hour
	// maxOwnFinishing limits the sign-ins by one provider that wait for it concurrently, so that
	// a slow one takes few places of the others.
	maxOwnFinishing = 8
	// maxValues is how many values of a claim of roles are read.
	maxValues = 1000
)

// OwnStore has the providers of workspaces, and decides whom they admit. *postgres.System
// implements it.
type OwnStore interface {
	ProviderAndSecret(ctx context.Context, in workspace.ID) (p identity.Provider, secret []byte, err error)
	WorkspaceOfDomain(ctx context.Context, domain string) (workspace.ID, error)
	Admit(ctx context.Context, in workspace.ID, who identity.Person, now time.Time) (people.User, error)
}

// OwnConfig says how people sign in by the providers of workspaces.
type OwnConfig struct {
	// PublicURL and Keys are as in Config.
	PublicURL string
	Keys      [][]byte
	Store     OwnStore
	Flows     Flows
	// Open decrypts the secret of a provider.
	Open func(in workspace.ID, sealed []byte) (secret string, current bool, err error)
	// Guard returns why an address is refused. Client reaches only permitted addresses.
	Guard  interface{ Check(address string) error }
	Client *http.Client
	// Changed, when not nil, is called after a user was admitted, whose role may have changed.
	Changed func(in workspace.ID, user workspace.UserID)
	Now     func() time.Time
	Log     *slog.Logger
}

// Own signs people in by the providers of their workspaces (docs/identity.md). It is safe for
// concurrent use.
type Own struct {
	c OwnConfig

	mu    sync.Mutex
	known map[workspace.ID]*own
}

// own is the provider of a workspace.
type own struct {
	signIn   *SignIn
	provider identity.Provider
	c        OwnConfig
	in       workspace.ID
	read     time.Time
}

// NewOwn returns the sign-in by providers of workspaces.
func NewOwn(c OwnConfig) *Own {
	c.Now = workspace.Clock(c.Now)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Changed == nil {
		c.Changed = func(workspace.ID, workspace.UserID) {}
	}
	client := *c.Client
	client.Transport = bounded{client.Transport}
	c.Client = &client
	return &Own{c: c, known: map[workspace.ID]*own{}}
}

// Close closes idle connections.
func (o *Own) Close() { o.c.Client.CloseIdleConnections() }

// Find returns the workspace whose provider is responsible for an address: fault.NotFound for
// none. The answer does not depend on whether the address exists.
func (o *Own) Find(ctx context.Context, email string) (workspace.ID, error) {
	domain := identity.DomainOf(email)
	if domain == "" {
		return workspace.ID{}, fault.New(fault.NotFound, "no workspace has proved the domain of the address")
	}
	return o.c.Store.WorkspaceOfDomain(ctx, domain)
}

// Begin is SignIn.Begin at the provider of a workspace: also fault.NotFound without one.
func (o *Own) Begin(ctx context.Context, in workspace.ID, back string) (address, state, cookie string, err error) {
	p, err := o.of(ctx, in)
	if err != nil {
		return "", "", "", err
	}
	if !p.signIn.finishing.TryAcquire(1) {
		return "", "", "", &failure{Away, reason("too many sign-ins wait for the provider")}
	}
	defer p.signIn.finishing.Release(1)
	address, state, cookie, err = p.signIn.Begin(ctx, back)
	if err == nil && !o.mayLeadTo(address) {
		return "", "", "", errors.New("the provider names a page that is not permitted")
	}
	return address, state, cookie, err
}

// Finish is SignIn.Finish of a sign-in that began with the provider of the workspace.
func (o *Own) Finish(ctx context.Context, in workspace.ID, cookie string, answer url.Values) (g session.Grant, back string, err error) {
	p, err := o.of(ctx, in)
	if err != nil {
		return g, "/", err
	}
	return p.signIn.Finish(ctx, cookie, answer)
}

// Renew is SignIn.Renew of a session by a provider of a workspace.
func (o *Own) Renew(ctx context.Context, g session.Grant) (next string, err error) {
	p, err := o.of(ctx, g.Own.Workspace)
	switch {
	case fault.CodeOf(err) == fault.NotFound, err == nil && p.provider.ID != g.Own.Provider:
		return "", fault.Wrap(err, fault.Unauthorized, "the workspace has another provider")
	case err != nil:
		return "", err
	case !p.signIn.finishing.TryAcquire(1):
		return "", errors.New("too many requests wait for the provider")
	}
	defer p.signIn.finishing.Release(1)
	return p.signIn.Renew(ctx, g)
}

// SignOut is SignIn.SignOut at the provider of a workspace.
func (o *Own) SignOut(ctx context.Context, in workspace.ID) string {
	p, err := o.of(ctx, in)
	if err != nil || !p.signIn.finishing.TryAcquire(1) {
		return ""
	}
	defer p.signIn.finishing.Release(1)
	address := p.signIn.SignOut(ctx)
	if address == "" || !o.mayLeadTo(address) {
		return ""
	}
	return address
}

// mayLeadTo reports whether people may be redirected to a page that a provider names.
func (o *Own) mayLeadTo(page string) bool {
	u, err := url.Parse(page)
	return err == nil && o.c.Guard.Check((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()) == nil
}

// of returns the current provider of a workspace: fault.NotFound, fault.Unavailable.
func (o *Own) of(ctx context.Context, in workspace.ID) (*own, error) {
	p, sealed, err := o.c.Store.ProviderAndSecret(ctx, in)
	if err != nil {
		return nil, err
	}
	now := o.c.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := o.known[in]; k != nil && k.provider.ID == p.ID && k.provider.Revision == p.Revision && now.Sub(k.read) < ownFor {
		return k, nil
	}
	if err := o.c.Guard.Check(p.Issuer); err != nil { // the permitted addresses may have changed
		return nil, fmt.Errorf("the issuer %w", err)
	}
	secret, _, err := o.c.Open(in, sealed)
	if err != nil {
		return nil, fmt.Errorf("the secret of the provider: %w", err)
	}
	found := &own{provider: p, c: o.c, in: in, read: now}
	found.signIn = newSignIn(Config{
		Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: secret, Scopes: p.Scopes, PublicURL: o.c.PublicURL,
		Workspace: in, Client: o.c.Client, Keys: o.c.Keys, Now: o.c.Now, Log: o.c.Log.With("workspace_id", in.String()),
	}, found, o.c.Flows, maxOwnFinishing)
	if len(o.known) >= maxOwn {
		o.evictOldest()
	}
	o.known[in] = found
	return found, nil
}

func (o *Own) evictOldest() {
	var oldest *own
	for _, k := range o.known {
		if oldest == nil || k.read.Before(oldest.read) {
			oldest = k
		}
	}
	delete(o.known, oldest.in)
}

// admit implements admission. The address must be verified, and the store checks its domain.
func (p *own) admit(ctx context.Context, id claims) (g session.Grant, err error) {
	profile, err := id.profile()
	if err != nil {
		return g, err
	}
	if !profile.EmailVerified && !id.domainVerified() {
		return g, fault.New(fault.Forbidden, "the provider does not say that the address is verified")
	}
	who, rolesKnown := p.person(id, profile.Email, profile.Name)
	if !rolesKnown {
		return g, &failure{Away, reason("the provider does not say the claim of roles now")}
	}
	u, err := p.c.Store.Admit(ctx, p.in, who, p.c.Now())
	if err != nil {
		return g, err
	}
	p.c.Changed(p.in, u.ID)
	return session.Grant{
		User: auth.User{ID: u.ID, Email: profile.Email, EmailVerified: true, Name: u.Name},
		Own:  identity.Own{Workspace: p.in, Provider: p.provider.ID},
		Idle: time.Duration(p.provider.IdleMinutes) * time.Minute, Lifetime: time.Duration(p.provider.SessionHours) * time.Hour,
	}, nil
}

// renewed implements admission: the address is that of the sign-in, roles are the current
// ones.
func (p *own) renewed(ctx context.Context, g session.Grant, id claims) error {
	who, _ := p.person(id, g.User.Email, g.User.Name) // missing claims leave the role unchanged
	u, err := p.c.Store.Admit(ctx, p.in, who, p.c.Now())
	switch {
	case fault.CodeOf(err) == fault.Forbidden, err == nil && u.ID != g.User.ID:
		return fault.Wrap(err, fault.Unauthorized, "the provider of the workspace does not let you in any more")
	case err != nil:
		// The refresh token is used up: the session stores the new one, and retries later.
		p.c.Log.Warn("the role of a renewed session was not looked at", "workspace_id", p.in.String(), "error", reasonOf(err))
		return nil
	}
	p.c.Changed(p.in, u.ID)
	return nil
}

// person returns the person that the claims describe. An answer without the claim of roles
// leaves the role unchanged: providers omit claims that are too long, or were not requested.
// rolesKnown is false if the claim is at another address, or the provider did not answer.
func (p *own) person(id claims, email, name string) (who identity.Person, rolesKnown bool) {
	who = identity.Person{
		Provider: p.provider.ID, Issuer: p.provider.Issuer, Subject: id.subject, Email: email, Name: name, Silent: len(id.raw) == 0,
	}
	if p.provider.RoleClaim == "" {
		return who, true
	}
	values, there := id.values(p.provider.RoleClaim)
	who.Values, who.Silent = values, !there
	return who, there || !id.partial && !id.elsewhere(p.provider.RoleClaim)
}

// elsewhere reports whether a claim is at another address (OpenID Connect Core, 5.6.2), such
// as the groups of a person with many at Microsoft's provider.
func (c claims) elsewhere(name string) bool {
	for _, raw := range c.raw {
		var all struct {
			Names map[string]json.RawMessage `json:"_claim_names"`
		}
		if json.Unmarshal(raw, &all) == nil && all.Names[name] != nil {
			return true
		}
	}
	return false
}

// domainVerified reports whether Microsoft's provider says that the domain of the address is
// verified: it has no email_verified.
func (c claims) domainVerified() bool {
	verified := c.claim("xms_edov")
	return slices.Contains([]string{"true", "1", `"1"`, `"true"`}, string(verified))
}

// claim returns a claim from the first object that has it, nil for none.
func (c claims) claim(name string) json.RawMessage {
	for _, raw := range c.raw {
		var all map[string]json.RawMessage
		if json.Unmarshal(raw, &all) == nil && all[name] != nil {
			return all[name]
		}
	}
	return nil
}

// values returns the texts of a claim, which is one or a list; there is false for neither.
func (c claims) values(name string) (texts []string, there bool) {
	var one *string
	var list []any
	raw := c.claim(name)
	if json.Unmarshal(raw, &one) == nil && one != nil {
		return []string{*one}, true
	}
	there = json.Unmarshal(raw, &list) == nil && list != nil
	for _, v := range list[:min(len(list), maxValues)] {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts, there
}

// bounded limits the length of answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &body{response.Body, maxAnswer}
	}
	return response, err
}

// CloseIdleConnections closes the connections that wait for another request.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type body struct {
	io.ReadCloser
	left int
}

var errTooLong = fmt.Errorf("the provider answers more than %d bytes", maxAnswer)

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
