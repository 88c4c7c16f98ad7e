package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"atlas/cmd/internal/cli"
)

type envCmd struct {
	Dir string `default:".atlas" type:"path" help:"Folder of the running atlas-dev (default: .atlas)."`
}

// Help is shown below the options.
func (envCmd) Help() string {
	return `eval "$(scripts/dev env)" in a shell: then atlas is on its PATH, and reaches the service, as a client and as an operator. An atlas serve of that shell is a second server, on a free port.`
}

// Run prints the settings of the service that dev.json describes, for a shell to evaluate.
func (c *envCmd) Run(_ context.Context, s *cli.Streams) error {
	f, err := readDevFile(c.Dir)
	if err != nil {
		return err
	}
	secrets, err := (&devCmd{Dir: c.Dir}).secrets()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return f.export(s.Out, secrets, filepath.Dir(program))
}

// export prints shell commands. bin is the folder of atlas.
func (f devFile) export(out io.Writer, secrets devSecrets, bin string) error {
	first := f.Workspaces[0]
	for _, v := range [][2]string{
		{"ATLAS_URL", f.BaseURL}, {"ATLAS_API_KEY", first.APIKey}, {"ATLAS_WORKSPACE", first.ID.String()},
		{"BASE", f.BaseURL}, {"KEY", first.APIKey}, // for curl, as the pages call them
		{"ATLAS_ELASTICSEARCH_URL", f.ElasticsearchURL}, {"ATLAS_INDEX_PREFIX", f.IndexPrefix}, {"ATLAS_REDIS_URL", f.RedisURL},
		{"ATLAS_POSTGRES_URL", f.PostgresURL}, {"ATLAS_POSTGRES_SYSTEM_URL", f.PostgresSystemURL},
		{"ATLAS_CURSOR_KEYS", secrets.CursorKey}, {"ATLAS_JWT_SECRET", secrets.JWTSecret},
		{"ATLAS_READY_URL", strings.TrimSuffix(f.BaseURL, "/api/v1")}, {"ATLAS_LISTEN", "127.0.0.1:0"},
	} {
		if _, err := fmt.Fprintf(out, "export %s=%s\n", v[0], quoted(v[1])); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "export PATH=%s:\"$PATH\"\n", quoted(bin))
	return err
}

// quoted is a word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// readDevFile reads the dev.json of a running service.
func readDevFile(dir string) (devFile, error) {
	var f devFile
	raw, err := os.ReadFile(filepath.Join(dir, devFileName)) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		return f, fmt.Errorf("scripts/dev does not run: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, err
	}
	if len(f.Workspaces) == 0 {
		return f, fmt.Errorf("%s has no workspaces", filepath.Join(dir, devFileName))
	}
	if err := syscall.Kill(f.PID, 0); errors.Is(err, syscall.ESRCH) {
		return f, fmt.Errorf("scripts/dev does not run any more: start it, or name the folder of another with --dir, not %s", dir)
	}
	return f, nil
}
