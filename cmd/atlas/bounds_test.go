package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/search/catalog"
)

// The options of a server set the limits, and the Go client reads the answer.
func TestBoundsAreConfigured(t *testing.T) {
	t.Parallel()
	s := start(t, 0, func(c *server.Config) {
		c.Bounds = server.Bounds{MaxOpenInvitations: 1, MaxViews: 1, MaxWorkspaceSkills: 1, MaxPersonalSkills: 1, MaxBookAdditions: 1}
	})
	c, ctx := s.client(s.key), t.Context()
	ids := s.search(catalog.Projects, `{"limit":2}`).ids(t)
	for name, add := range map[string]func(n string) error{
		"an invitation": func(n string) error {
			invited, err := c.Invitations.Create(ctx, "n"+n+"@example.com", "member")
			if err == nil && (invited.Letter.Status != "none" || !invited.Letter.DueAt.IsZero() || invited.Letter.PacedBy != "") {
				t.Errorf("its e-mail: %+v", invited.Letter)
			}
			return err
		},
		"a View": func(n string) error {
			_, err := c.Views.Upsert(ctx, client.ViewUpsert{Dataset: "account", Type: "static", Name: "V" + n})
			return err
		},
		"a Skill": func(n string) error {
			_, err := c.Skills.Create(ctx, client.NewSkill{Scope: "workspace", Name: "S" + n, Description: "d", Content: "c"})
			return err
		},
		"a record": func(n string) error {
			id := ids[0]
			if n == "2" {
				id = ids[1]
			}
			_, err := c.Book.Projects.Upsert(ctx, client.ProjectUpsert{ProjectID: id})
			return err
		},
	} {
		if err := add("1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := add("2"); !errors.Is(err, client.ErrLimitReached) || !strings.Contains(err.Error(), "limit of 1 ") {
			t.Errorf("%s beside another: %v", name, err)
		}
	}
}

func TestBoundsOutOfBounds(t *testing.T) {
	t.Parallel()
	var f cli.Problems
	server.Bounds{MaxViews: -1, MaxBookAdditions: 2_000_000_000, EmailsDaily: 1_001, EmailsHourly: 7}.Check(&f)
	err := f.Err()
	if err == nil || len(f) != 3 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"--max-views", "--max-book-additions", "--letters-daily"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
}

// A server with a JWKS and without issuer or audience does not start. The message names
// the flags that allow it.
func TestPublicKeysForAnybodyAreRefused(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	status := run(
		t.Context(),
		[]string{"serve", "--jwks", filepath.Join(t.TempDir(), "keys.json"), "--jwt-issuer", "https://issuer.example"},
		&out, &errs,
	)
	if said := errs.String(); status == 0 || !strings.Contains(said, "--jwt-audience (ATLAS_JWT_AUDIENCE)") ||
		!strings.Contains(said, "--jwt-accept-any-audience") || strings.Contains(said, "--jwt-issuer (") {
		t.Errorf("status %d: %s", status, said)
	}
}

// All errors of the sign-in settings are reported at once.
func TestSignInOptions(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"need --oidc-issuer (ATLAS_OIDC_ISSUER)": {"--oidc-client-id", "explorer"},
		"--oidc-issuer (ATLAS_OIDC_ISSUER) must begin with https|--public-url (ATLAS_PUBLIC_URL) must end after|--oidc-client-id (|--oidc-client-secret (|must contain openid|--session-lifetime (": {
			"--oidc-issuer", "http://login.example", "--public-url", "https://atlas.example/app", "--oidc-scopes",
			"email", "--session-idle", "2h", "--session-lifetime", "1h",
		},
		"--public-url (ATLAS_PUBLIC_URL) is required": {"--oidc-issuer", "https://login.example"},
	} {
		var out, errs strings.Builder
		status := run(t.Context(), append([]string{"serve"}, args...), &out, &errs)
		for part := range strings.SplitSeq(want, "|") {
			if said := errs.String(); status != 2 || !strings.Contains(said, part) {
				t.Errorf("%v: status %d, nothing about %s in %s", args, status, part, said)
			}
		}
	}
}
