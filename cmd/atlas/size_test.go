package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The binary has the size in docs/deploy.md, within 2%, with the files of the Explorer and
// without, so that every change of it is noticed and documented.
func TestSizeOfTheBinary(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs/deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`The binary has (\d+\.\d) MB, and (\d+\.\d) MB with the files of the Explorer`).FindSubmatch(page)
	if said == nil {
		t.Fatal("docs/deploy.md does not say how large the binary is")
	}
	built := filepath.Join(t.TempDir(), "atlas")
	build := exec.CommandContext(t.Context(), filepath.Join(repository, "scripts/build"), "-o", built, "./cmd/atlas")
	build.Env = append(os.Environ(), "ATLAS_EXPLORER=built")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary, err := os.Stat(built)
	if err != nil {
		t.Fatal(err)
	}
	const mb = 1e6
	whole, ofPage := float64(binary.Size())/mb, explorerFiles(t)/mb
	check := func(what string, is float64, said []byte) {
		says, err := strconv.ParseFloat(string(said), 64)
		if err != nil || is > says*1.02 || is < says*0.98 {
			t.Errorf("the binary %s has %.1f MB; docs/deploy.md says %s", what, is, said)
		}
	}
	check("without the Explorer", whole-ofPage, said[1])
	if ofPage > 0 {
		check("with the Explorer", whole, said[2])
	}
}

// explorerFiles is how many bytes of the Explorer are built here, 0 without Node.
func explorerFiles(t *testing.T) (sum float64) {
	t.Helper()
	folder := filepath.Join(repository, "explorer/dist/app")
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := d.Info()
		sum += float64(file.Size())
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return sum
}
