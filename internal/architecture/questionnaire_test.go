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
// and to a test or a script that is there.
func TestQuestionnaire(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path) // #nosec G304 G122 -- a file of the repository
		for _, name := range declared.FindAllSubmatch(source, -1) {
			tests[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
