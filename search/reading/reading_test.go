package reading

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/words"
)

// sentence is a line of a table: a dataset, a text, and its reading.
type sentence struct {
	dataset catalog.Dataset
	base    catalog.BaseKind
	text    string
	want    string // "" is nothing
}

func sentences(t *testing.T, file string) []sentence {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sentence
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			if !strings.HasPrefix(line, "#") {
				t.Fatalf("%s: %q", file, line)
			}
			continue
		}
		d, base := parts[0], catalog.Data
		if of, isBook := strings.CutPrefix(d, "book "); isBook {
			d, base = of, catalog.Book
		}
		all = append(all, sentence{catalog.Dataset(d), base, parts[1], ordered(parts[2])})
	}
	return all
}

// ordered has the conditions of a line in the order of their texts; the text left comes last.
func ordered(text string) string {
	if text == "-" {
		return ""
	}
	conditions, left, has := strings.Cut(text, "q=")
	var parts []string
	for _, word := range strings.Fields(conditions) {
		if strings.Contains(word, "=") {
			parts = append(parts, word)
		} else {
			parts[len(parts)-1] += " " + word // City=Fort Worth
		}
	}
	slices.Sort(parts)
	if has {
		parts = append(parts, "q="+left)
	}
	return strings.Join(parts, " ")
}

func shown(r Reading) string {
	var parts []string
	for _, c := range r.Conditions {
		key, value := c.Field.Key, strings.Join(c.Values, ",")
		if c.Relation != "" {
			key = c.Relation + "." + key
		}
		if c.Values == nil && c.From == c.To {
			value = c.From
		} else if c.Values == nil {
			value = c.From + ".." + c.To
		}
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	if len(parts) > 0 && r.Query != "" {
		parts = append(parts, "q="+r.Query)
	}
	return strings.Join(parts, " ")
}

var places = func() map[string]Value {
	all := map[string]Value{}
	for key, list := range map[string]string{
		"city":    "Calgary,Edmonton,Red Deer,Airdrie,Vancouver,Victoria,Toronto,St. John's,Austin,Dallas,Houston,San Antonio,Fort Worth,Seattle,Chicago,New York,Charlotte,Madison,Phoenix,Denver,Portland,Orange,Mobile,Reading,Jackson,Washington",
		"state":   "AB,BC,ON,NL,TX,WA,IL,NY,NC,WI,AZ,CO,OR,CA,AL,PA,MS,DC",
		"country": "CA,US",
	} {
		for _, spelling := range strings.Split(list, ",") {
			all[key+" "+strings.Join(words.Texts(catalog.Fold(spelling)), " ")] = Value{spelling, 100}
		}
	}
	return all
}()

func ask(d catalog.Dataset, base catalog.BaseKind, text string) Reading {
	return Read(Question{Dataset: d, Base: base, Text: text, Today: time.Date(
		2026, 8, 14, 0, 0, 0, 0, time.UTC,
	), Lookup: func(d catalog.Dataset, key, folded string) (Value, bool) {
		v, ok := places[key+" "+folded]
		return v, ok && (d == catalog.Accounts || d == catalog.Projects || key != "country")
	}})
}

// Every sentence that the rules were made for is read as the table has it.
func TestSentences(t *testing.T) {
	for _, s := range sentences(t, "sentences.txt") {
		if got := shown(ask(s.dataset, s.base, s.text)); got != s.want {
			t.Errorf("%s: %q\n   got  %s\n   want %s", s.dataset, s.text, got, s.want)
		}
	}
}

// TestHeldOutSentences says how good the rules are on sentences that no rule was made for.
func TestHeldOutSentences(t *testing.T) {
	judge(t, sentences(t, "held_out.txt"), 0.7, 0.95)
}

func judge(t *testing.T, all []sentence, recall, precision float64) {
	t.Helper()
	var withReading, offered, right, good int
	for _, s := range all {
		got := shown(ask(s.dataset, s.base, s.text))
		if s.want != "" {
			withReading++
		}
		if got != "" {
			offered++
			if s.want != "" {
				good++
			}
			if got == s.want {
				right++
			}
		}
		if got != s.want {
			t.Logf("%s: %q\n   got  %s\n   want %s", s.dataset, s.text, got, s.want)
		}
	}
	t.Logf("%d sentences, %d with a reading: %d get an offer; %d of %d offers are right", len(all), withReading, good, right, offered)
	if float64(good) < recall*float64(withReading) || float64(right) < precision*float64(offered) {
		t.Errorf("fewer than %.2f of them get an offer, or fewer than %.2f of these are right", recall, precision)
	}
}

// A reading is a request that searches accept, its spans are words of the text in their
// order, and the remaining words are words of it too.
func check(t *testing.T, d catalog.Dataset, base catalog.BaseKind, text string) {
	t.Helper()
	r := ask(d, base, text)
	runes := []rune(text)
	for _, c := range r.Conditions {
		for _, s := range c.Spans {
			if s.From < 0 || s.From >= s.To || s.To > len(runes) {
				t.Errorf("%q: %s is at %v", text, c, s)
			}
		}
	}
	if len(r.Conditions) == 0 {
		if r.Query != text || r.String() != "" {
			t.Errorf("%q is left as %q", text, r.Query)
		}
		return
	}
	for _, word := range words.Texts(r.Query) {
		if !slices.Contains(words.Texts(text), word) {
			t.Errorf("%q: %q is no word of it", text, word)
		}
	}
	filters, relations := r.Request()
	body, err := json.Marshal(map[string]any{"filters": filters, "relations": relations})
	if err != nil {
		t.Fatal(err)
	}
	value, issues := input.Decode(body)
	if _, err = query.Parse(value, d, query.Base{Kind: base}); err != nil || issues != nil {
		t.Errorf("%q: %s: %v, %v", text, body, issues, err)
	}
}

func TestRequests(t *testing.T) {
	for _, s := range slices.Concat(sentences(t, "sentences.txt"), sentences(t, "held_out.txt")) {
		for _, d := range catalog.Datasets {
			check(t, d, catalog.Data, s.text)
			if d != catalog.Signals {
				check(t, d, catalog.Book, s.text)
			}
			check(t, d, catalog.Data, strings.ToUpper(s.text))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"multifamily calgary over 1m", "\"é\" -x* 1-5m q1 2026", "filed from feb 31 to 2026-02-31", "🏗️ in on at 1 to",
		"under $ 3 m+ units", "last 5000 years since may 99",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 500 {
			return
		}
		for _, d := range catalog.Datasets {
			check(t, d, catalog.Data, text)
		}
	})
}

// A condition says where in the text it stands, in code points.
func TestSpans(t *testing.T) {
	text := "Café multifamily, Calgary over $1.5M"
	for _, c := range ask(catalog.Projects, catalog.Data, text).Conditions {
		var said []string
		for _, s := range c.Spans {
			said = append(said, string([]rune(text)[s.From:s.To]))
		}
		want := map[string]string{"primary_use": "multifamily", "city": "Calgary", "cost": "over $1.5M"}[c.Field.Key]
		if got := strings.Join(said, "|"); got != want {
			t.Errorf("%s is at %q, want %q", c, got, want)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"multifamily under construction calgary over 1m": "Use is Multifamily, Stage is Under construction, City is Calgary, Cost at least 1,000,000, Disposition is Active",
		"approved or permitted, 10 to 20 units":          "Stage is Approved or Permitted, Homes 10 to 20",
		"filed since june, up to 3 stories":              "Permit filed from Jun 1, 2026 on, Stories at most 3",
		"completed before 2025":                          "Completed until Dec 31, 2024",
	} {
		if got := ask(catalog.Projects, catalog.Data, text).String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got, want := ask(
		catalog.Accounts, catalog.Data, "architects with office projects in austin",
	).String(), "Kind of firm is Architect, one project where Use is Office and City is Austin"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every term is of a field with the value, and every field has a name.
func TestTerms(t *testing.T) {
	for text, all := range terms {
		for _, m := range all {
			for _, v := range m.values {
				known := false
				for _, d := range catalog.Datasets {
					f, there := fieldOf(d, catalog.Book, m.key)
					known = known || there && f.Vocabulary.Has(v)
				}
				if !known {
					t.Errorf("%s: %s has no value %s", text, m.key, v)
				}
			}
			_ = label(m.key)
		}
	}
	for _, of := range happenings {
		for _, h := range of {
			if h.key != "" {
				_ = label(h.key)
			}
		}
	}
	for _, key := range unitKeys {
		_ = label(key)
	}
}
