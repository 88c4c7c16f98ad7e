package manual

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"atlas"
)

var fence = regexp.MustCompile("(?ms)^ *```(\\w+)\n(.*?)^ *```")

// Every block of code of the documentation has a lexer, if chroma has one, and the colours
// that chroma's own give it.
func TestLexersOfTheDocumentation(t *testing.T) {
	t.Parallel()
	blocks, missing := 0, map[string]bool{}
	err := fs.WalkDir(atlas.Documents, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(atlas.Documents, name)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			theirs, ours := lexers.Get(block[1]), languages().Get(block[1])
			switch {
			case theirs == nil || block[1] == "text": // which needs none
			case ours == nil:
				missing[block[1]] = true
			default:
				blocks++
				if a, b := tokens(t, theirs, block[2]), tokens(t, ours, block[2]); a != b {
					t.Errorf("%s: a block in %s:\n%s\nchroma:\n%s\nhere:\n%s", name, block[1], block[2], a, b)
				}
			}
		}
		return err
	})
	if err != nil || blocks < 100 {
		t.Errorf("%d blocks, %v", blocks, err)
	}
	for language := range missing {
		t.Errorf("no lexer for %s: copy it from chroma to lexers", language)
	}
}

func tokens(t *testing.T, lexer chroma.Lexer, text string) string {
	t.Helper()
	all, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, token := range all.Tokens() {
		b.WriteString(token.GoString() + "\n")
	}
	return b.String()
}
