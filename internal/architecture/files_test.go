package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eachGoFile calls read with the Go files of a folder of the repository, "" for all, and with
// their paths in the repository. What others have written is left out.
func eachGoFile(t *testing.T, folder string, read func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "third_party" || name == "node_modules" || len(name) > 2 && name[0] == '.') {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path) // #nosec G304 G122 -- a file of the repository
		if err != nil {
			return err
		}
		read(strings.TrimPrefix(filepath.ToSlash(path), "../../"), source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
