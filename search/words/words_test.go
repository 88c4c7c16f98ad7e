package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func texts(s string) string {
	var all []string
	for _, t := range Tokens(s) {
		all = append(all, t.Text)
	}
	return strings.Join(all, " ")
}

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"row-house":                "row house",
		"wade's o'neil":            "wades oneil",
		"1,440 1,44 2.5 1.000.000": "1440 1 44 2.5 1.000.000",
		"l.l.c. u.s.a":             "llc usa",
		"at&t 12\" pipe":           "at t 12 pipe",
		"東京タワー":                    "東 京 タワー",
		"กรุงเทพ":                  "ก รุ ง เ ท พ",
		"---":                      "",
		"🏗️ crane©":                "🏗️ crane",
		"info@a-b.example":         "info a b example",
		strings.Repeat("x", 300):   strings.Repeat("x", 100),
		strings.Repeat("é", 300):   strings.Repeat("é", 100),
	} {
		if got := texts(in); got != want {
			t.Errorf("Tokens(%q) = %q, want %q", in, got, want)
		}
	}
}

// Words that must remain distinct, although stemmers equate them.
func TestApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"university", "universe"}, {"general", "generator"}, {"organic", "organ"}, {"addition", "additional"},
		{"development", "developer"}, {"building", "builder"}, {"gas", "ga"}, {"news", "new"}, {"business", "busine"},
		{"glass", "glas"}, {"design", "designation"}, {"dwelling", "dwell"}, {"parking", "park"}, {"siding", "side"}, {"flooring", "floor"},
	} {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if slices.Contains(Published.Forms(p[0]), p[1]) {
				t.Errorf("%s is a form of %s", p[1], p[0])
			}
		}
	}
}

func TestForms(t *testing.T) {
	for _, pair := range [][2]string{
		{"garages", "garage"}, {"facilities", "facility"}, {"churches", "church"}, {"boxes", "box"}, {"men", "man"},
		{"38th", "38"}, {"21st", "21"}, {"three", "3"}, {"third", "3rd"}, {"center", "centre"}, {"demolish", "demolishing"},
	} {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if !slices.Contains(Published.Forms(p[0]), p[1]) {
				t.Errorf("%s is no form of %s", p[1], p[0])
			}
		}
	}
}

func (r Reading) String() string {
	var b strings.Builder
	write := func(sign string, clauses []Clause) {
		for _, c := range clauses {
			b.WriteString(sign)
			for i, choice := range c {
				if i > 0 {
					b.WriteString("|")
				}
				for j, term := range choice {
					if j > 0 {
						b.WriteString("+")
					}
					switch {
					case term.Quoted:
						b.WriteString(`"` + term.Text + `"`)
					case term.Beginning:
						b.WriteString(term.Text + "*")
					case term.Address:
						b.WriteString("<" + term.Text + ">")
					default:
						b.WriteString(term.Text)
					}
				}
			}
			b.WriteString(" ")
		}
	}
	write("", r.Must)
	write("~", r.Rank)
	write("-", r.Not)
	return strings.TrimSpace(b.String())
}

func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		"garage":                     "garage",
		`"hot tub" deck`:             `"hot tub" deck`,
		"warehouse -office":          "warehouse -office",
		`warehouse -"head office"`:   `warehouse -"head office"`,
		"gara*":                      "gara*",
		"g*":                         "g",
		"hotel OR motel calgary":     "hotel|motel calgary",
		"A OR":                       "a or",
		"OR a":                       "or a",
		"-office":                    "office",
		"- - -":                      "",
		"*":                          "",
		`12" pipe`:                   "12 pipe",
		"permit -office":             "permit -office",
		"the -garage":                "the -garage",
		"“hot tub” –office":          `"hot tub" -office`,
		"hot\u00a0tub":               "hot tub",
		"garage -\"hot tub":          "garage hot tub",
		"hotel OR & calgary":         "hotel calgary",
		"garage -row-hou*":           "garage -row hou",
		"<Ada@firm.example>,":        "<ada@firm.example>",
		"mailto:ada@firm.example":    "<ada@firm.example>",
		"ada@firm.example*":          "ada+firm+example*",
		"deck -ada@firm.example":     "deck -ada firm example",
		"ss ss garage ss":            "ss garage",
		"row-house":                  "row house",
		"-row-house deck":            "deck -row house",
		"contractors in calgary":     "contractors calgary ~in",
		"building permit":            "building permit",
		"the":                        "the",
		"ada@a.example":              "<ada@a.example>",
		`"a`:                         "a",
		`""`:                         "",
		"a* OR b* OR ca* OR da* fa*": "a|b|ca*|da* fa*",
	} {
		if got := Published.Read(in, strings.ToLower).String(); got != want {
			t.Errorf("Read(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestOptions: what matches a word of a query, and what does not.
func TestOptions(t *testing.T) {
	options := func(query string, at int) (all []string) {
		for _, o := range Published.Read(query, strings.ToLower).Must[at][0][0].Options {
			all = append(all, strings.Join(o.Words, " "))
		}
		return all
	}
	for _, c := range []struct {
		query string
		at    int
		has   string
		want  bool
	}{
		{"38 street sw", 1, "st", true}, {"8 st se", 1, "street", true}, {"8 st se", 1, "8", false}, {"8 st se", 1, "8th", false},
		{"12 3 av", 0, "123", false}, {"3 rd se", 1, "3", false}, {"row house", 0, "rowhouse", true}, {"day cares", 1, "daycare", true},
		{"tennis court", 1, "co", false}, {"tennis court", 1, "tennis co", true}, {"court", 0, "co", false},
		{"12 hills court", 2, "hills co", true}, {"north 4th street", 0, "n 4", true}, {"mahogany manor", 0, "mr", false},
		{"fitness centers", 0, "gym", true}, {"doctors offices", 0, "medical clinic", true}, {"gym", 0, "fitness center", true},
		{"roofers", 0, "roofing", true}, {"renovated", 0, "alterations", true}, {"builders", 0, "building", false},
		{"ceo", 0, "chief executive officer", true}, {"west garage", 0, "w", false}, {"hot tubs", 0, "spa", true},
		{"spa", 0, "hot tub", true}, {"homes", 0, "homeses", false}, {"three storey", 0, "3", true}, {"basement", 0, "bsmt", true},
	} {
		if got := slices.Contains(options(c.query, c.at), c.has); got != c.want {
			t.Errorf("word %d of %q is met by %q: %v", c.at, c.query, c.has, got)
		}
	}
}

// FuzzRead: no text is an error, and readings are within their bounds.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`"hot tub" -office gara* OR b`, "--a", `-"`, `"" OR ""`, "a OR -b OR c", "row house 38th st", "@",
		"a@b -a@b \"a@b\" a@b*", "\xff", "O'Neil",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 2_000 {
			return
		}
		r := Published.Read(s, strings.ToLower)
		if len(Tokens(strings.ToLower(s))) > 0 && len(r.Must) == 0 {
			t.Fatalf("%q asks for nothing: %s", s, r)
		}
		beginnings, options := 0, 0
		for _, c := range slices.Concat(r.Must, r.Rank, r.Not) {
			for _, choice := range c {
				for _, term := range choice {
					if term.Beginning {
						beginnings++
					}
					options += len(term.Options)
				}
			}
		}
		if beginnings > MaxBeginnings || options > 64*60+2_000 {
			t.Fatalf("%q has %d beginnings and %d options", s, beginnings, options)
		}
	})
}

// TestExtend: an operator's groups add synonyms to the published ones, and change the
// version.
func TestExtend(t *testing.T) {
	t.Parallel()
	own, err := Extend("# ours\nHangar, aircraft shed\n", strings.ToLower)
	if err != nil || own.Version == Published.Version {
		t.Fatal(own, err)
	}
	var options []string
	for _, o := range own.Read("hangars", strings.ToLower).Must[0][0][0].Options {
		options = append(options, strings.Join(o.Words, " "))
	}
	if !slices.Contains(options, "aircraft shed") || !slices.Contains(options, "hangar") {
		t.Error(options)
	}
	if len(own.Read("garage", strings.ToLower).Must[0][0][0].Options) != len(Published.Read("garage", strings.ToLower).Must[0][0][0].Options) {
		t.Error("a word of no group of its own has other options")
	}
	for bad, want := range map[string]string{
		"one": "2 to 50", "a, ,b": "line 1", "a b c d e f g, h": "6 words", strings.Repeat("x", MaxTable+1): "bytes",
		strings.Repeat("a, b\n", maxGroups+1): "groups",
		"a" + strings.Repeat(", b", maxTerms): "2 to 50",
	} {
		if _, err := Extend(bad, strings.ToLower); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", bad, err, want)
		}
	}
}
