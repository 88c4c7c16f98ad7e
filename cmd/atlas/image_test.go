package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"go.yaml.in/yaml/v3"

	"atlas/cmd/internal/cli"
	"atlas/internal/devstack"
	"atlas/internal/devstack/backends"
	"atlas/workspace/postgres/pgtest"
)

// repository is the folder of the Dockerfile.
const repository = "../.."

type composeService struct {
	Image       string
	Command     []string
	Environment map[string]string
	Healthcheck struct{ Test []string }
	Ports       []string
	Profiles    []string
	ReadOnly    bool     `yaml:"read_only"`
	MemLimit    string   `yaml:"mem_limit"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Grace       string   `yaml:"stop_grace_period"`
	Logging     struct{ Options map[string]string }
}

// composeServices reads the services of docker-compose.yml with no variables set, as
// for a new user.
func composeServices(t *testing.T) map[string]composeService {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repository, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	defaults := regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`)
	var file struct {
		Services map[string]composeService
	}
	if err := yaml.Unmarshal(defaults.ReplaceAll(raw, []byte("$1")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Services
}

func dockerfile(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// checked checks the options of a command before it runs.
type checked interface{ Check() error }

// The program has the commands that docker-compose.yml runs, and accepts their
// settings. Not parallel: it sets the environment.
func TestComposeRunsCommandsThatExist(t *testing.T) {
	services := composeServices(t)
	if got, want := services["elasticsearch"].Image, ":"+devstack.ElasticsearchVersion; !strings.HasSuffix(got, want) {
		t.Errorf("Elasticsearch's image is %s, the program is tested with %s", got, want)
	}
	sample := t.TempDir()
	image := 0
	for _, name := range slices.Sorted(maps.Keys(services)) {
		s := services[name]
		if s.Image != "atlas" {
			continue
		}
		image++
		commands := [][]string{s.Command}
		if s.Command == nil {
			commands = [][]string{{"serve"}} // CMD of the image
		}
		if h := s.Healthcheck.Test; len(h) > 0 {
			if h[0] != "CMD" || h[1] != "/atlas" {
				t.Errorf("%s: the image has no program for the health check %v", name, h)
			}
			commands = append(commands, h[2:])
		}
		for _, args := range commands {
			for i := range args {
				args[i] = strings.Replace(args[i], "/tmp/sample", sample, 1) // it must exist
			}
			accepts(t, name, s.Environment, args...)
		}
	}
	if image < 4 {
		t.Errorf("%d services run the image", image)
	}
}

// accepts tests that the program has a command and takes its arguments and variables, as in
// the image. It sets the environment.
func accepts(t *testing.T, where string, environment map[string]string, args ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, n := range parserOf(t).Model.Leaves(false) {
		for _, group := range n.AllFlags(false) {
			for _, flag := range group {
				for _, env := range flag.Envs {
					known[env] = true
				}
			}
		}
	}
	for variable, value := range environment {
		if !known[variable] {
			t.Errorf("%s: no command knows %s", where, variable)
		}
		t.Setenv(variable, value)
	}
	t.Setenv("ATLAS_LISTEN", "0.0.0.0:8080") // ENV of the image
	var faults cli.Problems
	k, err := parserOf(t, kong.Bind(&faults)).Parse(args)
	if err = errors.Join(err, faults.Err()); err != nil {
		t.Errorf("%s: atlas %s: %v", where, strings.Join(args, " "), err)
		return
	}
	if c, ok := k.Selected().Target.Addr().Interface().(checked); ok {
		if err := c.Check(); err != nil {
			t.Errorf("%s: atlas %s: %v", where, strings.Join(args, " "), err)
		}
	}
}

func parserOf(t *testing.T, options ...kong.Option) *kong.Kong {
	t.Helper()
	options = append(options, program().Vars, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	parser, err := kong.New(&commands{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// The build of the image has all files of the program and a compiler that is new
// enough. The image does not run as root.
func TestImageBuildsTheProgram(t *testing.T) {
	t.Parallel()
	text := dockerfile(t)
	raw, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(raw)
	if wanted == nil || !strings.Contains(text, "FROM golang:"+string(wanted[1])+"-") {
		t.Errorf("go.mod wants Go %s, the Dockerfile has another", wanted)
	}
	if user := regexp.MustCompile(`(?m)^USER (\d+)`).FindStringSubmatch(text); user == nil || user[1] == "0" {
		t.Errorf("the user of the image is %v", user)
	}
	build, err := os.ReadFile(filepath.Join(repository, "scripts/build"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "ATLAS_VERSION=${VERSION} scripts/build ") ||
		!strings.Contains(string(build), "-X atlas/internal/release.stamped=") {
		t.Error("the image does not know its version")
	}
}

// TestImageHasItsSources: .dockerignore sends to the builder what the programs that the
// Dockerfile builds consist of, embedded files included.
func TestImageHasItsSources(t *testing.T) {
	t.Parallel()
	kept, err := os.Open(filepath.Join(repository, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	patterns, err := ignorefile.ReadAll(kept)
	if err != nil {
		t.Fatal(err)
	}
	ignores, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"go.mod", "go.sum", "client/go.mod", "scripts/build", "scripts/explorer", "explorer/package-lock.json"}
	files = append(files, sources(t, "atlas/cmd/atlas", "atlas/service/openapi/print")...)
	for _, f := range files {
		if strings.HasPrefix(f, "explorer/dist/app/") {
			continue // another stage makes them
		}
		ignored, err := ignores.MatchesOrParentMatches(f)
		if err != nil {
			t.Fatal(err)
		}
		if ignored {
			t.Errorf("%s is needed, and .dockerignore keeps it back", f)
		}
	}
	if len(files) < 200 {
		t.Errorf("the programs consist of %d files", len(files))
	}
}

// sources are the files of this repository that programs consist of.
func sources(t *testing.T, programs ...string) (files []string) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(
		t.Context(), "go", append([]string{"list", "-deps", "-json=Dir,GoFiles,EmbedFiles"}, programs...)...,
	).Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			Dir                 string
			GoFiles, EmbedFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Dir != root && !strings.HasPrefix(p.Dir, root+string(filepath.Separator)) {
			continue
		}
		for _, f := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			path, err := filepath.Rel(root, filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, filepath.ToSlash(path))
		}
	}
	return files
}

func TestReadyCommand(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer server.Close()
	ask := func(url string) (int, string) {
		var out bytes.Buffer
		return run(t.Context(), []string{"ready", "--url=" + url}, &out, &out), out.String()
	}
	if code, said := ask(server.URL); code != 0 || said != "/health/ready\n" {
		t.Errorf("ready: %d %s", code, said)
	}
	status.Store(http.StatusServiceUnavailable)
	if code, _ := ask(server.URL); code != 1 {
		t.Errorf("not ready: %d", code)
	}
	server.Close()
	if code, _ := ask(server.URL); code != 1 {
		t.Errorf("nobody there: %d", code)
	}
	if code, _ := ask("nonsense"); code != 2 {
		t.Errorf("no address: %d", code)
	}
}

// The migrate service of compose: an administrator creates missing roles and a missing
// database, then the schema.
func TestMigrateFromNothing(t *testing.T) {
	t.Parallel()
	admin := backends.Postgres(t)
	d := pgtest.New(t)
	name := d.Name + "_trial"
	system := strings.Replace(d.System, "/"+d.Name, "/"+name, 1)
	connection, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	defer func() {
		if _, err := connection.Exec(t.Context(), "DROP DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
			t.Error(err)
		}
	}()
	migrate := func(admin, system string) (int, string) {
		var out bytes.Buffer
		return run(t.Context(), []string{"migrate", "--postgres-admin-url=" + admin, "--postgres-system-url=" + system}, &out, &out), out.String()
	}
	for _, want := range []string{"applied", "the schema is up to date"} {
		if code, said := migrate(admin, system); code != 0 || !strings.Contains(said, want) {
			t.Errorf("migrate: %d %s", code, said)
		}
	}
	for _, bad := range [][2]string{
		{strings.Replace(admin, "postgres@", "postgres:s3cret@", 1), system}, {admin, d.App}, {admin, strings.Replace(system, "/"+name, "/", 1)},
	} {
		if code, said := migrate(bad[0], bad[1]); code == 0 || strings.Contains(said, "s3cret") {
			t.Errorf("migrate with %s and %s: %d %s", bad[0], bad[1], code, said)
		}
	}
}
