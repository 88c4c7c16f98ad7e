package devstack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runOptions start Redis alone.
func runOptions(t *testing.T) Options {
	return Options{Dir: stateDir(t), ElasticsearchURL: given, PostgresURL: given, Local: true, Log: t.Logf}
}

func TestRunWithGivesTheCommandTheAddressesAndItsStatus(t *testing.T) {
	if !localServers(t) {
		return
	}
	o := runOptions(t)
	out := filepath.Join(t.TempDir(), "out")
	code, err := RunWith(t.Context(), o, []string{"sh", "-c", `printf '%s %s %s' "$ATLAS_TEST_ELASTICSEARCH_URL" "$ATLAS_TEST_POSTGRES_URL" "$ATLAS_TEST_REDIS_URL" >"$0"; exit 42`, out})
	if code != 42 || err != nil {
		t.Errorf("RunWith = %d, %v, want the command's 42", code, err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(b)); len(got) != 3 || got[0] != given || got[1] != given ||
		!strings.HasPrefix(got[2], "redis://127.0.0.1:") {
		t.Errorf("the command's addresses: %q", got)
	} else if listens(t, got[2]) {
		t.Errorf("Redis still listens at %s", got[2])
	}
}

// Not parallel: the signal is for the whole test program.
func TestRunWithPassesSignalsOn(t *testing.T) {
	if !localServers(t) {
		return
	}
	o := runOptions(t)
	for _, c := range []struct {
		name, command string
		want          int
	}{
		{"handled", `trap 'exit 7' TERM; kill -TERM $PPID; while :; do :; done`, 7},
		{"fatal", `kill -TERM $PPID; while :; do :; done`, 128 + 15},
	} {
		code, err := RunWith(t.Context(), o, []string{"sh", "-c", c.command})
		if code != c.want || err != nil {
			t.Errorf("%s: RunWith = %d, %v, want %d", c.name, code, err, c.want)
		}
		if got := readState(o.Dir).Processes; len(got) != 0 {
			t.Errorf("%s: %v are left", c.name, got)
		}
	}
}

func TestRunWithoutSuchACommand(t *testing.T) {
	if !localServers(t) {
		return
	}
	o := runOptions(t)
	code, err := RunWith(t.Context(), o, []string{filepath.Join(o.Dir, "none")})
	if code != 127 || err == nil {
		t.Errorf("RunWith = %d, %v, want 127 and an error", code, err)
	}
	if got := readState(o.Dir).Processes; len(got) != 0 {
		t.Errorf("%v are left", got)
	}
}
