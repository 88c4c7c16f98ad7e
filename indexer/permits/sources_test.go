package permits_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files again")

// madeUp are options for the made-up rows of a shipped source.
func madeUp(t *testing.T, name string) permits.Options {
	t.Helper()
	d, err := source.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	in, found := permits.MadeUp(name)
	if !found {
		t.Fatalf("%s has no rows", name)
	}
	dir := t.TempDir()
	return permits.Options{
		Source: d, Inputs: []permits.Input{in}, Dir: filepath.Join(dir, "out"), State: filepath.Join(dir, "state"),
		DeadLetters: filepath.Join(dir, "dead"),
	}
}

func mustConvert(t *testing.T, o permits.Options) *permits.Report {
	t.Helper()
	report, err := permits.Convert(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// files are the four files of a folder, one after the other.
func files(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, dataset := range ndjson.Datasets {
		text, err := os.ReadFile(filepath.Join(dir, dataset+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// some are the first lines of each file, which a golden file has.
func some(t *testing.T, dir string) string {
	t.Helper()
	const most = 12
	var b strings.Builder
	for _, dataset := range ndjson.Datasets {
		text, err := os.ReadFile(filepath.Join(dir, dataset+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for _, line := range lines[:min(most, len(lines))] {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Every shipped source turns its rows into records, all of them, and each in the same way
// every time.
func TestShippedSources(t *testing.T) {
	t.Parallel()
	for _, name := range permits.WithSamples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := madeUp(t, name)
			report := mustConvert(t, o)
			if report.RefusedRows > 0 || report.UnreadCells > 0 || report.Permits+report.RepeatedPermits != report.Rows ||
				report.Records.Projects != report.Permits {
				t.Errorf("%+v", report)
			}
			in := o.Inputs[0]
			if found, err := permits.Recognize(in); err != nil || found.Name != name {
				t.Errorf("recognized as %v, %v", found, err)
			}
			repeated := madeUp(t, name)
			mustConvert(t, repeated)
			if !bytes.Equal(files(t, o.Dir), files(t, repeated.Dir)) {
				t.Error("another run gives other records")
			}
			if name == "calgary" {
				return // has golden records of its own
			}
			golden := filepath.Join("testdata", name+".ndjson")
			got := some(t, o.Dir)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// persons are the names of the made-up persons in the rows.
var persons = func() (all []string) {
	for _, given := range strings.Fields("Mira Noor Axel Juno Tara Otto Vera Ivo Ines Karl Dora Emil Zora Nils Runa Milo") {
		for _, family := range strings.Fields("Thornbury Mossfield Birchall Juniperson Kestrelby Oakenrow Fernhill Stonelea Northcote Larkmead Graywick Dunmore") {
			all = append(all, strings.ToLower(given+" "+family))
		}
	}
	return all
}()

// No private person, nor a phone in a text, is in anything that a conversion writes or says.
func TestNoPersons(t *testing.T) {
	t.Parallel()
	for _, name := range permits.WithSamples() {
		o := madeUp(t, name)
		report := mustConvert(t, o)
		checked, err := permits.Check(t.Context(), o.Source, o.Inputs, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		said, err := json.Marshal([]any{report, checked})
		if err != nil {
			t.Fatal(err)
		}
		dead, err := os.ReadFile(o.DeadLetters)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.ToLower(string(bytes.Join([][]byte{files(t, o.Dir), said, dead}, nil)))
		for _, person := range persons {
			if at := strings.Index(all, person); at >= 0 {
				t.Fatalf("%s: %s", name, all[max(0, at-200):at+100])
			}
		}
		if strings.Contains(all, "call 312") {
			t.Errorf("%s: a description has a phone", name)
		}
	}
}

// rows converts rows of a source that is described here.
func rows(t *testing.T, description, text string) (*permits.Report, map[string][]record) {
	t.Helper()
	d, err := source.Parse("here.yaml", []byte(description))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	report := mustConvert(t, permits.Options{
		Source: d, Inputs: []permits.Input{permits.Memory("permits.csv", []byte(text))}, Dir: dir,
		DeadLetters: filepath.Join(dir, "dead"),
	})
	got := map[string][]record{}
	for _, dataset := range ndjson.Datasets {
		got[dataset] = read(t, filepath.Join(dir, dataset+".ndjson"))
	}
	dead, err := os.ReadFile(filepath.Join(dir, "dead"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(dead)) {
		var l record
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		got["dead letters"] = append(got["dead letters"], l)
	}
	return report, got
}

const described = `version: 1
source: here
title: Permits of here
values: {dates: m/d/y, none: [N/A]}
skip: {of: "{type}", is: ["Sign*"], why: signs}
key: "{no}"
repeats: %REPEATS%
project:
  name: "{address}, {type}"
  description: "{work}"
  address: "{address}"
  status: {of: "{status}", table: {Open: under_review, Done: completed, Void: cancelled}}
  cost: {of: "{cost}", unknown: ["1"]}
  residential_units: "{units}"
  filed_at: "{filed}"
  permitted_at: "{issued}"
  completed_at: "{done}"
  location: {x: "{x}", y: "{y}", epsg: 2277}
firms: {name: "{builder}", type: general_contractor, phone: "{phone}"}
`

const describedHead = "no,type,address,work,status,cost,units,filed,issued,done,x,y,builder,phone\n"

// A cell that cannot be read is unknown and reported; a row without a key, or that is not a
// permit, is left out and reported, without personal data.
func TestTroubles(t *testing.T) {
	t.Parallel()
	report, got := rows(t, strings.ReplaceAll(described, "%REPEATS%", "latest"), describedHead+
		"1,House,1 A ST,deck,Open,\"$20,000.00\",x,1/5/16,,,3109812.5,10087635.1,Jane Doe,512-555-0101\n"+
		"2,Sign,1 A ST,,Open,,,,,,,,,\n"+
		",House,1 A ST,Owner: Jane Doe,Open,5,,,,,,,Jane Doe,512-555-0101\n"+
		"3,House,1 A ST,,Odd,1,2,5/45/16,N/A,,,,Acme Homes LLC,\n"+
		"4,too,short\n")
	if report.Rows != 5 || report.Permits != 2 || report.RefusedRows != 2 || report.SkippedRows["signs"] != 1 ||
		report.UnreadCells != 2 || report.UnknownStatuses["Odd"] != 1 {
		t.Errorf("%+v", report)
	}
	want := []permits.Refusal{{Line: 4, Field: "no", Reason: "empty"}, {Line: 6, Field: "", Reason: "3 fields where the first row has 14"}}
	if diff := cmp.Diff(want, report.Refused); diff != "" {
		t.Error(diff)
	}
	want = []permits.Refusal{
		{Line: 2, Field: "units", Reason: `"x" is not a whole number`},
		{Line: 5, Field: "filed", Reason: `"5/45/16" is not a date`},
	}
	if diff := cmp.Diff(want, report.Unread); diff != "" {
		t.Error(diff)
	}
	letters := []record{
		{"file": "permits.csv", "line": 4.0, "problems": []any{map[string]any{"field": "no", "reason": "empty"}},
			"cells": map[string]any{"address": "1 A ST", "cost": "5", "status": "Open", "type": "House", "work": "Owner: […]"}},
		{"file": "permits.csv", "line": 6.0, "problems": []any{map[string]any{"field": "", "reason": "3 fields where the first row has 14"}}},
	}
	if diff := cmp.Diff(letters, got["dead letters"]); diff != "" {
		t.Error(diff)
	}
	var first record
	for _, p := range got["projects"] {
		if p["description"] == "deck" {
			first = p
		}
	}
	if first["cost"] != 20000.0 || first["filed_at"] != "2016-01-05T00:00:00.000Z" || first["gc_status"] != "assigned" ||
		first["latitude"] == nil || len(got["accounts"]) != 1 {
		t.Errorf("%v, %v", first, got["accounts"])
	}
}

// In a list of labelled names, a name without a label has the default type, and does not count
// as a value without a rule.
func TestLabelledNames(t *testing.T) {
	t.Parallel()
	const described = "version: 1\nsource: here\ntitle: Here\nkey: \"{no}\"\nproject: { name: \"{no}\" }\nfirms: { name: \"{parties}\", cell: labelled, type: { of: \"{parties}\", table: { GC: general_contractor }%s } }\n"
	const text = "no,parties\n1,GC: Acme LLC | Larkspur Homes Ltd\n2,Jane Doe / Quarry Builders Inc; Notary: Seal Services Inc\n"
	report, got := rows(t, strings.Replace(described, "%s", ", default: other", 1), text)
	if n := report.Unmapped["role"]; len(n) != 1 || n["Notary"] != 1 || report.Names.Firms != 4 {
		t.Errorf("%v, %+v", n, report.Names)
	}
	for _, a := range got["accounts"] {
		if strings.Contains(a["name"].(string), "Jane") {
			t.Errorf("a person is a firm: %v", a)
		}
	}
	report, _ = rows(t, strings.Replace(described, "%s", "", 1), text)
	if n := report.Unmapped["role"]; n[""] != 2 || report.Names.Firms != 1 {
		t.Errorf("without a default: %v, %+v", n, report.Names)
	}
}

// Rows of one permit are joined: the latest wins, or phases add up.
func TestJoinedRows(t *testing.T) {
	t.Parallel()
	const text = describedHead +
		"1,House,1 A ST,frame,Done,100,1,1/5/2016,1/9/2016,3/1/2016,,,,\n" +
		"1,House,1 A ST,foundation,Open,50,2,1/2/2016,,,,,Acme Homes LLC,\n"
	for how, want := range map[string]record{
		"latest": {
			"description": "frame", "stage": "completed", "cost": 100.0, "residential_units": 1.0,
			"filed_at": "2016-01-05T00:00:00.000Z", "completed_at": "2016-03-01T00:00:00.000Z",
		},
		"phases": {
			"description": "foundation; frame", "stage": "under_review", "cost": 150.0, "residential_units": 3.0,
			"filed_at": "2016-01-02T00:00:00.000Z", "completed_at": nil,
		},
	} {
		report, got := rows(t, strings.ReplaceAll(described, "%REPEATS%", how), text)
		if report.Permits != 1 || report.RepeatedPermits != 1 || len(got["projects"]) != 1 {
			t.Fatalf("%s: %+v", how, report)
		}
		p := got["projects"][0]
		for key, v := range want {
			if p[key] != v {
				t.Errorf("%s: %s is %v, want %v", how, key, p[key], v)
			}
		}
		if p["gc_status"] != "assigned" || len(p["account_ids"].([]any)) != 1 {
			t.Errorf("%s: %v", how, p)
		}
	}
}

// A file of another source says which columns it lacks.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	o := madeUp(t, "austin")
	o.Inputs = []permits.Input{permits.Memory("x.csv", []byte("permit_numbr,status\n1,2\n"))}
	_, err := permits.Convert(t.Context(), o)
	if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "permit_number (did you mean permit_numbr?)") {
		t.Error(err)
	}
	if _, err := os.Stat(o.Dir); !os.IsNotExist(err) {
		t.Error("the folder was made")
	}
	if _, err := permits.Recognize(o.Inputs[0]); fault.CodeOf(err) != fault.BadRequest ||
		!strings.Contains(err.Error(), "atlas index source guess") {
		t.Error(err)
	}
}

// The report on a source counts the defects of its rows.
func TestMeasure(t *testing.T) {
	t.Parallel()
	d, err := source.Parse("here.yaml", []byte(strings.ReplaceAll(described, "%REPEATS%", "latest")))
	if err != nil {
		t.Fatal(err)
	}
	q, err := permits.Measure(t.Context(), d, []permits.Input{permits.Memory("permits-2016-02-01.csv", []byte(describedHead+
		"1,House,1 A ST,,Done,-5,,1/5/2016,1/4/2016,1/3/2016,,,,\n"+
		"1,House,1 A ST,,Odd,2000000000,,1/5/2016,1/6/2016,3/3/2016,,,Jane Doe,\n"))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if q.Rows != 2 || q.Permits != 1 || q.RepeatedPermits != 1 || q.IssuedBeforeFiled != 1 || q.CompletedBeforeIssued != 1 ||
		q.Future != 1 || q.CostsNotPositive != 1 || q.CostsHuge != 1 ||
		q.WithoutPlace != 2 || q.AsOf != "2016-02-01" || q.First != "2016-01-03" || q.Unknown["latitude"] != 1 ||
		q.Unknown["name"] != 0 || q.Names.Persons != 1 {
		t.Errorf("%+v, %+v", q, q.Report)
	}
}

// The samples of several sources are one folder that a load reads.
func TestSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := permits.Samples(t.Context(), dir, permits.WithSamples(), today); err != nil {
		t.Fatal(err)
	}
	from := map[any]int{}
	for _, p := range read(t, filepath.Join(dir, "projects.ndjson")) {
		from[p["source"]]++
	}
	if len(from) != 6 { // the fictitious ones too
		t.Error(from)
	}
	seen := map[any]bool{}
	for _, a := range read(t, filepath.Join(dir, "accounts.ndjson")) {
		if seen[a["id"]] {
			t.Errorf("%v comes twice", a)
		}
		seen[a["id"]] = true
	}
}
