package search

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/cmd/internal/cli"
)

func csvOf(t *testing.T, rows *csvRows, records ...string) string {
	t.Helper()
	all := make([]json.RawMessage, len(records))
	for i, r := range records {
		all[i] = json.RawMessage(r)
	}
	b, _, err := rows.begin(all[:min(1, len(all))])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if b, err = rows.append(b, r); err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

func TestCSV(t *testing.T) {
	t.Parallel()
	members := []string{"id", "name", "tags", "cost"}
	for name, c := range map[string]struct {
		rows    csvRows
		records []string
		want    string
	}{
		"plain":   {csvRows{}, []string{`{"id":"1","name":"A","tags":["x","y"],"cost":1.50}`}, "id,name,tags,cost\n1,A,x;y,1.50\n"},
		"unknown": {csvRows{}, []string{`{"id":"1","name":null,"tags":[]}`}, "id,name,tags,cost\n1,,,\n"},
		"quoted": {
			csvRows{}, []string{`{"id":"1","name":"a, \"b\"\nc","tags":["x,y"],"cost":null}`},
			"id,name,tags,cost\n1,\"a, \"\"b\"\"\nc\",\"x,y\",\n",
		},
		"spaces": {csvRows{}, []string{`{"id":"1","name":" a ","tags":null,"cost":0}`}, "id,name,tags,cost\n1,\" a \",,0\n"},
		"list's signs": {
			csvRows{}, []string{`{"id":"1","name":"a;b\\","tags":["a;b","c\\d"],"cost":0}`},
			"id,name,tags,cost\n1,a;b\\,a\\;b;c\\\\d,0\n",
		},
		"no rows": {csvRows{}, nil, "id,name,tags,cost\n"},
		"more members": {
			csvRows{}, []string{`{"id":"1","new":{"a": [1]},"also":true}`},
			"id,name,tags,cost,also,new\n1,,,,true,\"{\"\"a\"\": [1]}\"\n",
		},
		"columns":   {csvRows{columns: []string{"cost", "id"}}, []string{`{"id":"1","name":"A","cost":2}`}, "cost,id\n2,1\n"},
		"one empty": {csvRows{columns: []string{"name"}}, []string{`{"id":"1","name":null}`, `{"id":"2","name":"B"}`}, "name\n\"\"\nB\n"},
		"big numbers": {
			csvRows{}, []string{`{"id":"1","cost":12345678901234567890.10,"tags":[9007199254740993]}`},
			"id,name,tags,cost\n1,,9007199254740993,12345678901234567890.10\n",
		},
		"formulas": {
			csvRows{}, []string{`{"id":"=1+1","name":"+1 403","tags":["@x","-y"],"cost":-114.07}`},
			"id,name,tags,cost\n'=1+1,'+1 403,'@x;-y,-114.07\n",
		},
		"hidden": {
			csvRows{}, []string{`{"id":"\t=1","name":"  =cmd|' /C calc'!A0","tags":["\u00a0＝1"],"cost":"\r1"}`},
			"id,name,tags,cost\n'\t=1,'  =cmd|' /C calc'!A0,'\u00a0＝1,\"'\r1\"\n",
		},
		"as they are": {csvRows{formulas: true}, []string{`{"id":"=1+1","name":"-","tags":[],"cost":0}`}, "id,name,tags,cost\n=1+1,-,,0\n"},
		"harmless": {
			csvRows{}, []string{`{"id":"a=b","name":"x-y","tags":["a@b.example"],"cost":0}`},
			"id,name,tags,cost\na=b,x-y,a@b.example,0\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.rows.members = members
			if diff := cmp.Diff(c.want, csvOf(t, &c.rows, c.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Members that occur later are reported, but not when columns were given.
func TestCSVNotesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	records := []string{`{"id":"1"}`, `{"id":"2","late":1}`}
	rows := &csvRows{members: []string{"id"}}
	if got := csvOf(t, rows, records...); got != "id\n1\n2\n" || !strings.HasSuffix(rows.note(), ": late") {
		t.Errorf("%q %q", got, rows.note())
	}
	again := &csvRows{members: []string{"id"}}
	again.resume([]string{"id"})
	if _, err := again.append(nil, json.RawMessage(records[1])); err != nil || again.note() == "" {
		t.Errorf("%v %q", err, again.note())
	}
	asked := &csvRows{members: []string{"id"}, columns: []string{"id"}}
	if csvOf(t, asked, records...); asked.note() != "" {
		t.Error(asked.note())
	}
}

var crlf = regexp.MustCompile("\r+\n")

// Whatever texts are written, a reader gets them back, one row for each record.
func TestCSVIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		columns := make([]string, rapid.IntRange(1, 3).Draw(r, "columns"))
		for i := range columns {
			columns[i] = fmt.Sprint("c", i)
		}
		rows := &csvRows{members: columns}
		b, _, err := rows.begin(nil)
		if err != nil {
			r.Fatal(err)
		}
		want := [][]string{columns}
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[=+@;,"'\r\n\t \\-]{0,6}[a-z]?`))
		for range rapid.IntRange(0, 4).Draw(r, "records") {
			record, row := map[string]string{}, []string{}
			for _, name := range columns {
				// Go's reader makes one line break of two characters.
				value := crlf.ReplaceAllString(text.Draw(r, "value"), "\n")
				record[name] = value
				if cli.LikeFormula(value) {
					value = "'" + value
				}
				row = append(row, value)
			}
			raw, err := json.Marshal(record)
			if err != nil {
				r.Fatal(err)
			}
			if b, err = rows.append(b, raw); err != nil {
				r.Fatal(err)
			}
			want = append(want, row)
		}
		got, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			r.Fatalf("%v %s\n%q", err, diff, b)
		}
		for _, row := range got[1:] {
			for _, cell := range row {
				if strings.IndexAny(strings.TrimLeft(cell, " \t\r\n"), "=+-@") == 0 {
					r.Fatalf("a formula: %q", cell)
				}
			}
		}
	})
}
