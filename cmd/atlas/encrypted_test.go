package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atlas/cmd/internal/server"
	"atlas/internal/devstack"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// Postgres and Redis require TLS and passwords, with certificates of an authority that the
// system does not know. TestSecuredElasticsearch is the same for Elasticsearch.
func TestEncryptedBackends(t *testing.T) {
	t.Parallel()
	backends, err := devstack.StartEncrypted(t.Context(), devstack.Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backends.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	urls, err := postgres.Prepare(t.Context(), backends.PostgresURL, "encrypted")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), urls.System); err != nil {
		t.Fatal(err)
	}
	trusted := backends.RedisURL + "?" + url.Values{"ca": {backends.CAFile}}.Encode()
	s := prepareOn(t, &pgtest.Databases{Name: "encrypted", URLs: urls}, 1000, func(c *server.Config) { c.RedisURL = trusted })
	s.serve(t)
	s.searchAndWrite(t)
	if a := s.call("GET", "/data/usage", s.key, ""); a.status != http.StatusOK || !strings.Contains(string(a.raw), `"used_credits":`) {
		t.Errorf("usage: %d %s", a.status, a.raw)
	}

	other := otherAuthority(t)
	changed := func(address, name, value string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set(name, value)
		if value == "" {
			query.Del(name)
		}
		u.RawQuery = query.Encode()
		return u.String()
	}
	for name, address := range map[string]string{
		"another authority":    changed(urls.App, "sslrootcert", other),
		"the system's":         changed(urls.App, "sslrootcert", ""),
		"another name of host": strings.Replace(urls.App, "127.0.0.1", "127.0.0.2", 1),
		"no TLS":               changed(changed(urls.App, "sslrootcert", ""), "sslmode", "disable"),
	} {
		store, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Ready(t.Context()); err == nil {
			t.Errorf("Postgres, %s: was trusted", name)
		}
		store.Close()
	}
	for name, address := range map[string]string{
		"another authority": changed(trusted, "ca", other),
		"the system's":      backends.RedisURL,
		"no TLS":            strings.Replace(backends.RedisURL, "rediss:", "redis:", 1),
	} {
		refused := s.config
		refused.RedisURL = address
		without := &service{t: t, config: refused, key: s.key, log: &syncBuffer{}}
		without.serve(t)
		if a := without.call("POST", "/data/accounts/search", s.key, `{"limit": 2}`); a.status != http.StatusServiceUnavailable {
			t.Errorf("Redis, %s: %d %s", name, a.status, a.raw)
		}
	}
}

// otherAuthority is a PEM file of an authority that signed nothing of these tests.
func otherAuthority(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
