package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// docs/questionnaire.md has sixty questions: one that is answered with yes leads to a page,
// and to an existing test or script.
func TestQuestionnaire(t *testing.T) {
	t.Parallel()
	tests := declaredTests(t)
	page, err := os.ReadFile("../../docs/questionnaire.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| [^|]+\\? \\| (yes|no) \\| ([^|]+) \\| (?:`([^`]+)`)? ?\\|$")
	rows := row.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 60 {
		t.Errorf("%d questions with an answer, want 60", len(rows))
	}
	for i, r := range rows {
		number, answer, text, shows := r[1], r[2], r[3], r[4]
		if number != strconv.Itoa(i+1) {
			t.Errorf("question %s stands where %d should", number, i+1)
		}
		_, err := os.Stat(filepath.Join("../..", shows))
		if answer == "yes" && (!strings.Contains(text, "](") || !tests[shows] && (!strings.HasPrefix(shows, "scripts/") || err != nil)) {
			t.Errorf("question %s is answered with yes, without a page or by %q, which is not there", number, shows)
		}
		if answer == "no" && shows != "" {
			t.Errorf("question %s is answered with no, and shown by %s", number, shows)
		}
	}
}

// docs/threats.md names an existing test for each threat, once, and covers each border.
func TestThreatModel(t *testing.T) {
	t.Parallel()
	tests := declaredTests(t)
	page, err := os.ReadFile("../../docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	borders := map[string]bool{}
	for _, r := range regexp.MustCompile(`(?m)^\| ([A-Z]) \| .*$`).FindAllStringSubmatch(string(page), -1) {
		borders[r[1]] = false
	}
	seen := map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| ([STRIDE])(\\d+) \\| ([A-Z]) \\| [^|]+ \\| [^|]+ \\| `([^`]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if all := regexp.MustCompile(`(?m)^\| [STRIDE]\d+ \|`).FindAllString(string(page), -1); len(all) != len(rows) || len(rows) < 30 {
		t.Errorf("%d of %d threats have a border, a defence and a test", len(rows), len(all))
	}
	for _, r := range rows {
		if id := r[1] + r[2]; seen[id] {
			t.Errorf("two threats are %s", id)
		} else {
			seen[id] = true
		}
		if _, there := borders[r[3]]; !there {
			t.Errorf("%s%s is at a border %s that no row explains", r[1], r[2], r[3])
		}
		borders[r[3]] = true
		if !tests[r[4]] {
			t.Errorf("%s%s is shown by %s, which is not there", r[1], r[2], r[4])
		}
	}
	for border, met := range borders {
		if !met {
			t.Errorf("no threat at border %s", border)
		}
	}
}

// declaredTests are the names of all tests of the repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	eachGoFile(t, "", func(path string, source []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, name := range declared.FindAllSubmatch(source, -1) {
			tests[string(name[1])] = true
		}
	})
	return tests
}
