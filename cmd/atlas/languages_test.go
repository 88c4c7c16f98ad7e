package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherLanguages runs the examples of the clients in Python and TypeScript.
// ATLAS_CLIENTS names those that scripts/clients has installed.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	languages := strings.Fields(os.Getenv("ATLAS_CLIENTS"))
	if len(languages) == 0 {
		return // scripts/test says which are not checked
	}
	s := start(t, 0)
	copied := t.TempDir() // for the example of DuckDB
	if status, _, errs := s.atlas(
		"follow", "projects", "--filter", "primary_use=multifamily", "--dir", filepath.Join(copied, "copy"), "--once", "--yes",
	); status != 0 {
		t.Fatal(errs)
	}
	for _, language := range languages {
		t.Run(language, func(t *testing.T) { // sequential: examples print what their workspace has used
			cmd := exec.CommandContext(t.Context(), "../../scripts/clients", language, "readme")
			cmd.Env = append(os.Environ(), "ATLAS_URL="+s.base, "ATLAS_API_KEY="+s.key, "ATLAS_COPIED="+copied)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err != nil || !strings.Contains(said.String(), "the examples ran") {
				t.Errorf("%v\n%s", err, &said)
			}
		})
	}
}

// inOtherLanguages compiles the Python and TypeScript blocks of a page, of the languages
// that ATLAS_CLIENTS names. Blocks that make no client have one, atlas.
func (s *docsService) inOtherLanguages(ctx context.Context, blocks []*block) (map[*block][]string, error) {
	languages := map[string]struct{ name, ending, client string }{
		"python": {"python", ".py", "import os\nfrom atlas_client import Atlas\natlas = Atlas(os.environ['ATLAS_URL'], api_key=os.environ['ATLAS_API_KEY'])\n"},
		"ts":     {"typescript", ".mts", "import { Atlas } from \"atlas-client\";\nconst atlas = new Atlas({ baseUrl: process.env.ATLAS_URL!, apiKey: process.env.ATLAS_API_KEY! });\n"},
	}
	tool, err := filepath.Abs("../../scripts/clients")
	if err != nil {
		return nil, err
	}
	commands := map[*block][]string{}
	for _, installed := range strings.Fields(os.Getenv("ATLAS_CLIENTS")) {
		some := false
		dir, err := os.MkdirTemp(s.dir, installed)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			l := languages[b.lang]
			if l.name != installed {
				continue
			}
			text := b.text
			if !strings.Contains(text, "Atlas(") {
				text = l.client + text
			}
			path := filepath.Join(dir, fmt.Sprintf("line%d%s", b.line, l.ending))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return nil, err
			}
			commands[b] = []string{tool, installed, "run", path}
			some = true
		}
		if !some {
			continue
		}
		if out, err := exec.CommandContext(ctx, tool, installed, "compile", dir).CombinedOutput(); err != nil {
			return nil, errors.Join(err, errors.New(string(out)))
		}
	}
	return commands, nil
}

// clientPrograms compiles a program in each language that ATLAS_CLIENTS names, and returns
// what makes the commands that run it, with an environment.
func clientPrograms(t *testing.T, sources map[string]string) map[string]func(environment ...string) *exec.Cmd {
	t.Helper()
	tool := must(filepath.Abs("../../scripts/clients"))(t)
	commands := map[string]func(environment ...string) *exec.Cmd{}
	for _, language := range strings.Fields(os.Getenv("ATLAS_CLIENTS")) {
		dir := t.TempDir()
		path := filepath.Join(dir, "program."+map[string]string{"python": "py", "typescript": "mts"}[language])
		if err := os.WriteFile(path, []byte(sources[language]), 0o600); err != nil {
			t.Fatal(err)
		}
		if language == "typescript" {
			if out, err := exec.CommandContext(t.Context(), tool, language, "compile", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		commands[language] = func(environment ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), tool, language, "run", path)
			cmd.Env = append(os.Environ(), environment...)
			return cmd
		}
	}
	return commands
}
