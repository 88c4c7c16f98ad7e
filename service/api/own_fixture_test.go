package api_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/egress"
	"atlas/service/api"
	"atlas/service/credits"
	"atlas/service/oidc"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// textRecords are DNS text records, by name.
type textRecords struct {
	mu   sync.Mutex
	text map[string][]string
}

func (r *textRecords) LookupTXT(_ context.Context, name string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if texts, ok := r.text[name]; ok {
		return texts, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (r *textRecords) set(name string, texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == nil {
		r.text = map[string][]string{}
	}
	r.text[name] = texts
}

// ownWorld is a signInWorld whose workspaces may have providers of their own.
type ownWorld struct {
	*signInWorld
	dns      *textRecords
	settings *identity.Settings
	owner    people.Member
	store    *session.Store
	// hers is a provider beside that of the service.
	hers *provider
}

func newOwnWorld(t *testing.T) *ownWorld {
	t.Helper()
	w := &ownWorld{dns: &textRecords{}, hers: newProvider(t)}
	w.signInWorld = newSignInWorld(t, func(s *api.Server) {
		guard := egress.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)
		settings := *s.People.Identity
		settings.Guard, settings.Resolver, settings.PublicURL = guard, w.dns, "https://atlas.example"
		w.settings, s.People.Identity = &settings, &settings
		service := s.SignIn.(*oidc.SignIn)
		system := settings.Prover.(oidc.OwnStore)
		own := oidc.NewOwn(oidc.OwnConfig{
			PublicURL: "https://atlas.example", Keys: [][]byte{[]byte("a key")}, Store: system, Flows: s.Sessions.(*session.Store),
			Open: settings.Sealer.Open, Guard: guard, Client: guard.Client(), Now: settings.Now, Log: slog.New(slog.DiscardHandler),
		})
		t.Cleanup(own.Close)
		s.Own = own
		redis, err := credits.Open(backends.Redis(t))
		fatal(t, err)
		t.Cleanup(func() { _ = redis.Close() })
		renew := func(ctx context.Context, g session.Grant) (string, error) {
			if !g.Own.Workspace.IsZero() {
				return own.Renew(ctx, g)
			}
			return service.Renew(ctx, g)
		}
		w.store = session.New(redis, session.Options{
			Prefix: "test:" + uuid.NewString() + ":", Timeout: 5 * time.Second, Now: settings.Now, Renew: renew,
		})
		s.Sessions = w.store
	})
	w.owner = w.member(t, w.in, "olga@firm.example", people.Owner)
	w.hers.profile = jwt.MapClaims{"sub": "olga", "email": "olga@firm.example", "email_verified": true, "name": "Olga"}
	return w
}

// prove proves a domain for a workspace by its record.
func (w *ownWorld) prove(t *testing.T, in workspace.ID, by people.Member, name string) {
	t.Helper()
	d, err := w.settings.AddDomain(t.Context(), in, identity.By{User: by.ID}, name)
	fatal(t, err)
	w.dns.set(d.RecordName()+".", "other text", d.Record())
	d, err = w.settings.CheckDomain(t.Context(), in, name)
	fatal(t, err)
	if d.ProvedAt == nil {
		t.Fatalf("%s is not proved", name)
	}
}

// provide puts a provider in place.
func (w *ownWorld) provide(
	t *testing.T, in workspace.ID, by people.Member, issuer string, change ...func(*identity.Change),
) identity.Provider {
	t.Helper()
	c := identity.Change{Issuer: issuer, ClientID: clientID, ClientSecret: clientSecret}
	for _, each := range change {
		each(&c)
	}
	p, err := w.settings.SetProvider(t.Context(), in, identity.By{User: by.ID}, c)
	fatal(t, err)
	return p
}

// beginOwn returns the address of the provider of a workspace.
func (v *visitor) beginOwn(in workspace.ID) string {
	v.t.Helper()
	_, location, _ := v.do("GET", "/session/sign-in?workspace="+in.String()+"&return="+url.QueryEscape("/x"))
	return location
}

// finishOwn opens the callback of a workspace.
func (v *visitor) finishOwn(in workspace.ID, answer url.Values) string {
	v.t.Helper()
	_, location, _ := v.do("GET", oidc.CallbackPath+"/"+in.String()+"?"+answer.Encode())
	return location
}

// enter signs in as the person of a provider of a workspace.
func (v *visitor) enter(in workspace.ID, by *provider) who {
	v.t.Helper()
	if to := v.finishOwn(in, by.approve(v.t, v.beginOwn(in))); to != "/x" {
		v.t.Fatalf("signing in leads to %s", to)
	}
	return v.session("GET")
}

// status is that of a request in a workspace.
func (v *visitor) status(in workspace.ID) (int, string) {
	v.t.Helper()
	status, _, text := v.do("GET", workspacePath+"?workspace_id="+in.String())
	return status, text
}

// within waits up to 5 s until a request in a workspace has a status.
func (v *visitor) within(what string, in workspace.ID, want int) {
	v.t.Helper()
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, text := v.status(in)
		if got == want {
			return
		}
		if time.Now().After(until) {
			v.t.Errorf("%s: %d %s, want %d within 5 s", what, got, text, want)
			return
		}
	}
}
