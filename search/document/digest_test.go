package document_test

import (
	"bytes"
	"testing"
	"time"

	"atlas/search/catalog"
	"atlas/search/document"
)

// The digest depends on everything in the document, including the children that
// `_source` leaves out, and on nothing else.
func TestDigest(t *testing.T) {
	t.Parallel()
	const line = `{"id":"0f0c3ad5-8a3e-4c1b-9d5e-3a1f0b7c2d11","name":"Maple Ridge"}`
	digest := func(line string, children document.Children) int64 {
		t.Helper()
		r, problems := document.Parse(catalog.Accounts, []byte(line), time.Unix(0, 0))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		doc := document.Build(r, children)
		d, ok := document.Digest(doc)
		if !ok {
			t.Fatalf("no digest in %s", doc)
		}
		return d
	}
	first := digest(line, document.None{})
	if again := digest(` {"name": "Maple Ridge", "projects_count": 4, "id":"0F0C3AD5-8A3E-4C1B-9D5E-3A1F0B7C2D11"}`, document.None{}); again != first {
		t.Errorf("%d and %d of one record", first, again)
	}
	if other := digest(`{"id":"0f0c3ad5-8a3e-4c1b-9d5e-3a1f0b7c2d11","name":"Maple ridge"}`, document.None{}); other == first {
		t.Errorf("%d of another name too", other)
	}
	one := func(fragment string) family {
		return family{
			count:  map[catalog.Dataset]int64{catalog.Contacts: 1},
			newest: map[catalog.Dataset][]document.Child{catalog.Contacts: {{Fragment: []byte(fragment)}}},
		}
	}
	if a, b := digest(line, one(`{"id":"a"}`)), digest(line, one(`{"id":"b"}`)); a == b || a == first {
		t.Errorf("%d and %d with different children, %d without", a, b, first)
	}
	for _, doc := range []string{`{}`, `{"ix":{"digest":1}}`, `{"ix":{"query":[],"digest":x}}`} {
		if d, ok := document.Digest([]byte(doc)); ok {
			t.Errorf("%s has the digest %d", doc, d)
		}
	}
	r, err := document.FromPublic(catalog.Accounts, []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if held := document.BuildHeld(r, document.None{}, document.Held{}); bytes.Contains(held, []byte("digest")) {
		t.Errorf("a held document has a version instead: %s", held)
	}
}
