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
		ofAnother := map[*ast.Ident]bool{} // http.Server
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				ofAnother[n.Sel] = true
			case *ast.Ident:
				if n.Name == "Server" && !ofAnother[n] {
					named[f.Name()] = true
				}
			}
			return true
		})
	}
	if len(named) != 2 || !named["server.go"] || !named["routes.go"] {
		t.Errorf("the server is named by %v", named)
	}
}
