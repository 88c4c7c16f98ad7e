package architecture

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// address matches an address of the API in a text.
var address = regexp.MustCompile(`/api/v1|\b(?:GET|POST|PUT|PATCH|DELETE) /[a-z]`)

// Only the service knows the addresses of the API: other packages name operations, and package
// service/endpoint replaces the names.
func TestOnlyTheServiceKnowsAddresses(t *testing.T) {
	t.Parallel()
	texts := 0
	for _, folder := range []string{"search", "workspace", "internal", "indexer", "mappings"} {
		err := filepath.WalkDir("../../"+folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path) // #nosec G304 G122 -- a file of the repository
			if err != nil {
				return err
			}
			file := token.NewFileSet().AddFile("", -1, len(source))
			var s scanner.Scanner
			s.Init(file, source, nil, 0)
			for {
				pos, kind, text := s.Scan()
				if kind == token.EOF {
					return nil
				}
				if kind == token.STRING {
					texts++
					if found := address.FindString(text); found != "" {
						t.Errorf("%s:%d has the address %s", strings.TrimPrefix(path, "../../"), file.Line(pos), found)
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 1000 {
		t.Errorf("only %d texts", texts)
	}
}
