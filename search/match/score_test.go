package match

import (
	"math"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
)

// What an input and a record say of each other, beyond names.
func TestCompare(t *testing.T) {
	t.Parallel()
	trico := Record{
		ID: "1", Name: "TRICO HOMES", Domains: []string{"www.trico.example", "tricohomes.ca"},
		Phone: "+1 (403) 555-0100", City: "Calgary", State: "AB",
	}
	plain := Record{ID: "2", Name: "TRICO HOMES", City: "Calgary", State: "AB"}
	person := Record{ID: "3", Name: "Jane Doe", Email: "Jane.Doe@trico.example", City: "Calgary"}
	for _, c := range []struct {
		why      string
		in       query.MatchInput
		of       Record
		verdicts string // of each member that is given
		matches  bool
	}{
		{"another domain", query.MatchInput{Name: "Trico Homes", Domain: "other.example"}, trico, "name equal, domain conflict", false},
		{
			"another domain, all else equal",
			query.MatchInput{Name: "Trico Homes", Domain: "other.example", Phone: "403 555 0100", City: "Calgary", State: "AB"},
			trico, "name equal, domain conflict, phone equal, city equal, state equal", false,
		},
		{"its second domain", query.MatchInput{Domain: "https://www.tricohomes.ca/"}, trico, "domain equal", true},
		{"a host of its domain", query.MatchInput{Name: "Trico Homes", Domain: "shop.tricohomes.ca"}, trico, "name equal, domain similar", true},
		{"an address elsewhere", query.MatchInput{Name: "Trico Homes", Email: "jane@other.example"}, trico, "name equal, email conflict", false},
		{
			"its domain, and an address elsewhere",
			query.MatchInput{Domain: "tricohomes.ca", Email: "jane@other.example"}, trico,
			"domain equal, email conflict", false,
		},
		{"a public domain", query.MatchInput{Name: "Trico Homes", Domain: "facebook.com/trico"}, trico, "name equal, domain missing", true},
		{"a public address", query.MatchInput{Name: "Trico Homes", Email: "trico@gmail.com"}, trico, "name equal, email missing", true},
		{"no domain there", query.MatchInput{Name: "Trico Homes", Domain: "other.example"}, plain, "name equal, domain missing", true},
		// What lists have in a column of domains where there is none says nothing.
		{"n/a", query.MatchInput{Name: "Trico Homes", Domain: "n/a"}, trico, "name equal, domain missing", true},
		{"none", query.MatchInput{Name: "Trico Homes", Domain: "None"}, trico, "name equal, domain missing", true},
		{"a dash", query.MatchInput{Name: "Trico Homes", Domain: "-"}, trico, "name equal, domain missing", true},
		{"a sentence", query.MatchInput{Name: "Trico Homes", Domain: "no website. ask"}, trico, "name equal, domain missing", true},
		{"two domains", query.MatchInput{Name: "Trico Homes", Domain: "other.example; trico.example"}, trico, "name equal, domain missing", true},
		{"no address", query.MatchInput{Name: "Trico Homes", Email: "none@n/a"}, trico, "name equal, email missing", true},
		{
			"an address of another person", query.MatchInput{Name: "Jane Doe", Email: "jane@other.example"}, person,
			"name equal, email conflict", false,
		},
		{
			"another domain of a person", query.MatchInput{Name: "Jane Doe", Domain: "other.example", City: "Calgary"},
			person, "name equal, domain conflict, city equal", false,
		},
		{"a person's address", query.MatchInput{Email: "JANE.doe@TRICO.example"}, person, "email equal", true},
	} {
		d := catalog.Accounts
		if c.of.Email != "" {
			d = catalog.Contacts
		}
		confidence, reasons := New(d, c.in).Compare(c.of)
		var verdicts []string
		for _, r := range reasons {
			verdicts = append(verdicts, r.Field+" "+string(r.Verdict))
		}
		if got := strings.Join(verdicts, ", "); got != c.verdicts || (confidence >= query.DefaultMinConfidence) != c.matches {
			t.Errorf("%s: %.3f, %s, want %s", c.why, confidence, got, c.verdicts)
		}
		for _, least := range []float64{0, 0.5, 0.8, 0.99, 1} {
			for _, found := range New(d, c.in).Decide([]Record{c.of}, least, 5).Candidates {
				if found.Confidence < least || strings.Contains(c.verdicts, "domain conflict") {
					t.Errorf("%s: %.3f is returned for %v", c.why, found.Confidence, least)
				}
			}
		}
	}
}

// Texts that no list should have compare without a panic, in both directions, and with a
// confidence that is one.
func TestStrangeTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", " ", "a", "🏗️🏠", "🏗️ Homes 🏠", "شركة تريكو للمنازل", "בית טריקו", "\u202eTRICO\u202c HOMES", "建築 株式会社", "ﷺ",
		"e\u0301e\u0301", "\u200b\u200d", "--- ()/&+",
		strings.Repeat("x", 10_000), strings.Repeat("Trico Homes ", 1_000), strings.Repeat("🏠", 3_000),
		strings.Repeat("a o/a ", 500), "o/a", "o/a o/a", "Inc. Ltd.", "1824457", "\xff\xfe", "a\x00b", "İstanbul ıŞ",
		"ǅ ﬁ Å",
	}
	for _, d := range query.Matched {
		for _, a := range texts {
			for _, b := range texts {
				in := query.MatchInput{Name: a, Domain: a, Email: a + "@" + a, Phone: a, City: a, State: a}
				s := New(d, in)
				confidence, reasons := s.Compare(
					Record{ID: "1", Name: b, Domains: []string{b, a}, Email: b + "@" + b, Phone: b, City: b, State: b},
				)
				if math.IsNaN(confidence) || confidence < 0 || confidence > 1 {
					t.Errorf("%.40q, %.40q: %v", a, b, confidence)
				}
				for _, r := range reasons {
					if math.IsNaN(r.Score) || r.Score < 0 || r.Score > 1 {
						t.Errorf("%.40q, %.40q: %+v", a, b, r)
					}
				}
				s.Blocks(catalog.NewestFolding)
				KeysOf(d, Record{Name: b, Domains: []string{b}, Email: b, Phone: b, City: b})
			}
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		d    catalog.Dataset
		a, b Record
		same bool
	}{
		{"another city", catalog.Accounts, Record{Name: "Summit Homes", City: "Calgary"}, Record{Name: "Summit Homes", City: "Red Deer"}, false},
		{
			"another city, one phone", catalog.Accounts,
			Record{Name: "Summit Homes", City: "Calgary", Phone: "403 555 0100"},
			Record{Name: "Summit Homes", City: "Red Deer", Phone: "403 555 0100"}, true,
		},
		{"legal forms", catalog.Accounts, Record{Name: "Trico Homes Inc."}, Record{Name: "TRICO HOMES"}, true},
		{"a typo", catalog.Accounts, Record{Name: "Mattamy Homes", City: "Calgary"}, Record{Name: "Matamy Homes", City: "Calgary"}, true},
		{"order and spaces", catalog.Accounts, Record{Name: "West Can Construction"}, Record{Name: "Westcan Const."}, true},
		{"another trade", catalog.Accounts, Record{Name: "Elegant Homes"}, Record{Name: "Elegant Roofing"}, false},
		{
			"another domain", catalog.Accounts, Record{Name: "Trico Homes", Domains: []string{"a.example"}},
			Record{Name: "Trico Homes", Domains: []string{"b.example"}}, false,
		},
		{
			"one domain of several", catalog.Accounts, Record{Name: "Trico", Domains: []string{"a.example", "b.example"}},
			Record{Name: "Trico Homes", Domains: []string{"c.example", "www.b.example"}}, true,
		},
		{"an address", catalog.Contacts, Record{Name: "Jane Doe", Email: "jane@a.example"},
			Record{Name: "J. Doe", Email: "Jane@A.example"}, true},
		{"namesakes", catalog.Contacts, Record{Name: "Jane Doe"}, Record{Name: "Jane Doe"}, false},
		{
			"namesakes in two firms", catalog.Contacts,
			Record{Name: "Jane Doe", City: "Calgary", Email: "jane@a.example"},
			Record{Name: "Jane Doe", City: "Calgary", Email: "jane@b.example"}, false,
		},
	} {
		for _, pair := range [][2]Record{{c.a, c.b}, {c.b, c.a}} {
			if confidence, reasons := Same(c.d, pair[0], pair[1], 0); (confidence >= 0.9) != c.same {
				t.Errorf("%s: %.3f %v", c.why, confidence, reasons)
			}
		}
		if !c.same {
			continue
		}
		shared := false
		for _, a := range KeysOf(c.d, c.a).Keys {
			for _, b := range KeysOf(c.d, c.b).Keys {
				shared = shared || a.Text == b.Text
			}
		}
		if !shared {
			t.Errorf("%s: no key in common", c.why)
		}
	}
}

// The more records have a name, the less it says, unless something else agrees.
func TestSameNameOfMany(t *testing.T) {
	t.Parallel()
	a, b := Record{Name: "Summit Homes", City: "Calgary"}, Record{Name: "SUMMIT HOMES INC.", City: "Calgary"}
	confidence := func(a, b Record, sharing int) float64 {
		c, _ := Same(catalog.Accounts, a, b, sharing)
		return c
	}
	if two, few, many := confidence(a, b, PairOf), confidence(a, b, 10), confidence(a, b, 100); two != confidence(a, b, 0) ||
		two <= few || few <= many || two < 0.95 || many > 0.9 {
		t.Errorf("shared by two %.3f, ten %.3f, a hundred %.3f", two, few, many)
	}
	other := Record{Name: "Summit Hoems", City: "Calgary"}
	if confidence(a, other, 100) != confidence(a, other, 0) {
		t.Error("the number is that of the equal name")
	}
	a.Phone, b.Phone = "403 555 0100", "403 555 0100"
	if confidence(a, b, 100) != confidence(a, b, 0) {
		t.Error("the phone number agrees")
	}
}
