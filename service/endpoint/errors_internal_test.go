package endpoint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
)

// codesIn lists the constants of type Code in a file, by value.
func codesIn(t *testing.T, path string) map[fault.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[fault.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes[fault.Code(text)] = spec.Names[0].Name
		return true
	})
	return codes
}

// A code without a row would be answered with 500.
func TestEveryCodeHasARow(t *testing.T) {
	t.Parallel()
	declared := codesIn(t, "../../internal/fault/fault.go")
	want := slices.Sorted(maps.Keys(declared))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(errorTable))); diff != "" {
		t.Errorf("errorTable (-declared +rows):\n%s", diff)
	}
	for code, row := range errorTable {
		if row.meaning == "" || row.advice == "" || row.sample == "" || row.status != itemOnly && (row.status < 400 || row.status > 599) {
			t.Errorf("%s has an incomplete row: %+v", code, row)
		}
	}
	clients := codesIn(t, "../../client/errors.go")
	for code, name := range declared {
		declared[code] = "Err" + name
	}
	if diff := cmp.Diff(declared, clients); diff != "" {
		t.Errorf("the Go client's codes (-service +client):\n%s", diff)
	}
}

// cellsUnder returns the cells of the tables in a section of a document.
func cellsUnder(t *testing.T, path, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", path, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		if row, ok := strings.CutPrefix(strings.TrimSpace(line), "| "); ok {
			rows = append(rows, strings.Split(row, "|"))
		}
	}
	return rows
}

func TestDocsListEveryCode(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`([a-z_]+)`")
	statuses := map[fault.Code]string{}
	for _, row := range cellsUnder(t, "../../docs/api.md", "## Errors") {
		for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
			statuses[fault.Code(m[1])] += row[0]
		}
	}
	handled := ""
	for _, row := range cellsUnder(t, "../../docs/clients.md", "## Errors") {
		handled += row[0]
	}
	for code, row := range errorTable {
		want := "item"
		if row.status != itemOnly {
			want = strconv.Itoa(row.status)
			if !strings.Contains(handled, want) {
				t.Errorf("docs/clients.md does not say what to do about %d", row.status)
			}
		}
		// invalid_input has a section of its own.
		if code != fault.InvalidInput && !strings.Contains(statuses[code], want) {
			t.Errorf("docs/api.md does not list %s as %s", code, want)
		}
		delete(statuses, code)
	}
	for code := range statuses {
		t.Errorf("docs/api.md lists %s, which is no code", code)
	}
}
