package source

import (
	"embed"
	"os"
	"path"
	"slices"
	"strings"

	"atlas/internal/fault"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// Shipped lists the descriptions that come with Atlas, by name.
func Shipped() []*Description {
	entries, _ := shipped.ReadDir("shipped") // a constant of the program
	all := make([]*Description, 0, len(entries))
	for _, e := range entries {
		all = append(all, must(strings.TrimSuffix(e.Name(), ".yaml")))
	}
	return all
}

// must is a shipped description, which a test parses.
func must(name string) *Description {
	text, err := Text(name)
	if err == nil {
		var d *Description
		if d, err = Parse(name+".yaml", text); err == nil {
			return d
		}
	}
	panic(err)
}

// Text is the YAML of a shipped description. Error: NotFound.
func Text(name string) ([]byte, error) {
	text, err := shipped.ReadFile(path.Join("shipped", name+".yaml"))
	if err != nil {
		return nil, fault.New(fault.NotFound, "there is no source %q; atlas index sources lists them: %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

// Names lists the names of the shipped descriptions.
func Names() (names []string) {
	entries, _ := shipped.ReadDir("shipped")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Open reads the description with a shipped name or in a file. Errors: NotFound, BadRequest
// for a wrong one.
func Open(nameOrFile string) (*Description, error) {
	if !strings.ContainsAny(nameOrFile, "./\\") {
		text, err := Text(nameOrFile)
		if err != nil {
			return nil, err
		}
		return Parse(nameOrFile+".yaml", text)
	}
	file, err := os.Open(nameOrFile) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "%s cannot be opened", nameOrFile)
	}
	defer file.Close() //nolint:errcheck // only read
	text := make([]byte, maxBytes+1)
	n := 0
	for n < len(text) {
		m, err := file.Read(text[n:])
		n += m
		if err != nil {
			break
		}
	}
	return Parse(nameOrFile, text[:n])
}
