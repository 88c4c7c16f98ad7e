package search_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// refused fails unless reading a cursor is a BadRequest.
func refused(t reporter, c *search.Cursors, q query.Query, cursor, what string) {
	t.Helper()
	q.After = cursor
	if position, err := c.Read(q); fault.CodeOf(err) != fault.BadRequest || position.After != nil {
		t.Errorf("%s is read as %s, %v", what, position.After, err)
	}
}

// drawQuery draws a search of any base, dataset and sort.
func drawQuery(t *rapid.T) query.Query {
	base := rapid.SampledFrom([]query.Base{dataBase, bookBase, viewBase}).Draw(t, "base")
	datasets := catalog.Held
	if base.Kind == catalog.Data {
		datasets = catalog.Datasets
	}
	d := rapid.SampledFrom(datasets).Draw(t, "dataset")
	q := query.Query{Dataset: d, Base: base, Limit: 25, Text: rapid.String().Draw(t, "text")}
	q.Sort = query.Sort{Field: rapid.SampledFrom(catalog.SortFields(d, base.Kind)).Draw(t, "sort"), Desc: rapid.Bool().Draw(t, "desc")}
	if base.Kind == catalog.Data && rapid.Bool().Draw(t, "relevance") {
		q.Sort = query.ByRelevance()
	}
	return q
}

func drawPosition(t *rapid.T) search.Position {
	first := rapid.SampledFrom([]string{
		`9223372036854775807`, `-9223372036854775808`, `"Infinity"`, `"-Infinity"`, `null`, `1.4142135`,
		`"a \"name\" – Łódź"`, `1700000000000`,
	}).Draw(t, "value")
	return search.Position{
		After:  json.RawMessage(`[` + first + `,-9223372036854775808,7]`),
		Passed: rapid.IntRange(0, 1<<40).Draw(t, "passed"),
	}
}

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	c := newCursors(t)
	rapid.Check(t, func(t *rapid.T) {
		q, position := drawQuery(t), drawPosition(t)
		cursor := c.Make(q, position)
		if strings.Trim(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("not URL-safe: %q", cursor)
		}
		q.After = cursor
		// Filters, limit and offset may change under a cursor.
		q.Limit, q.Offset, q.Where = 7, 0, query.All{query.Any{}}
		got, err := c.Read(q)
		if err != nil || string(got.After) != string(position.After) || got.Passed != position.Passed {
			t.Fatalf("read %v, %v; want %v", got, err, position)
		}
	})
}

func TestChangedCursors(t *testing.T) {
	t.Parallel()
	c := newCursors(t)
	// Every bit and every length of one cursor, and some of drawn cursors.
	q := parse(t, catalog.Accounts, dataBase, `{}`)
	cursor := c.Make(q, search.Position{After: json.RawMessage(`["acme",1,2]`), Passed: 300})
	for i := range len(cursor) * 8 {
		flipBits(t, c, q, cursor, i)
	}
	for i := 1; i < len(cursor); i++ {
		refused(t, c, q, cursor[:i], "a cut cursor")
		refused(t, c, q, cursor[i:], "a cursor cut in front")
	}
	for i := range len(cursor) + 1 {
		for _, extra := range []string{"\n", "\r", "\r\n", " ", "=", "==", "A", "\x00"} {
			refused(t, c, q, cursor[:i]+extra+cursor[i:], "a longer cursor")
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuery(t)
		cursor := c.Make(q, drawPosition(t))
		flipBits(t, c, q, cursor, rapid.IntRange(0, len(cursor)*8-1).Draw(t, "bit"))
		refused(t, c, q, cursor[:rapid.IntRange(1, len(cursor)-1).Draw(t, "length")], "a cut cursor")
	})
}

// reporter is the common part of *testing.T and *rapid.T.
type reporter interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
}

// flipBits flips a bit of a cursor's text and, if it has as many, of its decoded
// bytes: different texts could decode to the same bytes.
func flipBits(t reporter, c *search.Cursors, q query.Query, cursor string, bit int) {
	t.Helper()
	text := []byte(cursor)
	text[bit/8] ^= 1 << (bit % 8)
	refused(t, c, q, string(text), "a flipped bit of the text")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	if bit < len(raw)*8 {
		raw[bit/8] ^= 1 << (bit % 8)
		refused(t, c, q, base64.RawURLEncoding.EncodeToString(raw), "a flipped bit")
	}
}

func TestForeignCursors(t *testing.T) {
	t.Parallel()
	c := newCursors(t)
	rapid.Check(t, func(t *rapid.T) {
		q, other := drawQuery(t), drawQuery(t)
		cursor := c.Make(q, drawPosition(t))
		same := q.Dataset == other.Dataset && q.Base == other.Base && q.Sort.String() == other.Sort.String() &&
			(!q.Sort.Relevance() || q.Text == other.Text)
		if !same {
			refused(t, c, other, cursor, "another search's cursor")
		}
	})
	values := search.Position{After: json.RawMessage(`[1,2,3]`), Passed: 25}
	name, _ := catalog.FieldNamed(catalog.Accounts, "name")
	home := query.Query{Dataset: catalog.Accounts, Base: viewBase, Sort: query.Sort{Field: name}, Text: "x"}
	for what, change := range map[string]func(*query.Query){
		"of another dataset":   func(q *query.Query) { q.Dataset = catalog.Contacts },
		"of another order":     func(q *query.Query) { q.Sort.Desc = true },
		"of another sort":      func(q *query.Query) { q.Sort.Field, _ = catalog.FieldNamed(catalog.Accounts, "created_at") },
		"of another base":      func(q *query.Query) { q.Base.Kind = catalog.Book },
		"of another workspace": func(q *query.Query) { q.Base.Workspace = someID },
		"of another View":      func(q *query.Query) { q.Base.View = someID },
		"of no View":           func(q *query.Query) { q.Base.View = "" },
		"of shifted parts":     func(q *query.Query) { q.Base.Workspace, q.Base.View = someWorkspace+someView, "" },
		"of relevance":         func(q *query.Query) { q.Sort = query.ByRelevance() },
	} {
		other := home
		change(&other)
		refused(t, c, other, c.Make(home, values), "a cursor used "+what)
		refused(t, c, home, c.Make(other, values), "a cursor "+what)
	}
	// Only relevance cursors are bound to the text.
	home.After = c.Make(home, values)
	home.Text = "y"
	if _, err := c.Read(home); err != nil {
		t.Errorf("another text under a field sort: %v", err)
	}
	relevant := query.Query{Dataset: catalog.Accounts, Base: dataBase, Sort: query.ByRelevance(), Text: "x"}
	cursor := c.Make(relevant, values)
	relevant.Text = "y"
	refused(t, c, relevant, cursor, "another text's relevance cursor")
	// The updated_at of the overlay is not the one of the record.
	updated, _ := catalog.FieldNamed(catalog.Accounts, "updated_at")
	record := query.Query{Dataset: catalog.Accounts, Base: bookBase, Sort: query.Sort{Field: updated}}
	overlay := record
	overlay.Sort.Field.Overlay = true
	refused(t, c, overlay, c.Make(record, values), "the record's updated_at")
}

func TestInventedCursors(t *testing.T) {
	t.Parallel()
	c := newCursors(t)
	for _, cursor := range []string{
		"-", "x", "null", "AQ", "AA==", "%00", "é", strings.Repeat("A", 44), strings.Repeat("A", 1000), "\n", " ", "[1,2]",
	} {
		refused(t, c, parse(t, catalog.Accounts, dataBase, `{}`), cursor, "an invented cursor")
	}
	// An empty cursor is not the first page.
	q := parse(t, catalog.Accounts, dataBase, `{"search_after":""}`)
	refused(t, c, q, q.After, "an empty cursor")
	for _, body := range []string{`{}`, `{"search_after":null}`} {
		if position, err := c.Read(parse(t, catalog.Accounts, dataBase, body)); position.After != nil || position.Passed != 0 || err != nil {
			t.Errorf("%s: %v, %v", body, position, err)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	oldKey, newKey := []byte("the key of last year"), []byte("the key of this year")
	newCursors := func(keys ...[]byte) *search.Cursors {
		c, err := search.NewCursors(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before, during, after := newCursors(oldKey), newCursors(newKey, oldKey), newCursors(newKey)
	q, values := parse(t, catalog.Accounts, dataBase, `{}`), search.Position{After: json.RawMessage(`["x",1,2]`)}
	old, fresh := before.Make(q, values), during.Make(q, values)
	if old == fresh {
		t.Error("both keys sign the same")
	}
	for _, cursor := range []string{old, fresh} {
		q.After = cursor
		if got, err := during.Read(q); err != nil || string(got.After) != string(values.After) {
			t.Errorf("while both are accepted: %v, %v", got, err)
		}
	}
	if _, err := after.Read(q); err != nil {
		t.Errorf("the new key's cursor, later: %v", err)
	}
	refused(t, after, q, old, "the old key's cursor")
	refused(t, before, q, fresh, "the new key's cursor")
	for _, keys := range [][][]byte{{}, {nil}, {[]byte("too short")}, {newKey, []byte("too short")}} {
		if _, err := search.NewCursors(keys...); err == nil {
			t.Errorf("keys %q are taken", keys)
		}
	}
}

// Clients store cursors for days: issued ones remain valid.
func TestIssuedCursors(t *testing.T) {
	t.Parallel()
	c := newCursors(t)
	for _, issued := range []struct {
		base         query.Base
		body, cursor string
	}{
		{dataBase, `{"sort":{"field":"updated_at","order":"asc"}}`, "AjJeYF9Ku4Jlvhamh4tOOcgKF2rFVd-MKDxJZNHIpQyWrAJbImFjbWUiLDEsMl0"},
		{bookBase, `{"sort":{"field":"updated_at","order":"desc"}}`, "AuVDg5fcE8w8qU2zX_L7JGdBUF5i0LMPrGKL6URfC-IjrAJbImFjbWUiLDEsMl0"},
		{dataBase, `{"query":"acme","words":"exact"}`, "AiXIuB13GFT0k8cRl7t6ZWOBrdngHjc56O0UlTXKiVgLrAJbImFjbWUiLDEsMl0"},
	} {
		q := parse(t, catalog.Accounts, issued.base, issued.body)
		if got := c.Make(q, search.Position{
			After: json.RawMessage(`["acme",1,2]`), Passed: 300, Folding: catalog.CaseFolding,
		}); got != issued.cursor {
			t.Errorf("%s: %s, want %s", issued.body, got, issued.cursor)
		}
	}
}
