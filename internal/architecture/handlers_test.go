package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The handlers of a resource have what they need, and not the whole server: only the files that
// compose it name it.
func TestHandlersDoNotKnowTheServer(t *testing.T) {
	t.Parallel()
	const folder = "../../service/api"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".go" || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, f.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			_, ofAnotherPackage := n.(*ast.SelectorExpr)
			if name, is := n.(*ast.Ident); is && name.Name == "Server" {
				named[f.Name()] = true
			}
			return !ofAnotherPackage
		})
	}
	if len(named) != 2 || !named["server.go"] || !named["routes.go"] {
		t.Errorf("the server is named by %v", named)
	}
}
