package clients

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the Go client exports is what testdata/surface.go.txt lists. A change of a line there,
// or one that is gone, breaks programs: see "Compatibility" in client/doc.go. -update
// writes it.
func TestSurface(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../client/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(parsed)
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body = nil; !ofExported(d) {
					continue
				}
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
			}
			var b bytes.Buffer
			if err := format.Node(&b, set, d); err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.ReplaceAll(b.String(), "\n\n", "\n"))
		}
	}
	slices.Sort(all)
	golden(t, "testdata/surface.go.txt", []byte(strings.Join(all, "\n")+"\n"))
}

// ofExported reports whether a function is none of an unexported type.
func ofExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	name, ok := of.(*ast.Ident)
	return !ok || name.IsExported()
}
