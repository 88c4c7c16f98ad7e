package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func parse(t *testing.T, args ...string) error {
	t.Helper()
	k, err := kong.New(&cli{}, kong.Name("benchmark"), kong.Exit(func(int) { t.Error("it exits") }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args)
	return err
}

// The commands in docs/benchmarks.md are ones that can be given.
func TestDocumentedCommandsAreValid(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile("scripts/bench (([a-z]+)[^`\n#]*)").FindAllStringSubmatch(string(raw), -1) {
		command, _, _ := strings.Cut(match[1], " > ")
		args := slices.DeleteFunc(strings.Fields(command), func(arg string) bool { return arg == "--help" })
		if err := parse(t, args...); err != nil {
			t.Errorf("%s: %v", match[0], err)
		}
		seen[match[2]] = true
	}
	for _, name := range []string{"all", "search", "views", "book", "index", "credits", "peers", "growth", "kinds", "tails", "service"} {
		if !seen[name] {
			t.Errorf("docs/benchmarks.md does not say how to run %s", name)
		}
		if name != "all" && !strings.Contains(string(raw), "<!-- bench:"+name+" -->") {
			t.Errorf("docs/benchmarks.md has no place for the result of %s", name)
		}
	}
}

func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"search --records 9999", "views --members 999", "book --book 1", "index --batch-mib 65", "credits --callers 0", "credits --rounds 0",
		"peers --records 29999", "peers --rounds 0", "growth --records 1", "growth --books 999",
		"growth --parts everything", "growth --pages 0", "growth --connections 129",
		"kinds --records 1", "kinds --nodes 0", "kinds --nodes 10", "kinds --requests 19", "kinds --rounds 0",
		"all --records 1", "all --index-records 1", "all --held 1", "all --rounds 0",
	} {
		if err := parse(t, strings.Fields(args)...); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"search --records 20000": "scripts/bench search --records 20000",
		"index --dir /tmp/x --write=/tmp/y/docs/benchmarks.md --rounds 5 --atlas=bin/atlas": "scripts/bench index --write=docs/benchmarks.md --rounds 5",
		"views --write /home/me/b.md --json":                                                "scripts/bench views --write /home/me/b.md --json",
		"views --seed 2 --dir":                                                              "scripts/bench views --seed 2",
	} {
		if got := commandLine(strings.Fields(given)); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}
