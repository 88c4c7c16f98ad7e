package permits_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/internal/fault"
)

// weekly is a source of a few permits whose files come week after week.
const weekly = `version: 1
source: weekly
title: Weekly permits
key: "{no}"
project:
  name: "{address}"
  address: "{address}"
  status: {of: "{status}", table: {Review: under_review, Issued: permitted, Building: under_construction, Final: completed, Void: cancelled, Hold: on_hold}}
  cost: "{cost}"
  filed_at: "{filed}"
  permitted_at: "{issued}"
  completed_at: "{done}"
firms: {name: "{builder}", type: general_contractor, phone: "{phone}"}
changes: {complete: %COMPLETE%, cost: 10%}
`

const weeklyHead = "no,address,status,cost,filed,issued,done,builder,phone\n"

// world is the content of an Atlas that loads and applies the files of conversions: for
// each id the line that changed last.
type world struct {
	t       *testing.T
	options permits.Options
	records map[string]map[string]record // by dataset and id
	report  *permits.Report
	week    int
}

func newWorld(t *testing.T, complete bool) *world {
	t.Helper()
	d, err := source.Parse("weekly.yaml", []byte(strings.ReplaceAll(weekly, "%COMPLETE%", fmt.Sprint(complete))))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, records: map[string]map[string]record{}}
	for _, dataset := range ndjson.Datasets {
		w.records[dataset] = map[string]record{}
	}
	w.options = permits.Options{Source: d, State: filepath.Join(t.TempDir(), "state")}
	return w
}

var monday = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// take converts a week's file and applies it. It returns the lines, by dataset.
func (w *world) take(rows string) map[string][]record {
	w.t.Helper()
	w.options.Dir = filepath.Join(w.t.TempDir(), "out")
	w.options.AsOf = monday.AddDate(0, 0, 7*w.week)
	w.options.Inputs = []permits.Input{permits.Memory("permits.csv", []byte(weeklyHead+rows))}
	w.report = mustConvert(w.t, w.options)
	w.options.Since = w.options.State
	w.week++
	lines := map[string][]record{}
	for _, dataset := range ndjson.Datasets {
		lines[dataset] = read(w.t, filepath.Join(w.options.Dir, dataset+".ndjson"))
		for _, r := range lines[dataset] {
			id := r["id"].(string)
			old := w.records[dataset][id]
			if old != nil && old["updated_at"].(string) > r["updated_at"].(string) {
				w.t.Errorf("%v is older than %v, so that Atlas drops it", r, old)
			}
			w.records[dataset][id] = r
		}
	}
	return lines
}

// kinds are the signals of lines, with their summaries.
func kinds(lines []record) (all []string) {
	for _, s := range lines {
		summary, _ := s["summary"].(string)
		all = append(all, fmt.Sprint(s["signal_type"], ": ", summary))
	}
	slices.Sort(all)
	return all
}

func TestNextWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	const unchanged = "1,1 A ST,Review,100,2026-10-01,,,,\n"
	first := w.take(unchanged +
		"2,2 A ST,Review,100,2026-10-01,,,,\n" +
		"3,3 A ST,Issued,100,2026-10-01,2026-10-02,,Acme Homes LLC,\n" +
		"4,4 A ST,Issued,100,2026-10-01,2026-10-20,,Roe Builders Inc,\n" +
		"5,5 A ST,Review,100,2026-10-01,,,Jane Doe,\n")
	if len(first["projects"]) != 5 || len(first["signals"]) != 7 {
		t.Fatalf("%v", first)
	}
	second := w.take(unchanged +
		"2,2 A ST,Issued,105,2026-10-01,2026-11-05,,Acme Homes LLC,\n" + // issued, a contractor; 5 % are no change of cost
		"3,3 A ST,Final,200,2026-10-01,2026-10-02,2026-11-06,Roe Builders Inc,\n" +
		"4,4 A ST,Void,100,2026-10-01,2026-10-15,,Roe Builders Inc,\n" + // a correction backwards
		"6,6 A ST,Review,5,2026-11-04,,,,\n")
	want := &permits.Changes{New: 1, Changed: 3, Unchanged: 1, Gone: 1, Signals: map[string]int64{
		"permit_issued": 1, "stage_changed": 2, "gc_assigned": 2, "project_completed": 1, "cost_changed": 1,
		"project_cancelled": 1, "permit_filed": 1,
	}}
	if diff := cmp.Diff(want, w.report.Changes); diff != "" {
		t.Error(diff)
	}
	wantKinds := []string{
		"cost_changed: The estimated cost went from 100 to 200.",
		"gc_assigned: The general contractor was Acme Homes LLC and is now Roe Builders Inc.",
		"gc_assigned: The permit names Acme Homes LLC as general contractor; before, it named none.",
		"permit_filed: ",
		"permit_issued: The permit was issued on 2026-11-05. The stage went from under review to permitted.",
		"project_cancelled: The project was active and is now cancelled.",
		"project_completed: The stage went from permitted to completed.",
		"stage_changed: The stage went from permitted to completed.",
		"stage_changed: The stage went from under review to permitted.",
	}
	var signals []record
	for _, s := range second["signals"] {
		if s["deleted"] == nil {
			signals = append(signals, s)
		}
	}
	if diff := cmp.Diff(wantKinds, kinds(signals)); diff != "" {
		t.Error(diff)
	}
	for _, s := range signals {
		if at := s["detected_at"]; at != "2026-11-09T00:00:00.000Z" && s["signal_type"] != "permit_filed" {
			t.Errorf("%v was detected on %v", s["signal_type"], at)
		}
	}
	var corrected record
	for _, p := range second["projects"] {
		if p["address"] == "4 A ST" {
			corrected = p
		}
	}
	if corrected["permitted_at"] != "2026-10-15T00:00:00.000Z" || corrected["updated_at"] != "2026-11-09T00:00:00.000Z" {
		t.Errorf("%v", corrected)
	}
	if len(second["accounts"]) != 2 { // their latest dates changed
		t.Errorf("%v", second["accounts"])
	}
}

// Converting a file a second time repeats no signals, on the same day or a later one; an
// older file changes nothing known.
func TestSameFileTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.take("1,1 A ST,Review,100,2026-10-01,,,,\n")
	const rows = "1,1 A ST,Issued,100,2026-10-01,2026-11-05,,Acme Homes LLC,\n2,2 A ST,Review,1,2026-11-05,,,,\n"
	w.take(rows)
	for _, later := range []int{1, 5} {
		w.week = later
		if lines := w.take(rows); len(lines["projects"])+len(lines["signals"])+len(lines["accounts"]) > 0 {
			t.Errorf("in week %d: %v", later, lines)
		}
	}
	w.week = 2
	lines := w.take("1,1 A ST,Void,100,2026-10-01,2026-11-05,,Acme Homes LLC,\n3,3 A ST,Review,1,2026-11-05,,,,\n")
	if len(lines["projects"]) != 1 || len(lines["signals"]) != 0 || w.report.Changes.Older != 1 || w.report.Changes.Gone != 0 ||
		len(w.report.Notes) != 1 {
		t.Errorf("%v, %+v", lines, w.report)
	}
}

// What a file lacks is gone only if it is complete, and no part.
func TestGone(t *testing.T) {
	t.Parallel()
	const rows = "1,1 A ST,Review,100,2026-10-01,,,,\n2,2 A ST,Review,100,2026-10-01,,,,\n"
	for _, c := range []struct {
		complete, part bool
		gone           int64
	}{{true, false, 1}, {true, true, 0}, {false, false, 0}} {
		w := newWorld(t, c.complete)
		w.take(rows)
		w.options.Part = c.part
		lines := w.take("1,1 A ST,Review,100,2026-10-01,,,,\n")
		if w.report.Changes.Gone != c.gone || int64(len(lines["projects"])) != c.gone || int64(len(lines["signals"])) != c.gone {
			t.Errorf("%+v: %v", c, lines)
		}
		w.options.Part = false
		back := w.take(rows)
		if w.report.Changes.New != c.gone {
			t.Errorf("%+v, back again: %v", c, back)
		}
	}
}

// The same input gives the same bytes, states included.
func TestSameDeltaTwice(t *testing.T) {
	t.Parallel()
	var states, deltas [2][]byte
	for i := range 2 {
		w := newWorld(t, true)
		w.take("1,1 A ST,Review,100,2026-10-01,,,Acme Homes LLC,\n2,2 A ST,Review,100,2026-10-01,,,Acme Homes,\n")
		w.take("2,2 A ST,Final,500,2026-10-01,2026-11-01,2026-11-02,Roe Builders Inc,\n3,3 A ST,Review,5,2026-11-04,,,,\n")
		state, err := os.ReadFile(w.options.State)
		if err != nil {
			t.Fatal(err)
		}
		states[i], deltas[i] = state, files(t, w.options.Dir)
	}
	if !bytes.Equal(states[0], states[1]) || !bytes.Equal(deltas[0], deltas[1]) || len(deltas[0]) == 0 {
		t.Error("another run gives another delta or state")
	}
}

// accountsOf are the accounts that the projects and signals of a world name.
func (w *world) accountsOf(address string) (all []string) {
	for _, dataset := range []string{"projects", "signals"} {
		for _, r := range w.records[dataset] {
			if name, _ := r["project_name"].(string); r["address"] == address || name == address {
				for _, id := range list(r["account_ids"]) {
					if !slices.Contains(all, id) {
						all = append(all, id)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// An operator says that two firms are one, and later that they are not.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	decide := func(text string) {
		w.options.Decisions = filepath.Join(t.TempDir(), "decisions.yaml")
		if err := os.WriteFile(w.options.Decisions, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const rows = "1,1 A ST,Issued,100,2026-10-01,2026-10-02,,Acme Homes LLC,\n2,2 A ST,Issued,100,2026-10-01,2026-10-02,,Zenith Construction Inc,\n"
	w.take(rows)
	acme, zenith := w.accountsOf("1 A ST"), w.accountsOf("2 A ST")
	if len(acme) != 1 || len(zenith) != 1 || acme[0] == zenith[0] {
		t.Fatal(acme, zenith)
	}
	decide("same:\n  - [Acme Homes LLC, zenith construction inc]\n")
	lines := w.take("1,1 A ST,Issued,100,2026-10-01,2026-10-02,,Acme Homes LLC,\n") // the second permit is not in the file
	if got := w.accountsOf("2 A ST"); !slices.Equal(got, acme) {
		t.Errorf("the lines have %v, want %v: %v", got, acme, lines)
	}
	if merged := w.records["accounts"][zenith[0]]; merged["merged_into"] != acme[0] {
		t.Errorf("%v", merged)
	}
	w.options.Decisions = ""
	if lines := w.take(rows); len(lines["accounts"])+len(lines["projects"])+len(lines["signals"]) > 0 {
		t.Errorf("a decision that is kept writes %v", lines)
	}
	decide("different:\n  - [" + zenith[0] + ", Acme Homes LLC]\n")
	lines = w.take(rows)
	if got := w.accountsOf("2 A ST"); !slices.Equal(got, zenith) {
		t.Errorf("the lines have %v, want %v: %v", got, zenith, lines)
	}
	if anew := w.records["accounts"][zenith[0]]; anew["name"] != "Zenith Construction Inc" || anew["merged_into"] != nil {
		t.Errorf("%v", anew)
	}
	if got := w.accountsOf("1 A ST"); !slices.Equal(got, acme) {
		t.Errorf("the other's lines have %v", got)
	}
	for _, wrong := range []string{"same: [[Acme]]\n", "sam: []\n", "same:\n\t- x\n"} {
		decide(wrong)
		if _, err := permits.Convert(t.Context(), w.options); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A firm that another source has is that account, for which this source writes no line.
func TestKnownAccounts(t *testing.T) {
	t.Parallel()
	known := filepath.Join(t.TempDir(), "accounts.ndjson")
	const id = "0f0c3ad5-8a3e-5c1b-9d5e-3a1f0b7c2d11"
	if err := os.WriteFile(known, []byte(`{"id":"`+id+`","name":"ACME HOMES, L.L.C.","account_types":["developer"],"phone":"512-555-0142","website":"https://acme.example","updated_at":"2026-10-01T00:00:00.000Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, false)
	w.options.Accounts = []string{known}
	const rows = "1,1 A ST,Issued,100,2026-10-01,2026-10-02,,Acme Homes LLC,(512) 555-0142\n2,2 A ST,Issued,100,2026-10-01,2026-10-02,,Acme Home Services,\n"
	lines := w.take(rows)
	if got := w.accountsOf("1 A ST"); !slices.Equal(got, []string{id}) || len(lines["accounts"]) != 1 {
		t.Errorf("%v, %v", got, lines["accounts"])
	}
	links := w.report.Links
	if links.Linked != 1 || len(links.Learnt) != 1 || !slices.Equal(links.Learnt[0].Types, []string{"general_contractor"}) {
		t.Errorf("%+v", links)
	}
	w.options.Merge = true
	lines = w.take(rows)
	if len(lines["accounts"]) != 1 || lines["accounts"][0]["website"] != "https://acme.example" ||
		len(list(lines["accounts"][0]["account_types"])) != 2 {
		t.Errorf("%v", lines["accounts"])
	}
}

// States and other files with wrong content.
func TestWrongState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.take("1,1 A ST,Review,100,2026-10-01,,,,\n")
	state, err := os.ReadFile(w.options.State)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"none": nil, "text": []byte("x"), "cut": state[:len(state)-20]} {
		w.options.Since = filepath.Join(t.TempDir(), name)
		if content != nil {
			if err := os.WriteFile(w.options.Since, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := permits.Convert(t.Context(), w.options); fault.CodeOf(err) != fault.BadRequest && fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := madeUp(t, "austin")
	other.Since = w.options.State
	if _, err := permits.Convert(t.Context(), other); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("the state of another source: %v", err)
	}
	if reread, _ := os.ReadFile(w.options.State); !bytes.Equal(reread, state) {
		t.Error("a conversion that failed changed the state")
	}
}
