package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
)

// output is what a command printed, and its exit status.
type output struct {
	status   int
	out, err string
}

// atlas runs the program as a process of its own, with these variables alone.
func atlasWith(t *testing.T, env []string, args ...string) output {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...)
	command.Env = append([]string{runAsAtlas + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return output{command.ProcessState.ExitCode(), out.String(), errs.String()}
}

// complete is a configuration of atlas serve that needs no backend to be checked.
var completeSettings = []string{
	"ATLAS_ELASTICSEARCH_URL=http://127.0.0.1:1", "ATLAS_POSTGRES_URL=postgres://atlas_app@127.0.0.1:1/atlas",
	"ATLAS_POSTGRES_SYSTEM_URL=postgres://atlas_system@127.0.0.1:1/atlas", "ATLAS_REDIS_URL=redis://127.0.0.1:1", "ATLAS_CURSOR_KEYS=0123456789abcdef",
}

// The error for a port in use names the option.
func TestTakenPortsAreNamed(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, name := range []string{"listen", "metrics-listen"} {
		args := []string{"serve", "--listen", "127.0.0.1:0", "--" + name, other.Addr().String()}
		got := atlasWith(t, completeSettings, args...)
		if want := "--" + name + " (ATLAS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "): listen tcp " +
			other.Addr().String() + ": "; got.status != 1 || !strings.Contains(got.err, want) {
			t.Errorf("status %d, without %q: %s", got.status, want, got.err)
		}
	}
}

// A server that starts without a backend logs which one, and the option for it, before the
// first readiness request. It logs when a pause is shorter than the option.
func TestServeNamesBackendsItCannotUse(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	s := start(t, 0, func(c *server.Config) {
		c.ElasticsearchURL, c.RedisURL, c.Drain, c.DrainPause = []string{other.URL}, "redis://127.0.0.1:1", 2*time.Second, 5*time.Second
	})
	unused := start(t, 0, func(c *server.Config) {
		address, err := url.Parse(c.PostgresURL)
		if err != nil {
			t.Fatal(err)
		}
		address.Path = "/nowhere"
		c.PostgresURL = address.String()
	})
	for _, want := range []struct {
		by                   *service
		message, key, detail string
	}{
		{s, "Elasticsearch cannot be used; the server is not ready", "error", "--elasticsearch-url (ATLAS_ELASTICSEARCH_URL): elasticsearch: what answers there is not Elasticsearch (status 404)"},
		{s, "Redis cannot be used yet", "error", "--redis-url (ATLAS_REDIS_URL): dial tcp 127.0.0.1:1"},
		{s, "--drain-pause (ATLAS_DRAIN_PAUSE) is more than half of --drain (ATLAS_DRAIN), and cut to that", "pause", "1s"},
		{unused, "Postgres cannot be used yet; trying on", "error", "does not exist (SQLSTATE 3D000)"},
	} {
		waitFor(t, "the log says: "+want.message, func() bool { return len(want.by.lines(want.message)) > 0 })
		text, _ := want.by.lines(want.message)[0][want.key].(string)
		if !strings.Contains(text, want.detail) || strings.Contains(text, "try again") {
			t.Errorf("%s: %s", want.message, text)
		}
	}
}

// An interruption by a port in use is not reported as an error of its own.
func TestTakenPortIsTheOnlyFault(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s := prepare(t, 0, func(c *server.Config) { c.Listen = other.Addr().String() })
	for range 5 {
		if err := server.Run(t.Context(), s.config, cli.Log{}.Logger(s.log), nil); err == nil || !strings.Contains(err.Error(), "--listen") {
			t.Fatal(err)
		}
	}
	if log := s.log.String(); strings.Contains(log, "cancel") {
		t.Errorf("it says\n%s", log)
	}
}

// Nine wrong settings are nine lines, each with the variable, the error, and an example of a
// valid value. The list of all options is not printed.
func TestServeReportsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"ATLAS_DRAIN=5":                    `--drain (ATLAS_DRAIN) "5" is not a duration: a number with a unit, such as 20s`,
		"ATLAS_LISTEN=nowhere":             "--listen (ATLAS_LISTEN) must be host:port, such as 127.0.0.1:8080",
		"ATLAS_LOG_LEVEL=inof":             `--log-level (ATLAS_LOG_LEVEL) must be one of debug, info, warn, error, not "inof"; did you mean "info"?`,
		"ATLAS_MAX_REQUESTS=many":          `--max-requests (ATLAS_MAX_REQUESTS) "many" is not a whole number, such as 1024`,
		"ATLAS_POSTGRES_URL=db:5432/atlas": "--postgres-url (ATLAS_POSTGRES_URL) must begin with postgres:// or postgresql://, such as postgres://user:password@host:5432/atlas",
		"ATLAS_REDIS_TIMEOUT=1h":           "--redis-timeout (ATLAS_REDIS_TIMEOUT) must be 1ms to 10s, not 1h",
		"ATLAS_TRUSTED_PROXIES=balancer":   "--trusted-proxies (ATLAS_TRUSTED_PROXIES): \"balancer\" is no network; write an address or a network, such as 10.0.0.0/8",
		"ATLAS_FREE_RATE=-1":               "--free-rate (ATLAS_FREE_RATE) must be 0 to 1000000, not -1",
		"ATLAS_CURSOR_KEYS=short":          "--cursor-keys (ATLAS_CURSOR_KEYS): a cursor key needs at least 16 bytes, this one has 5; openssl rand -hex 16 prints one",
		"ATLAS_ELASTICSEARCH_INSECURE=si":  `--elasticsearch-insecure (ATLAS_ELASTICSEARCH_INSECURE) "si" is neither true nor false`,
	}
	env := append([]string{}, completeSettings...)
	for setting := range wrong {
		env = append(env, setting) // the last one of a name counts
	}
	got := atlasWith(t, env, "serve")
	lines := strings.Split(strings.TrimSpace(got.err), "\n")
	if got.status != 2 || got.out != "" || len(lines) != 1+len(wrong)+1 || lines[0] != "atlas serve: 10 things are wrong:" {
		t.Errorf("status %d, %q, and\n%s", got.status, got.out, got.err)
	}
	for setting, want := range wrong {
		if !strings.Contains(got.err, "\n  "+want+"\n") {
			t.Errorf("%s: no line %q in\n%s", setting, want, got.err)
		}
	}
	if got := atlasWith(t, completeSettings, "serve", "--drain", "--listen", "x"); got.status != 2 ||
		!strings.Contains(got.err, "--drain (ATLAS_DRAIN) needs a value, such as 20s") ||
		!strings.Contains(got.err, "--listen (ATLAS_LISTEN) must be") {
		t.Errorf("a missing value: %+v", got)
	}
	if got := atlasWith(
		t, append(env, "ATLAS_CURSOR_KEYS=0123456789abcdef"), "serve", "--drain=5s", "--log-level", "info",
	); strings.Contains(got.err, "--drain") ||
		strings.Contains(got.err, "--log-level") || strings.Contains(got.err, "--cursor") {
		t.Errorf("a flag does not win over a wrong variable: %s", got.err)
	}
}

// A flag wins over a variable, a variable over the file, the file over the default.
func TestOptionsFromAFile(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "atlas.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// The value of an option is visible in the error that it causes.
	path := file("free-burst: 7000007\nserve:\n  free-rate: 7000008\n  cursor-keys: [0123456789abcdef, fedcba9876543210]\nindex:\n  load:\n    shards: 3\n    strict: true\n")
	for name, c := range map[string]struct {
		env, args    []string
		rate, burst  string
		withoutBurst bool
	}{
		"the file":              {nil, []string{"--config", path}, "7000008", "7000007", false},
		"the file, by variable": {[]string{"ATLAS_CONFIG=" + path}, nil, "7000008", "7000007", false},
		"a variable":            {[]string{"ATLAS_FREE_RATE=-2"}, []string{"--config", path}, "-2", "7000007", false},
		"a flag":                {[]string{"ATLAS_FREE_RATE=-2"}, []string{"--config", path, "--free-rate=-3"}, "-3", "7000007", false},
		"a good flag":           {nil, []string{"--config", path, "--free-burst=5"}, "7000008", "", true},
	} {
		got := atlasWith(t, append(c.env, completeSettings...), append([]string{"serve"}, c.args...)...)
		if got.status != 2 || !strings.Contains(got.err, "--free-rate (ATLAS_FREE_RATE) must be 0 to 1000000, not "+c.rate+"\n") ||
			strings.Contains(got.err, "--free-burst (ATLAS_FREE_BURST) must be 1 to 1000000, not "+c.burst+"\n") == c.withoutBurst {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for text, want := range map[string]string{
		"drian: 5s\n":                       `there is no option drian; did you mean "drain"?`,
		"serve:\n  drian: 5s\n":             `there is no option drian of atlas serve; did you mean "drain"?`,
		"index:\n  laod: {}\n":              `there is no option laod of atlas index; did you mean "load"?`,
		"limit: 5\n":                        "there is no option limit",
		"metrics-listen: 127.0.0.1:9090\n":  "put it below the command",
		"serve: 5\n":                        "serve is a command",
		"drain: 5\n":                        `--drain (ATLAS_DRAIN) "5" is not a duration`,
		"drain: [1s, 2s]\n":                 "drain takes one value, and not 2",
		"serve:\n  drain: {after: 5s}\n":    "drain: what stands below it is no value",
		"listen: [{a: b}]\n":                "listen: what stands below it is no value",
		"drain: 5s\ndrain: 6s\n":            "neither YAML nor JSON",
		"{":                                 "neither YAML nor JSON",
		"[1]":                               "neither YAML nor JSON",
		`{"log-level": "info", "drian": 1}`: `there is no option drian; did you mean "drain"?`,
	} {
		got := atlasWith(t, completeSettings, "serve", "--config", file(text))
		if got.status != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	// A repeatable option is a list, whose values may have commas.
	lists := file("search:\n  filter: ['stage=permitted,planned', 'no such form']\n")
	if got := atlasWith(t, nil, "search", "projects", "--config", lists, "--limit", "0"); got.status != 2 ||
		strings.Contains(got.err, "takes one value") || !strings.Contains(got.err, "--limit must be") {
		t.Errorf("a list: %+v", got)
	}
	if got := atlasWith(t, []string{"ATLAS_CONFIG=/nowhere.yaml"}, "version"); got.status != 0 {
		t.Errorf("version with a variable that names no file: %+v", got)
	}
	if got := atlasWith(t, completeSettings, "serve", "--config", "/nowhere.yaml", "--drain=5"); got.status != 2 ||
		!strings.Contains(got.err, "/nowhere.yaml: no such file") || !strings.Contains(got.err, "--drain") {
		t.Errorf("a missing file: %+v", got)
	}
}

// bash completes commands, options and values.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "atlas")); err != nil {
		t.Fatal(err)
	}
	const script = `set -euo pipefail
eval "$(atlas completion bash)"
while IFS= read -r line; do
	COMP_LINE=$line; COMP_POINT=${#line}
	read -ra COMP_WORDS <<<"$line"
	[[ "$line" == *" " ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_atlas_complete
	echo "${COMPREPLY[*]}"
done
`
	lines := []struct{ line, want string }{
		{"atlas ind", "index"},
		{"atlas index ", "apply duplicates load permits prune pull retry rollback source sources status verify"},
		{"atlas index lo", "load"},
		{"atlas index load --str", "--strict"},
		{"atlas serve --log-l", "--log-level"},
		{"atlas serve --log-level ", "debug error info warn"},
		{"atlas serve --log-level=w", "--log-level=warn"},
		{"atlas serve --log-level = w", "warn"}, // as bash splits it
		{"atlas serve --log-level warn --log-f", "--log-format"},
		{"atlas search acc", "accounts"},
		{"atlas search accounts --output c", "csv"},
		{"atlas completion ", "bash fish zsh"},
		{"atlas index load ", ""}, // files
	}
	var input, want strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&input, l.line)
		fmt.Fprintln(&want, l.want)
	}
	command := exec.CommandContext(t.Context(), "bash", "--norc", "-c", script)
	command.Env = []string{runAsAtlas + "=1", "PATH=" + dir + ":" + os.Getenv("PATH")}
	command.Stdin = strings.NewReader(input.String())
	out, err := command.CombinedOutput()
	if err != nil || string(out) != want.String() {
		t.Errorf("%v\n%s\nwant\n%s", err, out, &want)
	}
	for _, shell := range []string{"zsh", "fish"} {
		if got := atlasWith(t, nil, "completion", shell); got.status != 0 || !strings.Contains(got.out, "atlas_complete") ||
			strings.Contains(got.out, "PROGRAM") {
			t.Errorf("%s: %+v", shell, got)
		}
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n", "/dev/stdin")
			check.Stdin = strings.NewReader(atlasWith(t, nil, "completion", shell).out)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", shell, err, out)
			}
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		status int
		out    string
	}{
		{"", 2, "Status: 0 done, 1 failed, 2 arguments"},
		{"help", 0, "Status: 0 done, 1 failed, 2 arguments"},
		{"--help", 0, "in a file (--config); the first of these wins"},
		{"help index load", 0, "Usage: atlas index load <dir>"},
		{"version", 0, "PROGRAM  VERSION"},
		{"--version", 0, "atlas "},
		{"version --json", 0, `"program": "atlas"`},
		{"version --output csv", 0, "program,version,go,platform\natlas,"},
	} {
		got := atlasWith(t, nil, strings.Fields(c.args)...)
		if got.status != c.status || got.err != "" ||
			!strings.Contains(strings.Join(strings.Fields(got.out), " "), strings.Join(strings.Fields(c.out), " ")) {
			t.Errorf("atlas %s: %+v", c.args, got)
		}
	}
}
