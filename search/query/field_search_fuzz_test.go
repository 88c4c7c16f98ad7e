package query

import (
	"testing"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
)

// FuzzFieldSearch: a field search is refused with its issues, or finds each key
// once: among the descriptors or among what was not found.
func FuzzFieldSearch(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"dataset":"accounts","kind":"enum"}`, `{"keys":["name","name","x"]}`, `{"keys":[]}`,
		`{"query":"","kind":"none","keys":[1]}`,
	} {
		f.Add([]byte(body))
	}
	all := catalog.Descriptors(nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		v, issues := input.Decode(body)
		if len(issues) > 0 {
			return
		}
		s, err := FieldSearchRule.Parse(v)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidInput {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		found, missing := s.Select(all)
		keys := map[string]bool{}
		for _, d := range found {
			keys[d.Key] = true
		}
		if s.Keys != nil && len(keys)+len(missing) != len(s.Keys) {
			t.Errorf("%q: %d found, %d not, of %d", body, len(keys), len(missing), len(s.Keys))
		}
	})
}

// FuzzTerms: folding does not make more terms than characters.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "Łódź", "a b", "か\u200b", "\U0001F600", "５ｍ²"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := catalog.Fold(s)
		if n := countTerms(once); utf8.ValidString(s) && (n < 0 || n > utf8.RuneCountInString(once)) {
			t.Errorf("%+q has %d terms", once, n)
		}
	})
}
