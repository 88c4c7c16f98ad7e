package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A release is verified by the public key alone, and a changed, missing or added file, a
// foreign signature and a build that nobody can make again are refused (docs/deploy.md).
func TestReleaseIsSigned(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	build := func(version string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "../../scripts/build", args...)
		cmd.Env = append(os.Environ(), "ATLAS_DIST="+filepath.Join(work, "dist"), "ATLAS_VERSION="+version)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(out string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(work, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"atlas", "atlas.cdx.json", "explorer.cdx.json"} {
		write("dist/"+name, name)
	}
	for _, name := range []string{"owner", "stranger"} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "minisign", "-G", "-W",
			"-p", filepath.Join(work, name+".pub"), "-s", filepath.Join(work, name+".key")).CombinedOutput()
		must(string(out), err)
	}
	key, public := filepath.Join(work, "owner.key"), filepath.Join(work, "owner.pub")

	must(build("v1.2.3-dirty", "manifest"))
	if out, err := build("v1.2.3-dirty", "sign", key); err == nil || !strings.Contains(out, "committed version") {
		t.Errorf("uncommitted files were signed: %v\n%s", err, out)
	}
	must(build("v1.2.3", "manifest"))
	checkProvenance(t, filepath.Join(work, "dist"))
	must(build("v1.2.3", "sign", key))
	out, err := build("", "verify", public)
	must(out, err)
	if !strings.Contains(out, "atlas v1.2.3") || !strings.Contains(out, "atlas.intoto.json: OK") {
		t.Errorf("a verified release says\n%s", out)
	}
	line, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(line)), "\n")
	must(build("", "verify", lines[len(lines)-1]))

	refused := func(what string) {
		t.Helper()
		if out, err := build("", "verify", public); err == nil {
			t.Errorf("%s: verified\n%s", what, out)
		}
	}
	if out, err := build("", "verify", filepath.Join(work, "stranger.pub")); err == nil {
		t.Errorf("verified by a foreign key\n%s", out)
	}
	write("dist/atlas", "atlas, changed")
	refused("a changed file")
	write("dist/atlas", "atlas")
	write("dist/install.sh", "")
	refused("an added file")
	if err := os.Remove(filepath.Join(work, "dist/install.sh")); err != nil {
		t.Fatal(err)
	}
	must(build("", "verify", public))
	write("dist/atlas", "atlas, changed")
	must(build("v1.2.3", "manifest"))
	refused("new checksums below the old signature")
	if err := os.Remove(filepath.Join(work, "dist/SHA256SUMS.minisig")); err != nil {
		t.Fatal(err)
	}
	refused("no signature")
}

// checkProvenance compares the statement with the files.
func checkProvenance(t *testing.T, dist string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, "atlas.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		PredicateType string
		Predicate     struct {
			BuildDefinition struct {
				ExternalParameters   struct{ Version string }
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statement.Subject {
		if !strings.Contains(string(sums), s.Digest.SHA256+"  "+s.Name+"\n") {
			t.Errorf("%s has another digest in the provenance", s.Name)
		}
	}
	built := statement.Predicate.BuildDefinition
	if len(statement.Subject) != 3 || statement.PredicateType != "https://slsa.dev/provenance/v1" ||
		built.ExternalParameters.Version != "v1.2.3" || len(built.ResolvedDependencies) != 3 ||
		len(built.ResolvedDependencies[0].Digest["gitCommit"]) != 40 {
		t.Errorf("the provenance is\n%s", text)
	}
}
