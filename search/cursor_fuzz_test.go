package search_test

import (
	"encoding/json"
	"testing"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/query"
)

// FuzzCursor: whatever is sent as a cursor is refused as such, or is in every
// byte what was issued for this search.
func FuzzCursor(f *testing.F) {
	c, err := search.NewCursors([]byte("a key of this year"), []byte("the key of last year"))
	if err != nil {
		f.Fatal(err)
	}
	old, err := search.NewCursors([]byte("the key of last year"))
	if err != nil {
		f.Fatal(err)
	}
	name, _ := query.FieldNamed(query.Accounts, "name")
	searches := []query.Query{
		{Dataset: query.Accounts, Base: dataBase, Sort: query.Sort{Field: name}},
		{Dataset: query.Accounts, Base: bookBase, Sort: query.Sort{Field: name}},
		{Dataset: query.Accounts, Base: viewBase, Sort: query.Sort{Field: name, Desc: true}},
		{Dataset: query.Contacts, Base: dataBase, Sort: query.ByRelevance(), Text: "x"},
	}
	for i, q := range searches {
		for _, after := range []string{`["acme",1,2]`, `[null,-9223372036854775808,9223372036854775807]`} {
			place := search.Position{After: json.RawMessage(after), Passed: 25}
			f.Add(c.Make(q, place), uint8(i))
			f.Add(old.Make(q, place), uint8(i))
			f.Add(c.Make(q, place), uint8(i+1))
		}
	}
	f.Add("", uint8(0))
	f.Add("AQ", uint8(0))
	f.Fuzz(func(t *testing.T, cursor string, which uint8) {
		q := searches[int(which)%len(searches)]
		q.After = cursor
		place, err := c.Read(q)
		switch {
		case cursor == "":
			if err != nil || place.After != nil || place.Passed != 0 {
				t.Errorf("no cursor: %+v, %v", place, err)
			}
		case err != nil:
			if fault.CodeOf(err) != fault.BadRequest || place.After != nil {
				t.Errorf("%q: %+v, %v", cursor, place, err)
			}
		case c.Make(q, place) != cursor && old.Make(q, place) != cursor:
			t.Errorf("%q is taken for %+v, whose cursor is %q", cursor, place, c.Make(q, place))
		}
	})
}
