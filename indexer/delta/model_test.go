package delta_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/indexer/delta"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
)

// model has the served records and the deletions, in memory.
type model struct {
	records map[catalog.Dataset]map[string]document.Record
	gone    map[string]int64
}

func newModel() *model {
	m := &model{map[catalog.Dataset]map[string]document.Record{}, map[string]int64{}}
	for _, d := range catalog.Datasets {
		m.records[d] = map[string]document.Record{}
	}
	return m
}

// change is a line of a delta, as the model sees it. When at is 0 the line has
// no updated_at.
type change struct {
	d       catalog.Dataset
	id      string
	at      int64 // milliseconds
	deleted bool
	fields  string // of the record, without id and updated_at
}

func (c change) line() string {
	s := fmt.Sprintf(`{"id":%q`, c.id)
	if c.at != 0 {
		s += fmt.Sprintf(`,"updated_at":%q`, time.UnixMilli(c.at).UTC().Format(time.RFC3339Nano))
	}
	if c.deleted {
		return s + `,"deleted":true}`
	}
	return s + c.fields + "}"
}

// apply applies changes, of each id the effective one, and returns the expected report. It
// is an independent implementation of docs/data.md, "Deltas".
func (m *model) apply(t testing.TB, changes []change, started time.Time) map[catalog.Dataset]*delta.Counts {
	now := started.UnixMilli()
	winners := map[string]change{}
	counts := map[catalog.Dataset]*delta.Counts{}
	for _, d := range catalog.Datasets {
		counts[d] = &delta.Counts{}
	}
	for _, c := range changes {
		before, repeated := winners[string(c.d)+c.id]
		counts[c.d].Lines++
		if repeated {
			counts[c.d].Replaced++
		}
		if at := cmp.Or(c.at, now); !repeated || at >= cmp.Or(before.at, now) {
			winners[string(c.d)+c.id] = c
		}
	}
	for _, c := range winners {
		old, there := m.records[c.d][c.id]
		at := cmp.Or(c.at, now)
		if c.deleted {
			switch {
			case !there:
				counts[c.d].Absent++
			case c.at != 0 && c.at < old.Millis("updated_at"):
				counts[c.d].Older++
				continue
			default:
				counts[c.d].Deleted++
				if c.at == 0 {
					at = max(at, old.Millis("updated_at")+1)
				}
			}
			delete(m.records[c.d], c.id)
			m.gone[c.id] = max(m.gone[c.id], at)
			continue
		}
		if there && at < old.Millis("updated_at") || !there && at < m.gone[c.id] {
			counts[c.d].Older++
			continue
		}
		defaults := started
		if there {
			defaults = time.UnixMilli(old.Millis("created_at"))
		}
		given := c.line()
		if c.at == 0 {
			// The same but for its updated_at is the same.
			given = fmt.Sprintf(`{"id":%q,"updated_at":%q%s}`, c.id, time.UnixMilli(now).UTC().Format(time.RFC3339Nano), c.fields)
			if there {
				untouched := fmt.Sprintf(
					`{"id":%q,"updated_at":%q%s}`, c.id,
					time.UnixMilli(old.Millis("updated_at")).UTC().Format(time.RFC3339Nano), c.fields,
				)
				if alike(t, parse(t, c.d, untouched, defaults), old) {
					counts[c.d].Unchanged++
					continue
				}
			}
		}
		record := parse(t, c.d, given, defaults)
		switch {
		case !there:
			counts[c.d].Created++
		case alike(t, record, old):
			counts[c.d].Unchanged++
		default:
			counts[c.d].Updated++
		}
		m.records[c.d][c.id] = record
	}
	return counts
}

// wantCounts compares a report with the model's.
func wantCounts(t *testing.T, want map[catalog.Dataset]*delta.Counts, report delta.Report, when string) {
	t.Helper()
	got := map[catalog.Dataset]*delta.Counts{}
	for _, d := range report.Datasets {
		d.Followed = 0 // the model does not know who follows
		got[d.Dataset] = &d.Counts
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// drawn are random changes, and how to say which.
func drawn(seed int) ([]change, string) {
	all := changes.Example(seed)
	said := fmt.Sprintf("seed %d", seed)
	for _, c := range all {
		said += "\n" + c.line()
	}
	return all, said
}

func parse(t testing.TB, d catalog.Dataset, line string, at time.Time) document.Record {
	r, problems := document.Parse(d, []byte(line), at)
	if len(problems) > 0 {
		t.Fatal(problems, line)
	}
	return r
}

// alike reports whether two records have the same given values.
func alike(t testing.TB, a, b document.Record) bool {
	bare := func(r document.Record) string {
		reparsed := parse(t, r.Dataset, string(r.AppendPublic(nil)), time.Time{})
		return string(reparsed.AppendPublic(nil))
	}
	return bare(a) == bare(b)
}

// documents are the expected documents of the indices.
func (m *model) documents() map[catalog.Dataset]map[string]stored {
	all := map[catalog.Dataset]map[string]stored{}
	for _, d := range catalog.Datasets { // children first: their derived values are in their fragments
		all[d] = map[string]stored{}
		for id, r := range m.records[d] {
			r.SetFirms(searchtest.FirmNames(maps.Values(m.records[catalog.Accounts])))
			digest, _ := document.Digest(document.Build(r, searchtest.Children{
				Parent: d, ID: id,
				Records: func(child catalog.Dataset) iter.Seq[document.Record] { return maps.Values(m.records[child]) },
			}))
			all[d][id] = stored{string(r.AppendPublic(nil)), digest}
		}
	}
	return all
}

// files are the model as files of a load.
func (m *model) files() map[catalog.Dataset]string {
	files := map[catalog.Dataset]string{}
	for _, d := range catalog.Datasets {
		for _, r := range m.records[d] {
			files[d] += string(r.AppendPublic(nil)) + "\n"
		}
	}
	return files
}

func (w *world) wantModel(t *testing.T, m *model, when string) {
	t.Helper()
	if diff := gocmp.Diff(m.documents(), w.documents(t)); diff != "" {
		t.Fatalf("%s (-want +got):\n%.4000s", when, diff)
	}
}

// day is a time of few different ones, so that they tie.
func day(n int) int64 { return time.Date(2024, 1, 1+n, 0, 0, 0, 0, time.UTC).UnixMilli() }

func dayText(n int) string { return time.UnixMilli(day(n)).UTC().Format(time.RFC3339) }

// changes draws lines of a delta: few ids, so that they repeat, links that come,
// go and dangle, deletions and returns.
var changes = rapid.Custom(func(t *rapid.T) []change {
	const ids = 7
	number := rapid.IntRange(0, ids)
	list := func(of func(int) string) string {
		var all []string
		for _, n := range rapid.SliceOfNDistinct(number, 0, 3, rapid.ID[int]).Draw(t, "links") {
			all = append(all, of(n))
		}
		raw, _ := json.Marshal(all)
		return string(raw)
	}
	days := rapid.IntRange(0, 5)
	one := func() change {
		c := change{d: rapid.SampledFrom(catalog.Datasets).Draw(t, "dataset")}
		n := number.Draw(t, "id")
		if rapid.IntRange(0, 3).Draw(t, "dated") > 0 {
			c.at = day(days.Draw(t, "updated"))
		}
		c.deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		created := fmt.Sprintf(`,"created_at":%q`, dayText(days.Draw(t, "created")))
		switch c.d {
		case catalog.Accounts:
			c.id, c.fields = account(n), fmt.Sprintf(`%s,"name":"Firm %d"`, created, days.Draw(t, "name"))
		case catalog.Contacts:
			c.id, c.fields = contact(n), fmt.Sprintf(
				`%s,"name":"Person","phone":"%d","account_id":%q`, created, days.Draw(t, "phone"),
				account(number.Draw(t, "firm")),
			)
		case catalog.Projects:
			c.id, c.fields = project(n), fmt.Sprintf(`%s,"name":"Tower","detected_at":%q,"cost":%d.5e7,"account_ids":%s,"contact_ids":%s`, created,
				dayText(days.Draw(t, "detected")), days.Draw(t, "cost"), list(account), list(contact))
		case catalog.Signals:
			c.id, c.fields = signal(n), fmt.Sprintf(`%s,"title":"S","signal_type":"permit_filed","occurred_at":"2024-01-01","detected_at":%q,"project_id":%q,"account_ids":%s`,
				created, dayText(days.Draw(t, "detected")), project(number.Draw(t, "project")), list(account))
		}
		return c
	}
	all := make([]change, rapid.IntRange(1, 25).Draw(t, "size"))
	for i := range all {
		all[i] = one()
	}
	return all
})

func byDataset(all []change) map[catalog.Dataset]string {
	files := map[catalog.Dataset]string{}
	for _, c := range all {
		files[c.d] += c.line() + "\n"
	}
	return files
}

// After any deltas the served documents are those of a load of the same records: counts,
// dates, nested children, to the last byte. A delta that is applied twice changes and
// writes nothing.
func TestDeltasEqualModel(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	w.load(t, nil)
	for round := range 6 {
		lines, when := drawn(int(time.Now().UnixNano()))
		o := w.options(t, byDataset(lines))
		o.Page = 2 + round
		at := time.UnixMilli(day(round % 7))
		o.Now = func() time.Time { return at }
		want := m.apply(t, lines, at)
		report := w.apply(t, o)
		wantCounts(t, want, report, when)
		w.wantModel(t, m, fmt.Sprintf("round %d at %s, %s", round, at.UTC(), when))
		w.notifications.take()
		if second := w.apply(t, o); second.Changed() > 0 || len(w.notifications.take()) > 0 {
			t.Errorf("%s: again: %+v", when, second.Datasets)
		}
		if round%3 == 2 {
			w.load(t, m.files())
			w.wantModel(t, m, when+"loaded")
		}
	}
}
