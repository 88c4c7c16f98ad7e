package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"atlas/internal/fault"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
)

// openServer has all addresses that need no key.
func openServer(t *testing.T) *Server {
	t.Helper()
	return &Server{
		Core: endpoint.Core{
			Log:       slog.New(slog.DiscardHandler),
			PublicURL: "https://atlas.example",
		},
		TokenIssuer:  "https://issuer.example",
		Sessions:     noSessions{},
		SignIn:       noSignIn{},
		PlainCookies: true,
		Unsubscribe:  noMails{},
		MailLinks:    noMails{},
		Erasures:     noErasures{},
	}
}

type noSessions struct{}

func (noSessions) Start(context.Context, session.Grant) (string, error) { return "", errNothing }
func (noSessions) Redeem(context.Context, string) (string, error)       { return "", errNothing }
func (noSessions) Get(context.Context, string) (session.Session, error) {
	return session.Session{}, errNothing
}
func (noSessions) End(context.Context, string) error { return errNothing }

type noSignIn struct{ SignIn }

type noMails struct{}

func (noMails) WantsMail(context.Context, workspace.ID, workspace.UserID) (string, bool, error) {
	return "", false, errNothing
}
func (noMails) SetWantsMail(context.Context, workspace.ID, workspace.UserID, bool) error {
	return errNothing
}
func (noMails) Read(string) (workspace.ID, workspace.UserID, error) {
	return workspace.ID{}, workspace.UserID{}, errNothing
}

type noErasures struct{}

func (noErasures) Reads(string) error                  { return errNothing }
func (noErasures) Works(context.Context, string) error { return errNothing }
func (noErasures) Erase(context.Context, string) error { return errNothing }

var errNothing = fault.New(fault.Unauthorized, "there is nothing")

// ask sends a request from an address.
func ask(t *testing.T, h http.Handler, method, path, from string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if from != "" {
		r.RemoteAddr = from + ":5000"
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Each address of the router is in one of the two tables, and each row of the table of
// strangers has a class with limits: the router panics otherwise.
func TestEveryAddressIsInATable(t *testing.T) {
	t.Parallel()
	s := openServer(t)
	s.MCP = &MCP{}
	g := s.router()
	if n := len(g.Routes()); n < 500 {
		t.Errorf("%d addresses", n)
	}
	for _, path := range []string{sessionPath, unsubscribePath, erasurePath, mcpPath, endpoint.Version + "/workspace"} {
		if w := ask(t, g, http.MethodPut, path, ""); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("PUT %s: %d", path, w.Code)
		}
	}
}

// A forbidden sign-in is refused before the body is received.
func TestOriginBeforeBody(t *testing.T) {
	t.Parallel()
	h := openServer(t).router()
	never := func(from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, sessionPath, endless{})
		r.Header.Set("Sec-Fetch-Site", from)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if code := never("cross-site"); code != http.StatusForbidden {
		t.Errorf("another site: %d", code)
	}
	if code := never("same-origin"); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without an end: %d", code)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
