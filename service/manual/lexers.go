package manual

import (
	"embed"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// The lexers of chroma for the languages of the documentation (lexers/LICENSE). Importing all
// its lexers would make the binary 4 MB larger. go.xml is a copy of chroma's Go code, with
// raw strings in one colour.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// languages has the lexers by their names.
var languages = sync.OnceValue(func() *chroma.LexerRegistry {
	registry := chroma.NewLexerRegistry()
	files, err := lexerFiles.ReadDir("lexers")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, file := range files {
		registry.Register(chroma.MustNewXMLLexer(lexerFiles, "lexers/"+file.Name()))
	}
	return registry
})
