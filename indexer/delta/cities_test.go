package delta_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/generation"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/indexer/source/read"
	"atlas/indexer/verify"
	"atlas/internal/durable"
	"atlas/search/catalog"
)

// city is a source whose files come week after week.
type city struct {
	name    string
	head    string
	rows    []string
	options permits.Options
	dir     string
}

func newCity(t *testing.T, name string, rows int) *city {
	t.Helper()
	d, err := source.Open(name)
	fatal(t, err)
	d.Changes.Complete = true
	in, _ := permits.MadeUp(name)
	file, err := in.Open(read.Options{})
	fatal(t, err)
	c := &city{name: name, dir: t.TempDir(), options: permits.Options{Source: d}}
	c.options.State = filepath.Join(c.dir, "state")
	c.head = strings.Join(file.Columns(), "\x1f")
	for len(c.rows) < rows {
		row, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		fatal(t, err)
		c.rows = append(c.rows, strings.Join(row.Cells, "\x1f"))
	}
	return c
}

// convert converts the rows of a week. It returns the lines, by dataset.
func (c *city) convert(t *testing.T, week int, rows []string, accounts ...string) map[catalog.Dataset]string {
	t.Helper()
	var b bytes.Buffer
	for _, row := range append([]string{c.head}, rows...) {
		for i, cell := range strings.Split(row, "\x1f") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.ReplaceAll(strings.ReplaceAll(cell, `"`, `""`), "\n", " ") + `"`)
		}
		b.WriteByte('\n')
	}
	o := c.options
	o.Inputs, o.Accounts = []permits.Input{permits.Memory(c.name+".csv", b.Bytes())}, accounts
	o.AsOf = time.Date(2026, 11, 2+7*week, 0, 0, 0, 0, time.UTC)
	o.Dir = filepath.Join(c.dir, "week", string(rune('0'+week)))
	if week > 0 {
		o.Since = o.State
	}
	report, err := permits.Convert(t.Context(), o)
	fatal(t, err)
	if report.RefusedRows > 0 {
		t.Fatalf("%+v", report.Refused)
	}
	files := map[catalog.Dataset]string{}
	for _, d := range catalog.Datasets {
		var all strings.Builder
		fatal(t, ndjson.EachLine(o.Dir, string(d), func(_ int64, line []byte) error {
			all.Write(append(line, '\n'))
			return nil
		}))
		files[d] = all.String()
	}
	return files
}

// cityModel is the expected content of Atlas: for each id the line that changed last.
type cityModel map[catalog.Dataset]map[string]string

func (m cityModel) take(t *testing.T, files map[catalog.Dataset]string) {
	t.Helper()
	for d, text := range files {
		if m[d] == nil {
			m[d] = map[string]string{}
		}
		for line := range strings.Lines(text) {
			var r struct {
				ID      string `json:"id"`
				Deleted bool   `json:"deleted"`
				Into    string `json:"merged_into"`
			}
			fatal(t, json.Unmarshal([]byte(line), &r))
			if delete(m[d], r.ID); !r.Deleted && r.Into == "" {
				m[d][r.ID] = line
			}
		}
	}
}

func (m cityModel) files() map[catalog.Dataset]string {
	files := map[catalog.Dataset]string{}
	for _, d := range catalog.Datasets {
		for _, id := range slices.Sorted(maps.Keys(m[d])) {
			files[d] += m[d][id]
		}
	}
	return files
}

// terms are the source terms stored in the served generation.
func (w *world) terms(t *testing.T) map[string]catalog.SourceTerms {
	t.Helper()
	first := map[string]catalog.SourceTerms{}
	for _, d := range []catalog.Dataset{catalog.Projects, catalog.Signals} {
		all, err := w.elastic.MappingMeta(t.Context(), w.names.Alias(string(d)))
		fatal(t, err)
		for _, meta := range all {
			of := catalog.Sources{}
			if meta.Sources != nil {
				fatal(t, json.Unmarshal(meta.Sources, &of))
			}
			if len(first) > 0 && !cmp.Equal(first, map[string]catalog.SourceTerms(of)) {
				t.Errorf("the datasets keep other terms: %v, %v", first, of)
			}
			first = of
		}
	}
	return first
}

// folder are options of a load of the expected records.
func (m cityModel) folder(t *testing.T, w *world, cities ...*city) indexer.Options {
	t.Helper()
	o := w.loadOptions(t, m.files())
	terms := catalog.Sources{}
	for _, c := range cities {
		more, err := indexer.ReadSources(filepath.Join(c.dir, "week", "0"))
		fatal(t, err)
		maps.Copy(terms, more)
	}
	fatal(t, durable.ReplaceJSON(filepath.Join(o.Dir, catalog.SourcesFile), terms))
	return o
}

// wantVerified fails unless the served generation equals the files of a load.
func (w *world) wantVerified(t *testing.T, o indexer.Options, when string) {
	t.Helper()
	report, err := verify.Run(t.Context(), verify.Options{Dir: o.Dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry})
	fatal(t, err)
	if !report.Equal {
		t.Errorf("%s: not as the files say: %+v", when, report)
	}
}

// Two cities are loaded, updated for three weeks and rolled back. After each step the
// served records, the result of verify, the feed, the arrivals and the source terms are
// those of a load of the same records.
func TestTwoCities(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calgary, austin := newCity(t, "calgary", 150), newCity(t, "austin", 120)
	m := cityModel{}
	take := func(week int, ofCalgary, ofAustin []string) (files []map[catalog.Dataset]string) {
		files = append(files, calgary.convert(t, week, ofCalgary))
		files = append(files, austin.convert(t, week, ofAustin, filepath.Join(calgary.dir, "week", "0")))
		for _, f := range files {
			m.take(t, f)
		}
		return files
	}
	take(0, calgary.rows[:130], austin.rows[:100])
	before := m.folder(t, w, calgary)
	for range 2 { // the second one can be rolled back
		_, err := indexer.Load(t.Context(), before)
		fatal(t, err)
		before.TempDir = t.TempDir()
	}
	begun, ofCalgary := w.documents(t), w.terms(t)
	if len(ofCalgary) != 1 {
		t.Errorf("terms of calgary: %v", ofCalgary)
	}
	f, arrived := w.follower(t), w.arrivals(t)
	settled := func(when string, rolledBack bool) {
		f.catchUp(t)
		f.wantEqual(t, when)
		arrived = w.wantArrivals(t, arrived, rolledBack, false, when)
	}
	swap := strings.NewReplacer("\x1fIssued Permit\x1f", "\x1fCompleted\x1f", "\x1fActive\x1f", "\x1fFinal\x1f")
	all := func(rows []string, from, to int) []string {
		changed := slices.Clone(rows[from:to])
		for i := range changed {
			if i%7 == 0 {
				changed[i] = swap.Replace(changed[i])
			}
		}
		return changed
	}
	for week, rows := range [][2][]string{
		{all(calgary.rows, 0, 140), all(austin.rows, 0, 110)},  // some change, some are new
		{all(calgary.rows, 10, 150), all(austin.rows, 5, 120)}, // some are gone
		{all(calgary.rows, 0, 150), austin.rows},               // and back
	} {
		when := "week " + string(rune('1'+week))
		take(week+1, rows[0], rows[1])
		for _, c := range []*city{calgary, austin} {
			o := w.options(t, nil)
			var err error
			o.Files, err = delta.Folder(filepath.Join(c.dir, "week", string(rune('1'+week))))
			fatal(t, err)
			o.Feed = w.feed(t)
			w.apply(t, o)
			settled(when+", "+c.name, false)
		}
		fresh := newWorld(t)
		load := m.folder(t, fresh, calgary, austin)
		_, err := indexer.Load(t.Context(), load)
		fatal(t, err)
		if diff := cmp.Diff(fresh.documents(t), w.documents(t)); diff != "" {
			t.Fatalf("%s (-loaded +updated):\n%.4000s", when, diff)
		}
		if diff := cmp.Diff(fresh.terms(t), w.terms(t)); diff != "" {
			t.Errorf("%s: terms (-loaded +updated):\n%s", when, diff)
		}
		w.wantVerified(t, load, when)
	}
	_, err := generation.Rollback(t.Context(), generation.Options{Elastic: w.elastic, Names: w.names, Retry: retry, Feed: w.feed(t)}, "")
	fatal(t, err)
	settled("rolled back", true)
	w.wantVerified(t, before, "rolled back")
	if diff := cmp.Diff(begun, w.documents(t)); diff != "" {
		t.Fatalf("rolled back (-before +after):\n%.4000s", diff)
	}
	if diff := cmp.Diff(ofCalgary, w.terms(t)); diff != "" {
		t.Errorf("rolled back: terms (-before +after):\n%s", diff)
	}
}
