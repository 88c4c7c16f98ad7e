package eraser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"atlas/indexer/erasure"
	"atlas/indexer/journal"
	"atlas/search/catalog"
	"atlas/search/document"
)

// A dead letter can have records of several people: those of the others stay, with their
// position.
func TestLettersOfOthersStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	const bob = `{"id":"20000002-0000-4000-8000-000000000002","name":"Bob","email":"bob@firm.example"}`
	ada := `{"id":"` + contact(1) + `","name":"` + adaName + `","email":"` + adaEmail + `"}`
	second := strings.Replace(ada, contact(1), contact(7), 1)
	// What is wrong with a field shows its value.
	problems := []document.Problem{{Reason: "is not a JSON object"}}
	letter := func(d catalog.Dataset, line int64, text string) string {
		t.Helper()
		problems := problems
		if strings.Contains(text, adaName) { // what is wrong with a field shows its value
			problems = append([]document.Problem{{Field: "id", Reason: `"` + adaEmail + `" is not a UUID`}}, problems...)
		}
		content, err := json.Marshal(journal.NewDeadLetter(d, "contacts.ndjson", line, problems, []byte(text)))
		fatal(t, err)
		return string(content) + "\n"
	}
	path := filepath.Join(t.TempDir(), "letters.ndjson")
	fatal(t, os.WriteFile(path, []byte(
		letter(catalog.Contacts, 1, "["+ada+","+bob+"]")+
			letter(catalog.Contacts, 2, bob+second)+
			letter(catalog.Contacts, 3, ada+second)+
			letter(catalog.Contacts, 4, bob)+
			letter("", 5, second[:len(second)-2]+"\r"+bob)+
			letter(catalog.Accounts, 6, "["+bob+"]")+
			strings.TrimSuffix(letter(catalog.Contacts, 7, ada), "}\n"),
	), 0o600))
	w.Folders = []string{filepath.Dir(path)}
	if o := w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail}); o.DeadLetters != 5 {
		t.Errorf("%+v", o)
	}
	content, err := os.ReadFile(path)
	fatal(t, err)
	if strings.Contains(strings.ToLower(string(content)), "quillfeather") {
		t.Errorf("the person is left:\n%s", content)
	}
	left := map[int64]string{}
	for line := range strings.Lines(string(content)) {
		var l journal.DeadLetter
		fatal(t, json.Unmarshal([]byte(line), &l))
		if len(l.Problems) != 1 || l.File != "contacts.ndjson" {
			t.Errorf("%+v", l)
		}
		left[l.Line] = string(l.Record) + l.Text
	}
	for line, want := range map[int64]string{1: bob, 2: bob, 3: "", 4: bob, 5: bob, 6: "[" + bob + "]", 7: ""} {
		if left[line] != want {
			t.Errorf("of the line %d is left %q, want %q", line, left[line], want)
		}
	}
}
