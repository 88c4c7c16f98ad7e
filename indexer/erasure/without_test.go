package erasure

import (
	"strings"
	"testing"
	"time"

	"atlas/search/catalog"
)

// In a text with several records, those of the person are removed and the others remain.
func TestWithout(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("1:" + strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	const id = "20000000-0000-4000-8000-00000000000"
	var list []Suppression
	for kind, v := range map[Kind]Values{Email: {Email: "ada@bow.example"}, ID: {ID: id + "9"}} {
		s, err := keys.New(catalog.Contacts, kind, v)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	set, err := NewSet(keys, list)
	if err != nil {
		t.Fatal(err)
	}
	const (
		ada   = `{"id":"` + id + `1","name":"Ada","email":"Ada@bow.example"}`
		bob   = `{"id":"` + id + `2","name":"Bob","email":"bob@bow.example"}`
		cyd   = `{"id":"` + id + `3","name":"Cyd","of":{"x":[{}]}}`
		inner = `{"id":"` + id + `4","more":{"mail":"ada@bow.example"}}`
		into  = `{"id":"` + id + `5","merged_into":"` + id + `9"}`
	)
	for text, want := range map[string]string{
		"":                                  "",
		bob:                                 bob,
		ada:                                 "",
		bob + ada + cyd:                     bob + "\n" + cyd,
		"[" + ada + "," + bob + "]":         bob,
		"[" + bob + ", " + ada + ", " + cyd: bob + "\n" + cyd,
		ada + "\r" + bob + "\r" + cyd:       bob + "\n" + cyd,
		bob + inner + into + cyd:            bob + "\n" + cyd,
		// A record that ends too early, before one that does not.
		ada[:len(ada)-2] + "\r" + bob:                bob,
		bob + "\r" + ada[:len(ada)-2] + "\r\n" + cyd: bob + "\n" + cyd,
		ada[:len(ada)-1] + " " + bob:                 bob,
		bob[:len(bob)-3] + "\r" + ada + cyd:          bob[:len(bob)-3] + "\n" + cyd,
		// A broken part is removed with what may belong to it, and no further.
		`{"email":"ada@bow.example"x","name":"Ada","at":{"street":"Elm"},"more":{"id":"7"}}` + bob: bob,
		bob + `{"x":1"email":"ada@bow.example"}`:                                                   bob,
		`x","email":"ada@bow.example"}` + bob:                                                      bob,
		`"{\"email\":\"ada@bow.example\"}{\"id\":\"1\"}"`:                                          "",
		`[["` + `ada@bow.example` + `"],` + bob + `]`:                                              bob,
		`broken ` + strings.ReplaceAll(bob, "bob@", "ann@"):                                        "broken\n" + strings.ReplaceAll(bob, "bob@", "ann@"),
	} {
		rest, removed := set.Without([]catalog.Dataset{catalog.Contacts}, []byte(text))
		if string(rest) != want || removed > 0 != (strings.Contains(strings.ToLower(text), "ada") || strings.Contains(text, into)) {
			t.Errorf("%s\nhas without the person\n%s (%d removed), want\n%s", text, rest, removed, want)
		}
	}
	for part, n := range map[string]int{"{": 1 << 20, `{"a":`: 1 << 17, "{}x": 1 << 18, `{"a":{}`: 1 << 16} {
		text := strings.Repeat(part, n)
		began := time.Now()
		if set.Without([]catalog.Dataset{catalog.Contacts}, []byte(text)); time.Since(began) > 20*time.Second {
			t.Errorf("%s … takes %v", text[:10], time.Since(began))
		}
	}
}
