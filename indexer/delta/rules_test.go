package delta_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/delta"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// A record with a later updated_at stays, by whatever way an older one comes; so does a
// deletion.
func TestOlderNeverReplacesNewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, map[catalog.Dataset]string{catalog.Accounts: lines(`{"id":"` + account(1) +
		`","name":"Loaded","updated_at":"2024-01-10","created_at":"2024-01-01"}`)})
	const upsert, deletion = `{"id":"%s","name":"%s","updated_at":"%s"}`, `{"id":"%s","deleted":true,"updated_at":"%s"}`
	for _, step := range []struct {
		line string
		want any    // the name after it, nil when the record is not there
		in   string // the count
	}{
		{fmt.Sprintf(upsert, account(1), "Older", "2024-01-09"), "Loaded", "older"},
		{fmt.Sprintf(upsert, account(1), "Equal", "2024-01-10"), "Equal", "updated"},
		{fmt.Sprintf(upsert, account(1), "Equal", "2024-01-10"), "Equal", "unchanged"},
		{fmt.Sprintf(upsert, account(1), "Newer", "2024-01-11"), "Newer", "updated"},
		{fmt.Sprintf(deletion, account(1), "2024-01-10"), "Newer", "older"},
		{fmt.Sprintf(deletion, account(1), "2024-01-11"), nil, "deleted"},
		{fmt.Sprintf(deletion, account(1), "2024-01-12"), nil, "absent"},
		{fmt.Sprintf(upsert, account(1), "Late", "2024-01-11T23:59:59Z"), nil, "older"},
		{fmt.Sprintf(upsert, account(1), "Back", "2024-01-12"), "Back", "created"},
		{`{"id":"` + account(1) + `","name":"Back"}`, "Back", "unchanged"},
		{`{"id":"` + account(1) + `","name":"Undated"}`, "Undated", "updated"},
		// From the future, and no date says that it is older.
		{fmt.Sprintf(upsert, account(1), "Future", "2124-01-01"), "Future", "updated"},
		{`{"id":"` + account(1) + `","name":"Now"}`, "Future", "older"},
		{`{"id":"` + account(1) + `","deleted":true}`, nil, "deleted"},
		{fmt.Sprintf(upsert, account(1), "Future", "2124-01-01"), nil, "older"},
		{fmt.Sprintf(deletion, account(2), "2024-01-12"), nil, "absent"},
	} {
		report := w.apply(t, w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(step.line)}))
		if got := w.record(t, catalog.Accounts, account(1)); step.want == nil && got != nil ||
			step.want != nil && (got == nil || got["name"] != step.want) {
			t.Errorf("after %s: %v", step.line, got)
		} else if got != nil && got["created_at"] != "2024-01-01T00:00:00.000Z" && step.want != "Back" &&
			step.want != "Undated" && step.want != "Future" {
			t.Errorf("after %s it was created at %v", step.line, got["created_at"])
		}
		counts := map[string]any{}
		raw, _ := json.Marshal(
			report.Datasets[slices.IndexFunc(report.Datasets, func(d delta.DatasetReport) bool { return d.Dataset == catalog.Accounts })],
		)
		fatal(t, json.Unmarshal(raw, &counts))
		if counts[step.in] != 1.0 {
			t.Errorf("after %s: %s, want %s", step.line, raw, step.in)
		}
	}
}

// In one delta the latest updated_at wins, and of equal ones the last line of the last file.
// Files may be packed.
func TestSeveralFilesOfADataset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.ndjson"), filepath.Join(dir, "second.ndjson.gz")
	write(t, first, lines(
		`{"id":"`+account(1)+`","name":"Newest","updated_at":"2024-01-03"}`,
		`{"id":"`+account(2)+`","name":"Tie","updated_at":"2024-01-01"}`,
		`{"id":"`+account(3)+`","deleted":true,"updated_at":"2024-01-02"}`,
		`{"id":"`+account(4)+`","deleted":false,"name":"Not deleted","description":"the \"deleted\" one","updated_at":"2024-01-02"}`))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(lines(
		`{"id":"`+account(1)+`","name":"Older","updated_at":"2024-01-02"}`,
		`{"id":"`+account(2)+`","name":"Last file","updated_at":"2024-01-01"}`,
		`{"id":"`+account(3)+`","name":"Older than its deletion","updated_at":"2024-01-01"}`)))
	fatal(t, err)
	fatal(t, z.Close())
	write(t, second, packed.String())
	o := w.options(t, nil)
	o.Files = []delta.File{{Dataset: catalog.Accounts, Path: first}, {Dataset: catalog.Accounts, Path: second}}
	report := w.apply(t, o)
	names := map[string]string{}
	for n := 1; n <= 4; n++ {
		if r := w.record(t, catalog.Accounts, account(n)); r != nil {
			names[account(n)] = r["name"].(string)
		}
	}
	if diff := cmp.Diff(map[string]string{account(1): "Newest", account(2): "Last file", account(4): "Not deleted"}, names); diff != "" {
		t.Error(diff)
	}
	if c := report.Datasets[len(report.Datasets)-1].Counts; c.Lines != 7 || c.Replaced != 3 || c.Created != 3 || c.Absent != 1 {
		t.Errorf("%+v", c)
	}
}

// What is neither a record nor a deletion is left out and said.
func TestBadLinesAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	bad := []struct{ line, field, reason string }{
		{`{"id":"x","deleted":true}`, "id", "is not a UUID"},
		{`{"deleted":true}`, "id", "required"},
		{`{"id":"` + account(1) + `","deleted":true,"name":"Firm"}`, "name", "unknown key of a deletion: it has id, deleted and updated_at"},
		{`{"id":"` + account(1) + `","deleted":1}`, "deleted", "must be true or false"},
		{`{"id":"` + account(1) + `","deleted":true,"updated_at":"soon"}`, "updated_at", "is not a date (YYYY-MM-DD or RFC 3339)"},
		{`{"id":"` + account(1) + `","deleted":true,"deleted":true}`, "", "a key is given twice"},
		{`{"id":"` + account(1) + `"}`, "name", "required"},
		{`[]`, "", "not a JSON object"},
	}
	input := []string{`{"id":"` + account(9) + `","name":"Good"}`}
	want := []string{}
	for i, b := range bad {
		input = append(input, b.line)
		want = append(want, fmt.Sprintf("accounts.ndjson:%d %s: %s", i+2, b.field, b.reason))
	}
	o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(input...)})
	report := w.apply(t, o)
	var got []string
	for _, p := range report.Problems {
		got = append(got, fmt.Sprintf("%s:%d %s: %s", p.File, p.Line, p.Field, p.Reason))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if report.LeftOut() != int64(len(bad)) || w.record(t, catalog.Accounts, account(9)) == nil ||
		w.record(t, catalog.Accounts, account(1)) != nil {
		t.Errorf("%+v", report)
	}
	left, err := os.ReadFile(report.DeadLetters)
	if fatal(t, err); bytes.Count(left, []byte("\n")) != len(bad) {
		t.Errorf("%s", left)
	}

	// Lines of which none says anything are another dataset's.
	o = w.options(t, map[catalog.Dataset]string{catalog.Signals: lines(input...)})
	if _, err := delta.Apply(t.Context(), o); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "none of its 9 lines") {
		t.Error(err)
	}
	// A file of dead letters may hold anything.
	letters := filepath.Join(t.TempDir(), "letters.ndjson")
	write(t, letters, lines(`{"dataset":"accounts","file":"a","line":1,"problems":[],"record":{"id":"`+account(1)+`","name":"Mended"}}`,
		`{"dataset":"accounts","text":"{\"id\":\"`+account(2)+`\",\"name\":\"From a text\"}"}`,
		`{"dataset":"firms","record":{}}`, `{"dataset":"accounts"}`, `nothing`))
	o = w.options(t, nil)
	o.Corrected = []string{letters}
	report = w.apply(t, o)
	if report.Changed() != 2 || report.LeftOut() != 3 || w.record(t, catalog.Accounts, account(1)) == nil ||
		w.record(t, catalog.Accounts, account(2)) == nil {
		t.Errorf("%+v", report)
	}
}

// A record that Elasticsearch refuses becomes a dead letter; the others are written. Transient
// failures are retried.
func TestRefusedRecordsAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, map[catalog.Dataset]string{catalog.Projects: lines(`{"id":"`+project(1)+`","name":"Tower","updated_at":"2024-01-01"}`,
		`{"id":"`+project(2)+`","name":"Hall","updated_at":"2024-01-01"}`)})
	var bulks atomic.Int64
	address := proxy(t, func(rw http.ResponseWriter, r *http.Request, body []byte) []byte {
		if isBulk(r) && bulks.Add(1) <= 2 {
			rw.Header().Set("X-Elastic-Product", "Elasticsearch")
			http.Error(rw, `{"error":{"type":"es_rejected_execution_exception","reason":"busy"},"status":429}`, http.StatusTooManyRequests)
			return nil
		}
		if !isBulk(r) {
			return body
		}
		return bytes.ReplaceAll(body, []byte(`"name":"Poison"`), []byte(`"name":{"of":"poison"}`))
	}, nil)
	o := w.options(t, map[catalog.Dataset]string{catalog.Projects: lines(
		`{"id":"`+project(1)+`","name":"Poison","updated_at":"2024-01-02","account_ids":["`+account(1)+`"]}`,
		`{"id":"`+project(2)+`","name":"New Hall","updated_at":"2024-01-02"}`)})
	o.Elastic = searchtest.NewClient(t, address)
	report := w.apply(t, o)
	counts := report.Datasets[slices.IndexFunc(
		report.Datasets, func(d delta.DatasetReport) bool { return d.Dataset == catalog.Projects },
	)].Counts
	if diff := cmp.Diff(delta.Counts{Lines: 2, Updated: 1, Refused: 1}, counts); diff != "" {
		t.Error(diff)
	}
	if len(report.Problems) != 1 || report.Problems[0].Line != 1 {
		t.Errorf("%+v", report.Problems)
	}
	left, err := os.ReadFile(report.DeadLetters)
	fatal(t, err)
	var letter struct {
		Dataset, File string
		Line          int
		Record        struct{ ID, Name string }
	}
	if fatal(t, json.Unmarshal(left, &letter)); letter.Record.ID != project(1) || letter.Record.Name != "Poison" ||
		letter.Dataset != "projects" {
		t.Errorf("%s", left)
	}
	if w.record(t, catalog.Projects, project(1))["name"] != "Tower" || w.record(t, catalog.Projects, project(2))["name"] != "New Hall" {
		t.Error("something else is there")
	}
	// The corrected record is applied and published.
	w.notifications.take()
	o = w.options(t, nil)
	o.Corrected = []string{report.DeadLetters}
	if report := w.apply(t, o); report.Changed() != 1 || w.notifications.take()[project(1)] != 1 {
		t.Errorf("%+v", report)
	}
}

// A parent with more children than its document holds: counts are exact, and
// the newest are there, after children come, go and move.
func TestManyChildren(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	at := time.UnixMilli(day(1))
	all := []change{
		{d: catalog.Accounts, id: account(1), at: day(1), fields: `,"name":"Firm"`},
		{d: catalog.Projects, id: project(1), at: day(1), fields: `,"name":"Tower"`},
	}
	event := func(n, detected int, of string) change {
		return change{d: catalog.Signals, id: signal(n), at: day(1), fields: fmt.Sprintf(
			`,"title":"S","signal_type":"permit_filed","occurred_at":"2024-01-01","detected_at":%q,"project_id":%q,"account_ids":["%s"]`, dayText(detected), of, account(1))}
	}
	for n := range 1_200 {
		all = append(all, event(n, n, project(1)))
	}
	m.apply(t, all, at)
	w.load(t, m.files())
	w.wantModel(t, m, "loaded")
	for _, step := range [][]change{
		{event(2_000, 0, project(1))},                          // one too many, and too old to be seen
		{event(1_199, 0, project(1)), event(3, 5_000, "null")}, // the newest becomes old, an old one becomes the newest and leaves the project
		{{d: catalog.Signals, id: signal(1_198), deleted: true}, {d: catalog.Signals, id: signal(7), deleted: true}},
	} {
		for i := range step {
			step[i].at = day(2)
			step[i].fields = strings.Replace(step[i].fields, `"null"`, `null`, 1)
		}
		m.apply(t, step, at)
		o := w.options(t, byDataset(step))
		o.Now = func() time.Time { return at }
		w.apply(t, o)
		w.wantModel(t, m, fmt.Sprint(step))
	}
	if r := w.record(t, catalog.Projects, project(1)); r["signals_count"] != 1198.0 {
		t.Errorf("%v", r["signals_count"])
	}
}

// Without a generation to change there is nothing to do.
func TestNothingIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(`{"id":"` + account(1) + `","name":"Firm"}`)})
	if _, err := delta.Apply(t.Context(), o); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "load all first") {
		t.Error(err)
	}
}
