package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/search/catalog"
)

// wantScanned checks that scanner and decoder read the line equally. It reports whether
// the scanner accepted the line.
func wantScanned(t interface {
	Helper()
	Fatalf(string, ...any)
}, d catalog.Dataset, line string, derived bool) bool {
	t.Helper()
	at := time.UnixMilli(1_700_000_000_000)
	s := schemas[d]
	p := lineParser{schema: s, derived: derived}
	want, wantProblems := p.decode(Record{Dataset: d, values: make([]any, len(s.fields))}, []byte(line), at)
	got, problems := parse(d, []byte(line), at, derived)
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Fatalf("%q: %s", line, diff)
	}
	if diff := cmp.Diff(want.values, got.values); diff != "" {
		t.Fatalf("%q: %s", line, diff)
	}
	short := lineParser{schema: s, derived: derived}
	return short.scan([]byte(line), make([]any, len(s.fields))) && len(short.problems) == 0
}

func TestScanReadsAsTheDecoder(t *testing.T) {
	t.Parallel()
	values := []string{
		`"x"`, `""`, `" y "`, `"Łódź – 1"`, `"a\nb"`, `"\ud83d\ude00"`, "\"\x01\"", "\"\xff\"", `"` + strings.Repeat("n", 1001) + `"`,
		`"0198c0de-0000-7000-8000-000000000001"`, `"0198C0DE-0000-7000-8000-00000000000F"`, `"permit_filed"`, `"owner"`,
		`"2024-05-06"`, `"2024-05-06T07:08:09.123+02:00"`,
		`null`, `nul`, `true`, `{}`, `{"a":1}`, `[]`, `[ ]`, `["x"]`, `[ "x" , "owner" ]`, `["x",]`, `[null]`,
		`["0198c0de-0000-7000-8000-000000000001"]`, `["a\u0000"]`,
		`0`, `-0`, `1`, `01`, `-`, `1.`, `1.5`, `1e3`, `1E+3`, `1e`, `.5`, `-12.25e-2`, `9007199254740993`, `1e999`, `+1`,
	}
	spaces := rapid.SampledFrom([]string{"", "", "", " ", "\t", "\r", " \n ", "\u00a0"})
	short, all := 0, 0
	repeated := 1
	if testing.Short() {
		repeated = 5 // rapid then makes a fifth of its checks, too few to count what is drawn
	}
	check := func(rt *rapid.T) {
		d := rapid.SampledFrom(catalog.Datasets).Draw(rt, "dataset")
		var names []string
		for _, f := range catalog.Fields(d) {
			names = append(names, f.Name)
		}
		var b strings.Builder
		space := func() { b.WriteString(spaces.Draw(rt, "space")) }
		space()
		b.WriteString("{")
		members := rapid.IntRange(0, 6).Draw(rt, "members")
		used := rapid.SliceOfNDistinct(rapid.SampledFrom(names), min(members, len(names)), members, rapid.ID[string]).Draw(rt, "names")
		for i, name := range used {
			if i > 0 {
				b.WriteString(",")
			}
			space()
			switch rapid.IntRange(0, 30).Draw(rt, "odd") {
			case 0:
				name = used[0]
			case 1:
				name = "unknown"
			case 2:
				name = fmt.Sprintf("\\u%04x", name[0]) + name[1:]
			}
			b.WriteString(`"` + name + `"`)
			space()
			b.WriteString(":")
			space()
			b.WriteString(rapid.SampledFrom(values).Draw(rt, "value"))
			space()
		}
		b.WriteString("}")
		line := b.String()
		switch rapid.IntRange(0, 20).Draw(rt, "end") {
		case 0:
			line += "x"
		case 1:
			line = line[:len(line)-1]
		case 2:
			line += " "
		}
		all++
		if wantScanned(rt, d, line, rapid.Bool().Draw(rt, "derived")) {
			short++
		}
	}
	for range repeated {
		rapid.Check(t, check)
	}
	if short == 0 || short == all {
		t.Errorf("%d of %d lines were plain", short, all)
	}
	line := `{"id":"0198c0de-0000-7000-8000-000000000001","name":"Łódź Mill","stories":3,"cost":1.5,"account_ids":["0198c0de-0000-7000-8000-000000000002"],"filed_at":"2024-01-02","signals_count":7}`
	if !wantScanned(t, catalog.Projects, line, false) || !wantScanned(t, catalog.Projects, line, true) {
		t.Error("a plain line is not taken for one")
	}
}

// For any input, scanner and decoder agree.
func FuzzScan(f *testing.F) {
	for _, line := range []string{
		`{"id":"0198c0de-0000-7000-8000-000000000001","name":"x"}`, `{"cost":1e5,"filed_at":null,"account_ids":[ ]}`,
		"{\"name\":\"\xc3\x28\"}", `{"stories":-0,"stories":1}`, ` { } `,
	} {
		for i := range catalog.Datasets {
			f.Add(uint8(i), line, i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, dataset uint8, line string, derived bool) {
		wantScanned(t, catalog.Datasets[int(dataset)%len(catalog.Datasets)], line, derived)
	})
}
