package reading

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/search/query"
	"atlas/search/words"
)

// sentence is a line of a table: a dataset, a text, and what is read of it.
type sentence struct {
	dataset query.Dataset
	base    query.BaseKind
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
		d, base := parts[0], query.Data
		if of, isBook := strings.CutPrefix(d, "book "); isBook {
			d, base = of, query.Book
		}
		all = append(all, sentence{query.Dataset(d), base, parts[1], ordered(parts[2])})
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
			all[key+" "+strings.Join(words.Texts(query.Fold(spelling)), " ")] = Value{spelling, 100}
		}
	}
	return all
}()

func ask(d query.Dataset, base query.BaseKind, text string) Reading {
	return Read(Question{Dataset: d, Base: base, Text: text, Today: time.Date(2026, 8, 14, 0, 0, 0, 0, time.UTC), Lookup: func(d query.Dataset, key, folded string) (Value, bool) {
		v, ok := places[key+" "+folded]
		return v, ok && (d == query.Accounts || d == query.Projects || key != "country")
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

// TestKept says how good the rules are on sentences that no rule was made for.
func TestKept(t *testing.T) {
	judge(t, sentences(t, "kept.txt"), 0.7, 0.95)
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
		t.Error(fmt.Sprintf("fewer than %.2f of them get an offer, or fewer than %.2f of these are right", recall, precision))
	}
}
