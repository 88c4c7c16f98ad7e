package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/server"
	"atlas/indexer"
	"atlas/indexer/permits"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
)

// block is a fenced code block of a page.
type block struct {
	lang, info, text string
	line             int
	// shown is the next block under the same heading if it shows the output of this
	// one: its language is json or text. Programs in several languages may stand between.
	shown *block
}

// isProgram reports whether a block is one of those that do the same in several languages.
func (b *block) isProgram() bool { return b.lang == "go" || b.lang == "python" || b.lang == "ts" }

var fence = regexp.MustCompile("^```(\\w*) ?(.*)$")

// blocksOf reads the blocks of a page.
func blocksOf(page string) []*block {
	var all []*block
	var open *block
	var before []*block // one after the other, without what they print
	for i, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil:
			all, open = append(all, open), nil
		case open != nil:
			open.text += line + "\n"
		case m != nil:
			open = &block{lang: m[1], info: m[2], line: i + 1}
			if open.lang == "json" || open.lang == "text" {
				for _, b := range before {
					b.shown = open
				}
				before = nil
			} else if len(before) == 0 || !before[0].isProgram() || !open.isProgram() ||
				slices.ContainsFunc(before, func(b *block) bool { return b.lang == open.lang }) {
				before = []*block{open}
			} else {
				before = append(before, open)
			}
		case strings.HasPrefix(line, "#"):
			before = nil
		}
	}
	return all
}

// docsService is a service with the sample data of `atlas-dev dev`, for the examples of
// the pages.
type docsService struct {
	*service
	dir string // the working directory of the examples
	// module are the commands of docs/clients.md that make a module of a reader.
	module string
}

func startDocs(t *testing.T) *docsService {
	dir, prefix := t.TempDir(), "e2e-"+strings.ToLower(uuid.NewString()[:8])+"-"
	must(permits.Sample(t.Context(), dir, time.Now()))(t)
	es := must(elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}}))(t)
	report := must(indexer.Load(t.Context(), indexer.Options{Dir: dir, Elastic: es, Names: mappings.Names{Prefix: prefix}}))(t)
	t.Cleanup(func() { // when nobody searches them: one node should not hold all of them
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, d := range report.Datasets {
			if err := es.DeleteIndices(ctx, mappings.Names{Prefix: prefix}.Generation(string(d.Dataset), report.Generation)); err != nil {
				t.Error(err)
			}
		}
	})
	s := start(t, 0, func(c *server.Config) { c.IndexPrefix = prefix })
	docs := &docsService{service: s, dir: t.TempDir()}
	// The checkout is beside a reader's module.
	if err := os.Symlink(must(filepath.Abs("../.."))(t), filepath.Join(docs.dir, "atlas")); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksOf(contents(t, "../../docs/clients.md")) {
		if strings.HasPrefix(b.text, "go mod init ") {
			docs.module = b.text
		}
	}
	return docs
}

// shellPrelude makes curl print the status of each answer, and makes atlas run the
// program of this test.
const shellPrelude = `set -euo pipefail
curl() { command curl --write-out '%{stderr}HTTP %{http_code}\n' "$@"; }
atlas() { "$ATLAS_PROGRAM" "$@"; }
`

// runs matches blocks that call the service. Other blocks start it or load its data.
var runs = regexp.MustCompile(`(?m)curl |openssl |^atlas (search|facets|export|follow) `)

var httpStatus = regexp.MustCompile(`(?m)^HTTP (\d{3})$`)

// shell runs a block of a page. Every request must succeed, except the last one if the
// block's info says `status=N`.
func (s *docsService) shell(ctx context.Context, b *block) error {
	command := exec.CommandContext(ctx, "bash", "-c", shellPrelude+b.text)
	command.Dir = s.dir
	command.Env = append(s.environment(), "BASE="+s.base, "KEY="+s.key, runAsAtlas+"=1", "ATLAS_PROGRAM="+os.Args[0])
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil && b.info != "exit="+strconv.Itoa(command.ProcessState.ExitCode()) {
		return fmt.Errorf("%w\n%s%s", err, &out, &errs)
	}
	statuses := httpStatus.FindAllStringSubmatch(errs.String(), -1)
	for i, m := range statuses {
		if want, ok := strings.CutPrefix(b.info, "status="); ok && i == len(statuses)-1 {
			if m[1] != want {
				return fmt.Errorf("status %s, the page says %s\n%s", m[1], want, &out)
			}
		} else if m[1][0] != '2' {
			return fmt.Errorf("status %s\n%s%s", m[1], &out, &errs)
		}
	}
	return b.compare(out.String())
}

// environment has the service under the names of the examples, and no other variables
// of the test.
func (s *docsService) environment() []string {
	env := []string{"ATLAS_URL=" + s.base, "ATLAS_API_KEY=" + s.key}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ATLAS_") {
			env = append(env, e)
		}
	}
	return env
}

// compare compares the output of a block with the block that its page shows. "…" stands
// for any text, and on a line of its own for any lines.
func (b *block) compare(printed string) error {
	if b.shown == nil {
		return nil
	}
	if b.shown.lang == "json" {
		var got, want any
		if err := json.Unmarshal([]byte(b.shown.text), &want); err != nil {
			return fmt.Errorf("the page shows no JSON: %w", err)
		}
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			return fmt.Errorf("printed is no JSON: %w\n%s", err, printed)
		}
		if at := differ(got, want, "$"); at != "" {
			return fmt.Errorf("printed is another than shown at %s:\n%s", at, printed)
		}
		return nil
	}
	pattern := regexp.QuoteMeta(strings.TrimSpace(b.shown.text))
	pattern = regexp.MustCompile(`(?m)^…$`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if text := strings.Join(lines, "\n"); !regexp.MustCompile("^" + pattern + "$").MatchString(text) {
		return fmt.Errorf("printed is another than shown:\n%s", text)
	}
	return nil
}

// differ returns the path of the first difference. An object that is shown with a
// member "…" may have more members, and an array whose last element is "…" more
// elements.
func differ(got, want any, path string) string {
	switch w := want.(type) {
	case string:
		if s, ok := got.(string); strings.Contains(w, "…") || ok && s == w {
			return ""
		}
		return path
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return path
		}
		_, open := w["…"]
		for key := range g {
			if _, shown := w[key]; !shown && !open {
				return path + "." + key
			}
		}
		for key, v := range w {
			if key == "…" {
				continue
			}
			if _, there := g[key]; !there {
				return path + "." + key
			}
			if at := differ(g[key], v, path+"."+key); at != "" {
				return at
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if open := len(w) > 0 && w[len(w)-1] == "…"; open {
			w = w[:len(w)-1]
			g = g[:min(len(w), len(g))]
		}
		if !ok || len(g) != len(w) {
			return path
		}
		for i, v := range w {
			if at := differ(g[i], v, path+"."+strconv.Itoa(i)); at != "" {
				return at
			}
		}
		return ""
	}
	if got != want {
		return path
	}
	return ""
}

// programs builds the Go blocks of a page in a module of their own, like a reader. A
// complete program is built as it is. Other blocks become functions with a context ctx
// and a client c.
func (s *docsService) programs(ctx context.Context, blocks []*block) (map[*block][]string, error) {
	dir, err := os.MkdirTemp(s.dir, "module")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	commands := map[*block][]string{}
	var fragments strings.Builder
	for _, b := range blocks {
		name := fmt.Sprintf("line%d", b.line)
		if strings.HasPrefix(b.text, "package main") {
			files[name+"/main.go"] = b.text
			commands[b] = []string{filepath.Join(dir, "bin", name)}
			continue
		}
		fmt.Fprintf(&fragments, "func %s(ctx context.Context, c *client.Client) error {\n%s\nreturn nil\n}\n", name, b.text)
		commands[b] = []string{filepath.Join(dir, "bin", "fragments"), name}
	}
	files["fragments/main.go"] = fragmentsProgram(fragments.String(), blocks)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	build := exec.CommandContext(ctx, "bash", "-ec", s.module+"go build -o bin/ ./...")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return commands, nil
}

// fragmentsProgram runs the fragment that its argument names.
func fragmentsProgram(functions string, blocks []*block) string {
	main := "func main() {\n\tc, err := client.New(os.Getenv(\"ATLAS_URL\"), client.WithAPIKey(os.Getenv(\"ATLAS_API_KEY\")))\n\tif err == nil {\n\t\terr = map[string]func(context.Context, *client.Client) error{\n"
	for _, b := range blocks {
		if !strings.HasPrefix(b.text, "package main") {
			main += fmt.Sprintf("\t\t\t\"line%d\": line%[1]d,\n", b.line)
		}
	}
	main += "\t\t}[os.Args[1]](context.Background(), c)\n\t}\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n"
	var imports []string
	for _, name := range []string{"context", "errors", "fmt", "io", "log", "net/http", "os", "slices", "strings", "time", "atlas/client"} {
		if regexp.MustCompile(`\b` + filepath.Base(name) + `\.`).MatchString(functions + main) {
			imports = append(imports, strconv.Quote(name))
		}
	}
	return "package main\n\nimport (\n" + strings.Join(imports, "\n") + "\n)\n\n" + main + functions
}

func (s *docsService) program(ctx context.Context, b *block, argv []string) error {
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir, command.Env = s.dir, s.environment()
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, out, &errs)
	}
	return b.compare(string(out))
}

// The examples of the pages print what the pages show, on the data of `atlas-dev dev`.
func TestPages(t *testing.T) {
	t.Parallel()
	s := startDocs(t)
	for _, page := range []string{"../../docs/clients.md", "../../docs/api.md", "../../README.md"} {
		var shell, program, others []*block
		for _, b := range blocksOf(contents(t, page)) {
			switch {
			case b.lang == "sh" && runs.MatchString(b.text):
				shell = append(shell, b)
			case b.lang == "go":
				program = append(program, b)
			case b.isProgram():
				others = append(others, b)
			}
		}
		if len(shell) == 0 {
			t.Errorf("%s has no example", page)
		}
		at := func(b *block, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
		}
		for _, b := range shell {
			at(b, s.shell(t.Context(), b))
		}
		commands, err := s.programs(t.Context(), program)
		if err != nil {
			t.Fatalf("the programs of %s: %v", page, err)
		}
		for _, b := range program {
			at(b, s.program(t.Context(), b, commands[b]))
		}
		if commands, err = s.inOtherLanguages(t.Context(), others); err != nil {
			t.Fatalf("the programs of %s: %v", page, err)
		}
		for b, argv := range commands {
			at(b, s.program(t.Context(), b, argv))
		}
	}
	if calls, _, _ := s.talk(t, "../../docs/clients.md"); calls < 10 {
		t.Errorf("docs/clients.md has %d calls of agents", calls)
	}
	s.conversation(t)
	s.wrongPages(t)
}

// wrongPages checks that errors of a page are detected.
func (s *docsService) wrongPages(t *testing.T) {
	for name, page := range map[string]string{
		"status":             "```sh\ncurl -s $BASE/data/nothing/search -H \"Authorization: Bearer $KEY\" -d '{}'\n```",
		"expected status":    "```sh status=404\ncurl -s $BASE/workspace -H \"Authorization: Bearer $KEY\"\n```",
		"an earlier request": "```sh status=404\ncurl -s $BASE/workspace; curl -s $BASE/nothing\n```",
		"exit status":        "```sh\natlas search things\n```",
		"a pipe":             "```sh\ncurl -s $BASE/workspace -H \"Authorization: Bearer $KEY\" | grep nothing\n```",
		"output":             "```sh\necho 1\n```\nprints\n```text\n2\n```",
		"more output":        "```sh\necho 1; echo 2\n```\n\n```text\n1\n```",
		"JSON":               "```sh\necho '{\"a\":[1,2]}'\n```\n\n```json\n{\"a\":[1]}\n```",
		"a member more":      "```sh\necho '{\"a\":1,\"b\":2}'\n```\n\n```json\n{\"a\":1}\n```",
		"a member less":      "```sh\necho '{\"a\":1}'\n```\n\n```json\n{\"a\":1,\"b\":\"…\"}\n```",
	} {
		if s.shell(t.Context(), blocksOf(page)[0]) == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	programs := blocksOf("```go\nreturn errors.New(\"x\")\n```\n```go\nfmt.Println(1)\n```\n```text\n2\n```")[:2]
	commands := must(s.programs(t.Context(), programs))(t)
	for _, b := range programs {
		if s.program(t.Context(), b, commands[b]) == nil {
			t.Errorf("nothing is wrong with %s", b.text)
		}
	}
	if _, err := s.programs(t.Context(), []*block{{lang: "go", text: "c.Nothing()\n"}}); err == nil {
		t.Error("a program that does not compile is fine")
	}
	fine := blocksOf("# A\n```sh\necho '{\"a\":[1,2],\"b\":7}'; \n```\nText.\n```json\n{\"a\":[1,\"…\"],\"…\":0}\n```\n# B\n```text\nof no block\n```\n```sh\necho a; echo b; echo c1\n```\n```text\na\n…\nc…\n```")
	for _, b := range fine {
		if b.lang == "sh" {
			if err := s.shell(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
	}
	if i := slices.IndexFunc(fine, func(b *block) bool { return b.shown != nil }); i != 0 || fine[2].shown != nil {
		t.Errorf("%d %+v", i, fine[2])
	}
}
