package main

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/internal/devstack/backends"
	"atlas/workspace/postgres/pgtest"
)

// A server whose Postgres addresses have the wrong roles does not start, and names the
// wrong ones.
func TestWrongRolesRefuseToStart(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	const app, system = "--postgres-url (ATLAS_POSTGRES_URL)", "--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)"
	for name, c := range map[string]struct {
		app, system string
		want, not   []string
	}{
		"the system's twice": {d.System, d.System, []string{app, "atlas_system"}, []string{system}},
		"the app's twice":    {d.App, d.App, []string{system, "atlas_app"}, []string{app}},
		"swapped":            {d.System, d.App, []string{app, system}, nil},
		"a superuser":        {d.App, d.Admin, []string{system, "superuser"}, []string{app}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(t, d)
			config.PostgresURL, config.PostgresSystemURL = c.app, c.system
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := server.Run(ctx, config, cli.Log{}.Logger(&syncBuffer{}), func(string) { cancel() })
			if err == nil {
				t.Fatal("it serves")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("nothing about %s in: %v", part, err)
				}
			}
			for _, part := range c.not {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%s is blamed in: %v", part, err)
				}
			}
			if strings.Contains(err.Error(), "://") {
				t.Errorf("an address is reported: %v", err)
			}
		})
	}
}

// When Postgres is unavailable, its roles are unknown: the server starts and is not
// ready. It stays not ready when Postgres is back and the role is wrong.
func TestWrongRoleComesToLight(t *testing.T) {
	t.Parallel()
	for name, right := range map[string]bool{"wrong": false, "right": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, err := url.Parse(backends.Postgres(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "postgres", "127.0.0.1:0", node.Host)
			if err := proxy.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Stop)
			through := strings.NewReplacer(node.Host, proxy.Listen)
			proxy.Stop()
			s := start(t, 0, func(c *server.Config) {
				if !right {
					c.PostgresURL = c.PostgresSystemURL
				}
				c.PostgresURL, c.PostgresSystemURL = through.Replace(c.PostgresURL), through.Replace(c.PostgresSystemURL)
			})
			ready := func() (bool, string) {
				a := s.call("GET", "/health/ready", "", "")
				return a.status == 200, string(a.raw)
			}
			if ok, said := ready(); ok {
				t.Fatalf("ready without Postgres: %s", said)
			}
			if err := proxy.Start(); err != nil {
				t.Fatal(err)
			}
			if right {
				waitFor(t, "the server is ready", func() bool { ok, _ := ready(); return ok })
				if reported := s.lines(server.WrongRole); len(reported) != 0 {
					t.Errorf("the log blames the role: %v", reported)
				}
				return
			}
			// It is logged without a readiness request.
			waitFor(t, "the log has it", func() bool { return len(s.lines(server.WrongRole)) > 0 })
			reported := s.lines(server.WrongRole)
			cause, _ := reported[0]["error"].(string)
			if len(reported) != 1 || reported[0]["level"] != "ERROR" ||
				!strings.Contains(cause, "--postgres-url (ATLAS_POSTGRES_URL): ") || !strings.Contains(cause, "atlas_app") {
				t.Errorf("reported: %v", reported)
			}
			for range 3 {
				if ok, said := ready(); ok || !strings.Contains(said, `"postgres":"unavailable"`) {
					t.Errorf("ready with the wrong role: %s", said)
				}
			}
			if a := s.call("GET", "/workspace/members", s.key, ""); a.status != 503 {
				t.Errorf("it serves all the same: %d %s", a.status, a.raw)
			}
		})
	}
}
