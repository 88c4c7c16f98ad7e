package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"atlas/indexer/source"
)

// The commands of docs/sources.md print what the page shows.
func TestSourcesPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := 0
	for _, b := range blocksOf(contents(t, "../../docs/sources.md")) {
		if b.lang != "sh" {
			continue
		}
		ran++
		command := exec.CommandContext(t.Context(), "bash", "-c", shellPrelude+b.text)
		command.Dir = dir
		command.Env = append(os.Environ(), runAsAtlas+"=1", "ATLAS_PROGRAM="+os.Args[0])
		var errs strings.Builder
		command.Stderr = &errs
		out, err := command.Output()
		if err != nil {
			t.Fatalf("line %d: %v\n%s%s", b.line, err, out, &errs)
		}
		if err := b.compare(string(out)); err != nil {
			t.Errorf("line %d: %v", b.line, err)
		}
	}
	if ran < 5 {
		t.Errorf("%d blocks ran", ran)
	}
}

// The descriptions of docs/sources.md are right.
func TestSourcesPageDescriptions(t *testing.T) {
	t.Parallel()
	read := 0
	for _, b := range blocksOf(contents(t, "../../docs/sources.md")) {
		if b.lang == "yaml" && strings.HasPrefix(b.text, "version:") {
			read++
			if _, err := source.Parse("page", []byte(b.text)); err != nil {
				t.Errorf("line %d: %v", b.line, err)
			}
		}
	}
	if read < 3 {
		t.Errorf("%d descriptions", read)
	}
}
