package architecture

import (
	"go/scanner"
	"go/token"
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
		eachGoFile(t, folder, func(path string, source []byte) {
			if strings.HasSuffix(path, "_test.go") {
				return
			}
			file := token.NewFileSet().AddFile("", -1, len(source))
			var s scanner.Scanner
			s.Init(file, source, nil, 0)
			for pos, kind, text := s.Scan(); kind != token.EOF; pos, kind, text = s.Scan() {
				if kind != token.STRING {
					continue
				}
				texts++
				if found := address.FindString(text); found != "" {
					t.Errorf("%s:%d has the address %s", path, file.Line(pos), found)
				}
			}
		})
	}
	if texts < 1000 {
		t.Errorf("only %d texts", texts)
	}
}
