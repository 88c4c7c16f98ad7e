package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

type matchAnswer struct {
	Results []struct {
		Ref, Status string
		Candidates  []struct {
			Record     map[string]any
			Confidence float64
			Reasons    []struct {
				Field, Verdict string
				Score          float64
			}
		}
	}
}

// String is each result as "ref status id:verdicts", with a letter for a verdict.
func (m matchAnswer) String() string {
	var all []string
	for _, r := range m.Results {
		s := r.Ref + " " + r.Status
		for _, c := range r.Candidates {
			s += fmt.Sprint(" ", c.Record["name"], ":")
			for _, reason := range c.Reasons {
				s += " " + reason.Field + " " + reason.Verdict
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

func TestMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 1_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	data := searchtest.NewWorld()
	for i, values := range []string{
		`"name":"TRICO HOMES","domains":["www.Trico.example"],"phone":"+1 (403) 555-0100","city":"Calgary","state":"AB"`,
		`"name":"TRICO ROOFING","city":"Calgary","state":"AB"`,
		`"name":"ELITE HOMES","city":"Calgary"`,
		`"name":"ELITE HOMES","city":"Edmonton"`,
	} {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,%s}`, searchtest.ID("a", i+1), values)))
	}
	for i, values := range []string{
		`"name":"Jane Doe","email":"Jane.Doe@trico.example","city":"Calgary"`,
		`"name":"John Doe","email":"john@gmail.com","phone":"403 555 0199"`,
	} {
		data.Add(searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,%s}`, searchtest.ID("c", i+1), values)))
	}
	w.load(t, data)
	for _, c := range []struct {
		path, inputs, more string
		credits            int
		want               string
	}{
		{"accounts", `{"ref":"1","name":"Trico Homes Inc."}`, "", 1, "1 matched TRICO HOMES: name equal"},
		{"accounts", `{"ref":"1","name":"Tirco Homes","city":"calgary"},{"ref":"1","name":"Trico Homes","domain":"https://other.example/x"}`, "", 1,
			"1 matched TRICO HOMES: name similar city equal\n1 no_match"},
		{"accounts", `{"ref":"same","domain":"trico.example"},{"ref":"same","domain":"trico.example"}`, "", 2,
			"same matched TRICO HOMES: domain equal\nsame matched TRICO HOMES: domain equal"},
		{"accounts", `{"ref":"mail","email":"sales@trico.example"},{"ref":"public","email":"trico@gmail.com"},{"ref":"phone","phone":"1-403-555-0100 x12"}`, "", 2,
			"mail matched TRICO HOMES: email equal\npublic no_match\nphone matched TRICO HOMES: phone equal"},
		{"accounts", `{"ref":"two","name":"Elite Homes"}`, "", 1, "two ambiguous ELITE HOMES: name equal"},
		{"accounts", `{"ref":"two","name":"Elite Homes"}`, `,"candidates":5`, 2, "two ambiguous ELITE HOMES: name equal ELITE HOMES: name equal"},
		{"accounts", `{"ref":"-","name":"--- ()"},{"ref":"none","name":"Bow Valley Plumbing"}`, "", 0, "- no_match\nnone no_match"},
		{"contacts", `{"ref":"1","email":"JANE.doe@trico.example"}`, "", 1, "1 matched Jane Doe: email equal"},
		{"contacts", `{"ref":"1","name":"Jane Doe"}`, "", 0, "1 no_match"},
		{"contacts", `{"ref":"1","name":"Doe, Jane","domain":"trico.example"},{"ref":"2","name":"J. Doe","phone":"(403)555-0199","email":"other@gmail.com"}`, "", 2,
			"1 matched Jane Doe: name equal domain equal\n2 matched John Doe: name similar email conflict phone equal"},
		{"contacts", `{"ref":"1","name":"Jane Doe","email":"jane@other.example","city":"Calgary"}`, `,"min_confidence":0.01`, 0, "1 no_match"},
	} {
		a := w.call(t, key, "POST", "/data/"+c.path+"/match", `{"inputs":[`+c.inputs+`]`+c.more+`}`)
		var got matchAnswer
		var metadata map[string]any
		a.into(t, &got, &metadata)
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s\n%s", c.path, c.inputs, diff, a.text)
		}
		if charged := fmt.Sprint(c.credits); metadata["credits"] != float64(c.credits) || a.header.Get("X-Credits-Charged") != charged {
			t.Errorf("%s: %v, charged %s, want %s", c.inputs, metadata, a.header.Get("X-Credits-Charged"), charged)
		}
	}
	// Selected fields, and the effect of confidence on the results.
	var got matchAnswer
	w.call(t, key, "POST", "/data/accounts/match", `{"inputs":[{"ref":"1","name":"Trico Home"}],"fields":["city"],"min_confidence":0,"candidates":5}`).
		into(t, &got, nil)
	if len(got.Results[0].Candidates) < 2 || len(got.Results[0].Candidates[0].Record) != 2 ||
		got.Results[0].Candidates[0].Confidence < 0.9 || got.Results[0].Candidates[1].Confidence > 0.5 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct{ body, want string }{
		{`{}`, "inputs invalid_type"},
		{`{"inputs":[]}`, "inputs too_small"},
		{`{"inputs":[{"ref":"1","city":"Calgary"},{"name":"x"},{"ref":"","name":"","domian":"x"}],"candidates":6,"min_confidence":1.5,"fields":["nmae"]}`,
			"inputs.0 custom, inputs.1.ref invalid_type, inputs.2.ref too_small, inputs.2.name too_small, inputs.2 unrecognized_keys, min_confidence too_big, candidates too_big, fields.0 invalid_union"},
		{`{"inputs":[{"ref":"1","name":"a\u0000b"}]}`, "inputs.0.name invalid_format"},
		{`{"inputs":[{"ref":"1","name":"` + strings.Repeat("x", 1001) + `"}]}`, "inputs.0.name too_big"},
		{`{"inputs":[` + strings.Repeat(`{"ref":"1","name":"x"},`, 100) + `{"ref":"1","name":"x"}]}`, "inputs too_big"},
	} {
		a := w.call(t, key, "POST", "/data/accounts/match", c.body)
		if got := a.issueList(t); got != c.want {
			t.Errorf("%.200s: %q, want %q", c.body, got, c.want)
		}
	}
}

// Misses take tokens of the caller, even more than it has; matches do not.
func TestMisses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 1_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	w.freeLimit(t, 1, 3)
	data := searchtest.NewWorld()
	data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"TRICO HOMES"}`, searchtest.ID("a", 1))))
	w.load(t, data)
	hit, miss := `{"ref":"1","name":"Trico Homes"},`, `{"ref":"2","email":"nobody@nowhere.example"},`
	ask := func(inputs string) answer {
		return w.call(t, key, "POST", "/data/accounts/match", `{"inputs":[`+strings.TrimSuffix(inputs, ",")+`]}`)
	}
	for range 5 {
		if a := ask(hit); a.status != 200 || a.header.Get("RateLimit-Remaining") != "3" {
			t.Fatalf("a match: %d %v %s", a.status, a.header, a.text)
		}
	}
	if a := ask(hit + strings.Repeat(miss, 99)); a.status != 200 || a.header.Get("X-Credits-Charged") != "1" ||
		a.header.Get("RateLimit-Remaining") != "0" {
		t.Fatalf("99 misses: %d %v %s", a.status, a.header, a.text)
	}
	a := ask(hit)
	if a.status != 429 || a.code() != "too_many_requests" || a.header.Get("Retry-After") == "" || a.header.Get("X-Credits-Charged") != "0" {
		t.Errorf("while 96 tokens are owed: %d %v %s", a.status, a.header, a.text)
	}
}

// Strange rows: none is a 5xx, each has its result in its place, nothing below the confidence
// or of another domain is returned, and each returned record costs a credit.
func TestMatchStrangeInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 10_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	data := searchtest.NewWorld()
	for i, values := range []string{
		`"name":"TRICO HOMES","domains":["trico.example"],"city":"Calgary"`,
		`"name":"TRICO HOMES","domains":["trico-homes.example"],"city":"Calgary"`,
		`"name":"TRICO HOMES","city":"Edmonton"`,
		`"name":"شركة تريكو للمنازل","city":"دبي"`,
		`"name":"🏗️ Emoji Homes 🏠"`,
	} {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,%s}`, searchtest.ID("a", i+1), values)))
	}
	w.load(t, data)
	ask := func(status int, body string) (matchAnswer, answer) {
		t.Helper()
		a := w.call(t, key, "POST", "/data/accounts/match", body)
		var got matchAnswer
		if a.status != status {
			t.Fatalf("%d, want %d: %.300s", a.status, status, a.text)
		}
		if status == 200 {
			a.into(t, &got, nil)
		}
		return got, a
	}
	charged := func(a answer, want int) {
		t.Helper()
		if got := a.header.Get("X-Credits-Charged"); got != fmt.Sprint(want) {
			t.Errorf("charged %s, want %d", got, want)
		}
	}
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// A name in another script and direction, marks of direction, emoji.
	for name, want := range map[string]string{
		"شركة تريكو للمنازل": "شركة تريكو للمنازل", "\u202eTRICO\u202c HOMES": "TRICO HOMES", "🏗️ emoji homes": "🏗️ Emoji Homes 🏠",
		"🏠🏠🏠": "", "\u200b\u200d\u2060": "", "---": "", "ﷺ": "", "東京建設株式会社": "", strings.Repeat("🏠", 1000): "",
		strings.Repeat("é ", 500): "", "'; DROP TABLE accounts; --": "", "*:* OR name:*": "", "{{7*7}}": "",
	} {
		got, a := ask(200, `{"inputs":[{"ref":"1","name":`+quoted(name)+`}]}`)
		found := ""
		if c := got.Results[0].Candidates; len(c) > 0 {
			found = c[0].Record["name"].(string)
		}
		if found != want {
			t.Errorf("%.60q: %q, want %q", name, found, want)
		}
		charged(a, len(got.Results[0].Candidates))
	}
	// Ten kilobytes are refused, with the place.
	_, a := ask(400, `{"inputs":[{"ref":"1","name":"Trico Homes"},{"ref":"2","name":"`+strings.Repeat("Trico", 2_000)+`"}]}`)
	if a.issueList(t) != "inputs.1.name too_big" {
		t.Error(a.text)
	}
	charged(a, 0)
	// A hundred equal inputs with one ref: each has its answer, and each record is paid for.
	equal := strings.TrimSuffix(strings.Repeat(`{"ref":"same","name":"Trico Homes","city":"Calgary"},`, 100), ",")
	got, a := ask(200, `{"inputs":[`+equal+`],"candidates":5}`)
	records := 0
	for _, r := range got.Results {
		if r.Ref != "same" || r.Status != "ambiguous" || len(r.Candidates) != len(got.Results[0].Candidates) {
			t.Fatalf("%+v", r)
		}
		for _, c := range r.Candidates {
			if records++; c.Confidence < query.DefaultMinConfidence {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(got.Results) != 100 || records < 200 {
		t.Errorf("%d results, %d records", len(got.Results), records)
	}
	charged(a, records)
	// For any confidence: no result below it, or of another domain.
	for _, least := range []float64{0, 0.3, 0.8, 0.95, 1} {
		got, a := ask(
			200,
			fmt.Sprintf(
				`{"inputs":[{"ref":"1","name":"Trico Homes","domain":"trico.example"},{"ref":"2","name":"Trico Homes","domain":"other.example"},{"ref":"3","name":"Trico Hoems","email":"x@trico.example"},{"ref":"4","name":"Trico Homes","domain":"n/a"}],"candidates":5,"min_confidence":%v}`,
				least,
			),
		)
		records := 0
		for i, r := range got.Results {
			for _, c := range r.Candidates {
				records++
				domains := fmt.Sprint(c.Record["domains"])
				if c.Confidence < least || i < 3 && domains == "[trico-homes.example]" || i == 1 && domains == "[trico.example]" {
					t.Errorf("%v: %s %+v", least, r.Ref, c)
				}
			}
		}
		charged(a, records)
		if least == 0.8 && len(got.Results[3].Candidates) != 3 {
			t.Errorf("a domain that is none forbids: %+v", got.Results[3])
		}
	}
}
