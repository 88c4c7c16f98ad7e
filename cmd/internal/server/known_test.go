package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// keyOfExample finds the cursor keys and secrets of tokens in examples.
var keyOfExample = regexp.MustCompile(`(?m)(?:ATLAS_CURSOR_KEYS|ATLAS_JWT_SECRET|cursor-keys|jwt-secret)["']?[:=] *(?:\$\{[A-Z_]+:-)?[\["']*([^\s"'\]}$,…]{16,})`)

// Every key that stands in an example of the repository is refused on an open address.
func TestKeysOfExamplesAreRefused(t *testing.T) {
	t.Parallel()
	known := map[string]string{
		"an earlier docker-compose.yml": "only-for-trials-0123456789-0123456789",
		"the tests":                     "a development secret of 32 bytes, or more",
	}
	root := filepath.Join("..", "..", "..")
	for _, place := range []string{"docker-compose.yml", "README.md", "deploy", "docs", "Dockerfile"} {
		err := filepath.WalkDir(filepath.Join(root, place), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range keyOfExample.FindAllStringSubmatch(string(text), -1) {
				known[strings.TrimPrefix(path, root)+" "+match[1]] = match[1]
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(known) < 4 {
		t.Errorf("only %d examples were found: %v", len(known), known)
	}
	const cursor, jwt = "--cursor-keys (ATLAS_CURSOR_KEYS): ", "--jwt-secret (ATLAS_JWT_SECRET): "
	own := []string{"7c1f9e0b5d3a48e2a6b47c1f9e0b5d3a"}
	says := func(c Config, option string) bool {
		err := c.Check()
		return err != nil && strings.Contains(err.Error(), option) && strings.Contains(err.Error(), "stands in an example")
	}
	for place, key := range known {
		for listen, open := range map[string]bool{
			"0.0.0.0:8080": true, ":8080": true, "[::]:8080": true, "10.0.0.7:8080": true, "atlas.internal:8080": true,
			"127.0.0.1:8080": false, "localhost:8080": false, "[::1]:8080": false,
		} {
			want := open || strings.HasPrefix(key, "CHANGE")
			if got := says(Config{Listen: listen, CursorKeys: append(own, key)}, cursor); got != want {
				t.Errorf("%s as a cursor key on %s: refused %v", place, listen, got)
			}
			if got := says(Config{Listen: listen, CursorKeys: own, JWTSecret: key}, jwt); got != want {
				t.Errorf("%s as the secret of tokens on %s: refused %v", place, listen, got)
			}
		}
		// Where something else keeps others out, cursor keys are accepted, and no secret.
		trial := Config{Listen: "0.0.0.0:8080", CursorKeys: []string{key}, JWTSecret: key, AcceptExampleKeys: true}
		if says(trial, cursor) != strings.HasPrefix(key, "CHANGE") || !says(trial, jwt) {
			t.Errorf("%s with --accept-example-keys", place)
		}
	}
	if c := (Config{Listen: "0.0.0.0:8080", CursorKeys: own, JWTSecret: strings.Repeat("a7", 20)}); says(c, cursor) || says(c, jwt) {
		t.Error("keys of one's own are refused")
	}
}
