package rig

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// EnvBinary names the atlas program to run; without it one is built.
const EnvBinary = "ATLAS_BINARY"

func binary(t TB, dir string) string {
	t.Helper()
	if given := os.Getenv(EnvBinary); given != "" {
		return given
	}
	_, here, _, _ := runtime.Caller(0)
	built := filepath.Join(dir, "atlas")
	build := exec.CommandContext(t.Context(), "scripts/build", "-o", built, "./cmd/atlas") // #nosec G204 -- builds this repository
	build.Dir = filepath.Join(filepath.Dir(here), "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building atlas: %v\n%s", err, out)
	}
	return built
}

// Command is an atlas command, not started yet. Its process ends with ctx,
// or with this program.
func (r *Rig) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.atlas, args...) // #nosec G204 -- the program of the experiment
	cmd.Env = r.Environment()
	cmd.SysProcAttr = childAttributes()
	return cmd
}

// Run runs an atlas command to its end, from any goroutine. code is -1 when it
// did not end by itself.
func (r *Rig) Run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	cmd := r.Command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return -1, "", err.Error()
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Atlas runs an atlas command that must succeed, and returns what it printed.
func (r *Rig) Atlas(args ...string) string {
	r.t.Helper()
	code, stdout, stderr := r.Run(r.t.Context(), args...)
	if code != 0 {
		r.t.Fatalf("atlas %s: status %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// database is the address of Atlas's database as a role.
func database(t TB, admin, role string) string {
	t.Helper()
	u, err := url.Parse(admin)
	Check(t, err)
	u.Path, u.User = "/atlas", url.User(role)
	return u.String()
}
