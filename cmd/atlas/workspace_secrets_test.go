package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
)

// secrets makes one of each kind, with those before a rotation, and returns them.
func (s *service) secrets(owner string) (made []string) {
	s.t.Helper()
	const ofProvider = "the client secret of a provider"
	of := regexp.MustCompile(`"(?:secret|key)":"(.{20,}?)"`)
	id := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`)
	call := func(path, body string) answer {
		s.t.Helper()
		a := s.call("POST", path+"?workspace_id="+s.pro.ID.String(), owner, body)
		if a.status >= 300 {
			s.t.Fatalf("%s: %d %s", path, a.status, a.raw)
		}
		if secret := of.FindSubmatch(a.raw); secret != nil {
			made = append(made, string(secret[1]))
		}
		return a
	}
	for path, body := range map[string]string{
		"/workspace/api-keys":          `{"name":"made by its owner","scopes":["data:read"]}`,
		"/workspace/webhooks/upsert":   `{"url":"https://hooks.example/1","events":["record.changed"]}`,
		"/workspace/identity/provider": `{"issuer":"https://id.example","client_id":"x","client_secret":"` + ofProvider + `"}`,
	} {
		a := call(path, body)
		if path != "/workspace/identity/provider" {
			call(strings.TrimSuffix(path, "/upsert")+"/"+string(id.FindSubmatch(a.raw)[1])+"/rotate", `{}`)
		}
	}
	call("/workspace/identity/scim/tokens", `{"name":"IdP"}`)
	if len(made) != 5 {
		s.t.Fatalf("made %d secrets", len(made))
	}
	return append(made, ofProvider)
}

// secretColumns have secrets, sealed or as digests.
var secretColumns = []string{
	"api_keys.secret_hash", "api_keys.old_hash", "webhooks.secret", "webhooks.old_secret", "scim_tokens.secret_hash",
	"identity_providers.client_secret", "invitations.secret_hash", "invitations.seed",
}

// stored are the stored forms of the secrets of the workspace, by column.
func (s *service) stored() map[string][]byte {
	s.t.Helper()
	ctx := s.t.Context()
	conn := must(pgx.Connect(ctx, s.config.PostgresSystemURL))(s.t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	all := map[string][]byte{}
	for _, of := range secretColumns {
		table, column, _ := strings.Cut(of, ".")
		sql := `SELECT ` + column + ` FROM ` + table + ` WHERE workspace_id = $1 AND ` + column + ` IS NOT NULL`
		rows := must(conn.Query(ctx, sql, s.pro.ID.String()))(s.t)
		for n, one := range must(pgx.CollectRows(rows, pgx.RowTo[[]byte]))(s.t) {
			all[fmt.Sprint(of, " ", n)] = one
		}
		if all[of+" 0"] == nil {
			s.t.Fatalf("nothing is stored in %s: the test tests nothing", of)
		}
	}
	return all
}

// forms are the ways in which a secret can be written.
func forms(secret []byte) []string {
	sum := sha256.Sum256(secret)
	return []string{
		string(secret), hex.EncodeToString(secret), base64.RawStdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret),
		hex.EncodeToString(sum[:]), base64.RawStdEncoding.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:]),
	}
}

// secretsIn lists which secrets a text has, by their names.
func secretsIn(text string, secrets map[string][]byte) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if slices.ContainsFunc(forms(secrets[name]), func(form string) bool { return strings.Contains(text, form) }) {
			found = append(found, name)
		}
	}
	return found
}

// secretsLeft lists which secrets are in a store, by reading every store.
func (s *service) secretsLeft(secrets map[string][]byte) (left []string) {
	s.t.Helper()
	ctx := s.t.Context()
	conn := must(pgx.Connect(ctx, s.config.PostgresSystemURL))(s.t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, table := range must(pgx.CollectRows(
		must(conn.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`))(s.t), pgx.RowTo[string],
	))(s.t) {
		rows := must(conn.Query(ctx, `SELECT to_jsonb(t)::text FROM `+pgx.Identifier{table}.Sanitize()+` t`))(s.t)
		text := strings.Join(must(pgx.CollectRows(rows, pgx.RowTo[string]))(s.t), "\n")
		for _, name := range secretsIn(text, secrets) {
			left = append(left, "postgres "+table+": "+name)
		}
	}
	es := directElastic(s.t)
	for index := range must(es.Indices(ctx, s.config.HeldIndexPrefix+"*"))(s.t) {
		for _, hit := range must(elastic.Hits[any](ctx, es, index, map[string]any{"size": 10_000}))(s.t) {
			for _, name := range secretsIn(string(hit.Source), secrets) {
				left = append(left, "elasticsearch "+index+": "+name)
			}
		}
	}
	r := redis.NewClient(must(redis.ParseURL(s.config.RedisURL))(s.t))
	defer func() { _ = r.Close() }()
	err := cli.EachRedisKey(ctx, r, s.config.RedisPrefix+"*", func(master redis.Cmdable, key string) error {
		content, err := cli.RedisContent(ctx, master, key)
		for _, name := range secretsIn(strings.Join(append(content, key), "\n"), secrets) {
			left = append(left, "redis "+key+": "+name)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return left
}

// wantNoSecrets fails if a file of an export has a secret, as it is or as it is stored.
func (s *service) wantNoSecrets(folder string, secrets map[string][]byte) {
	s.t.Helper()
	for _, file := range must(os.ReadDir(folder))(s.t) {
		if found := secretsIn(contents(s.t, filepath.Join(folder, file.Name())), secrets); len(found) > 0 {
			s.t.Errorf("%s of the export has %v", file.Name(), found)
		}
	}
}
