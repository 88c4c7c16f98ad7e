package oidc_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"atlas/service/oidc"
	"atlas/workspace"
)

// Answers of a workspace's provider are not logged, and a provider that cannot be read is not
// called again at once.
func TestProviderThatFails(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "a token of somebody")
	}))
	t.Cleanup(s.Close)
	var log strings.Builder
	signIn := oidc.New(oidc.Config{
		Issuer: s.URL, ClientID: "atlas", ClientSecret: "secret", PublicURL: "https://atlas.example", Scopes: []string{"openid"},
		Workspace: workspace.NewID(), Keys: [][]byte{[]byte("a key")}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, nil, nil)
	t.Cleanup(signIn.Close)
	for range 3 {
		if _, _, _, err := signIn.Begin(t.Context(), "/"); oidc.FailureOf(err) != oidc.Away || strings.Contains(err.Error(), "somebody") {
			t.Errorf("%v", err)
		}
	}
	if text := log.String(); !strings.Contains(text, "status 500") || strings.Contains(text, "somebody") {
		t.Errorf("the log has %s", text)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
