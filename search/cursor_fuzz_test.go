package search_test

import (
	"encoding/json"
	"testing"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// FuzzCursor checks that Read refuses every text that is not exactly a cursor that
// was issued for this search.
func FuzzCursor(f *testing.F) {
	c, err := search.NewCursors([]byte("a key of this year"), []byte("the key of last year"))
	if err != nil {
		f.Fatal(err)
	}
	old, err := search.NewCursors([]byte("the key of last year"))
	if err != nil {
		f.Fatal(err)
	}
	name, _ := catalog.FieldNamed(catalog.Accounts, "name")
	searches := []query.Query{
		{Dataset: catalog.Accounts, Base: dataBase, Sort: query.Sort{Field: name}},
		{Dataset: catalog.Accounts, Base: bookBase, Sort: query.Sort{Field: name}},
		{Dataset: catalog.Accounts, Base: viewBase, Sort: query.Sort{Field: name, Desc: true}},
		{Dataset: catalog.Contacts, Base: dataBase, Sort: query.ByRelevance(), Text: "x"},
	}
	for i, q := range searches {
		for _, after := range []string{`["acme",1,2]`, `[null,-9223372036854775808,9223372036854775807]`} {
			position := search.Position{After: json.RawMessage(after), Passed: 25}
			f.Add(c.Make(q, position), uint8(i))
			f.Add(old.Make(q, position), uint8(i))
			f.Add(c.Make(q, position), uint8(i+1))
		}
	}
	f.Add("", uint8(0))
	f.Add("AQ", uint8(0))
	f.Fuzz(func(t *testing.T, cursor string, which uint8) {
		q := searches[int(which)%len(searches)]
		q.After = cursor
		position, err := c.Read(q)
		switch {
		case cursor == "":
			if err != nil || position.After != nil || position.Passed != 0 {
				t.Errorf("no cursor: %+v, %v", position, err)
			}
		case err != nil:
			if fault.CodeOf(err) != fault.BadRequest || position.After != nil {
				t.Errorf("%q: %+v, %v", cursor, position, err)
			}
		case c.Make(q, position) != cursor && old.Make(q, position) != cursor:
			t.Errorf("%q is taken for %+v, whose cursor is %q", cursor, position, c.Make(q, position))
		}
	})
}
