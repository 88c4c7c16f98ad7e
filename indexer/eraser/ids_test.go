package eraser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/erasure"
	"atlas/search/catalog"
)

func contactLine(n int, rest string) string {
	return `{"id":"` + contact(n) + `","account_id":"` + account(1) + `"` + rest + `}`
}

// there are which of the contacts the served generation has.
func (w *world) there(t *testing.T, contacts ...int) (found []int) {
	t.Helper()
	for _, n := range contacts {
		records, err := w.Live(w.Names).Lookup(t.Context(), catalog.Contacts, []string{contact(n)})
		fatal(t, err)
		if len(records) > 0 {
			found = append(found, n)
		}
	}
	return found
}

// idsOf are the kinds of the suppressions whose ids are in the list, once for each id.
func (w *world) idsOf(t *testing.T) (kinds []string) {
	t.Helper()
	rows, err := w.admin.Query(t.Context(), `
		SELECT of.kind FROM suppressions s JOIN suppressions of ON of.id = s.of_id
		WHERE s.kind = 'id' AND s.removed_at IS NULL ORDER BY s.seq`)
	fatal(t, err)
	defer rows.Close()
	for rows.Next() {
		var kind string
		fatal(t, rows.Scan(&kind))
		kinds = append(kinds, kind)
	}
	fatal(t, rows.Err())
	return kinds
}

// entry is the suppression by a kind that belongs to no other.
func (w *world) entry(t *testing.T, kind erasure.Kind) (id uuid.UUID) {
	t.Helper()
	fatal(t, w.admin.QueryRow(t.Context(),
		`SELECT id FROM suppressions WHERE kind = $1 AND of_id IS NULL AND removed_at IS NULL`, string(kind)).Scan(&id))
	return id
}

// A contact that was left out because of its suppressed address stays out with another address,
// until the suppression is removed.
func TestIDsOfSuppressedAddresses(t *testing.T) {
	t.Parallel()
	const hit = `,"name":"X","email":" ADALGISA@quillfeather.example"`
	const other = `,"name":"Y","email":"other@firm.example"`
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	before := w.idsOf(t)

	// 3 by a load, 4 by a line that is no record, 5 by a delta; 6 is left out of neither.
	w.load(t, files(contactLine(3, hit), contactLine(4, hit+`,"wrong":1`), contactLine(6, other)))
	got := w.apply(t, catalog.Contacts, contactLine(5, hit), contactLine(7, hit+`,"wrong":1`))
	if got.Suppressed != 2 || got.Rejected != 0 {
		t.Errorf("%+v", got.Counts)
	}
	ids := w.idsOf(t)[len(before):]
	if len(ids) != 4 || slices.ContainsFunc(ids, func(of string) bool { return of != string(erasure.Email) }) {
		t.Errorf("ids of %v", ids)
	}
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail}) // a repetition changes nothing
	repeat := func(when string) {
		t.Helper()
		others := []string{contactLine(3, other), contactLine(4, other), contactLine(5, other), contactLine(6, other), contactLine(7, other)}
		report := w.load(t, files(others...))
		w.apply(t, catalog.Contacts, others...)
		if found := w.there(t, 3, 4, 5, 6, 7); !slices.Equal(found, []int{6}) {
			t.Errorf("%s: there are %v", when, found)
		}
		for _, of := range report.Datasets {
			if of.Dataset == catalog.Contacts && of.Suppressed < 4 {
				t.Errorf("%s: %+v", when, of)
			}
		}
	}
	repeat("with other values")
	repeat("a second time")
	if now := w.idsOf(t)[len(before):]; len(now) != 4 {
		t.Errorf("ids of %v", now)
	}

	fatal(t, w.system.RemoveSuppression(t.Context(), w.entry(t, erasure.Email), "test"))
	if left := w.idsOf(t); len(left) > 0 {
		t.Errorf("after remove: %v", left)
	}
	w.apply(t, catalog.Contacts, contactLine(3, other), contactLine(5, other))
	if found := w.there(t, 3, 5); len(found) != 2 {
		t.Errorf("after remove there are %v", found)
	}
}

// A colleague who gets a suppressed number, and a namesake who joins the firm, are left out
// only as long as they have it.
func TestValuesOfOthers(t *testing.T) {
	t.Parallel()
	for kind, of := range map[erasure.Kind]struct {
		erasure.Values
		hit string
	}{
		erasure.Phone:    {erasure.Values{Phone: "+1 403 555 0917"}, `,"name":"X","phone":"403.555.0917"`},
		erasure.NameFirm: {erasure.Values{Name: adaName, Firm: "Firm"}, `,"name":"` + adaName + `","account_name":"FIRM"`},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.load(t, files())
			w.suppress(t, kind, of.Values)
			before := w.idsOf(t)
			w.load(t, files(contactLine(3, of.hit)))
			w.apply(t, catalog.Contacts, contactLine(4, of.hit))
			if ids := w.idsOf(t)[len(before):]; len(ids) > 0 || len(w.there(t, 3, 4)) > 0 {
				t.Errorf("ids of %v, there are %v", ids, w.there(t, 3, 4))
			}
			own := []string{contactLine(3, `,"name":"Y"`), contactLine(4, `,"name":"Z"`)}
			w.apply(t, catalog.Contacts, own...)
			if found := w.there(t, 3, 4); len(found) != 2 {
				t.Errorf("with values of their own there are %v", found)
			}
		})
	}
}

// A line that is no record takes effect as a record would: not before a later line, and not if
// its id or its time is unclear.
func TestMalformedLines(t *testing.T) {
	t.Parallel()
	const wrong = `,"email":"` + adaEmail + `","wrong":1`
	newer := contactLine(3, `,"name":"C","email":"c@firm.example","updated_at":"2025-01-01T00:00:00Z"`)
	for what, line := range map[string]string{
		"older":         contactLine(3, wrong+`,"updated_at":"2019-01-01"`),
		"without time":  contactLine(3, wrong+`,"updated_at":"soon"`),
		"with two ids":  contactLine(4, wrong+`,"id":"`+contact(3)+`"`),
		"older, merged": contactLine(3, wrong+`,"updated_at":"2019-01-01","merged_into":"`+contact(4)+`"`),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.load(t, files(newer))
			w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
			before := len(w.idsOf(t))
			w.apply(t, catalog.Contacts, line)
			if len(w.there(t, 3)) != 1 || len(w.idsOf(t)) != before {
				t.Errorf("a delta: there are %v, ids %d more", w.there(t, 3), len(w.idsOf(t))-before)
			}
			w.load(t, files(line, newer))
			if len(w.there(t, 3)) != 1 || len(w.idsOf(t)) != before {
				t.Errorf("a load: there are %v, ids %d more", w.there(t, 3), len(w.idsOf(t))-before)
			}
		})
	}
}

// An address that a link suppressed takes no ids, even if an earlier version stored that its id
// belongs to nothing.
func TestLinkOfBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	s := w.of(t, erasure.Email, erasure.Values{Email: adaEmail}, uuid.Nil)
	s.By = erasure.ByLink
	_, err := w.system.AddSuppressions(t.Context(), []erasure.Suppression{s}, nil)
	fatal(t, err)
	_, err = w.Finish(t.Context(), nil)
	fatal(t, err)
	w.apply(t, catalog.Contacts, contactLine(3, `,"name":"C","email":"`+adaEmail+`"`))
	w.apply(t, catalog.Contacts, contactLine(3, `,"name":"C","email":"c@firm.example"`))
	if len(w.idsOf(t)) > 0 || len(w.there(t, 3)) != 1 {
		t.Errorf("ids of %v, there are %v", w.idsOf(t), w.there(t, 3))
	}
}

// What an old generation has of the address takes no id: the record has another one by now.
func TestAddressOfAnOldGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, now := contactLine(3, `,"name":"C","email":"c@firm.example"`), contactLine(4, `,"name":"D","email":"`+adaEmail+`"`)
	w.load(t, files(contactLine(3, `,"name":"C","email":"`+adaEmail+`"`)))
	w.load(t, files(own, now))
	s := w.of(t, erasure.Email, erasure.Values{Email: adaEmail}, uuid.Nil)
	_, err := w.system.AddSuppressions(t.Context(), []erasure.Suppression{s}, nil)
	fatal(t, err)
	_, err = w.Finish(t.Context(), nil)
	fatal(t, err)
	w.load(t, files(own, strings.Replace(now, adaEmail, "d@firm.example", 1)))
	if found := w.there(t, 3, 4); !slices.Equal(found, []int{3}) {
		t.Errorf("there are %v", found)
	}
}

// of is an entry of another installation.
func (w *world) of(t *testing.T, kind erasure.Kind, v erasure.Values, of uuid.UUID) erasure.Suppression {
	t.Helper()
	s, err := w.Keys.New(catalog.Contacts, kind, v)
	fatal(t, err)
	s.By, s.Added, s.Of = "elsewhere", time.Now(), of
	return s
}

// An id that an operator removes from a suppression is not added again by a delta, or by an
// imported list.
func TestReleasedID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	s := w.of(t, erasure.Email, erasure.Values{Email: "info@firm.example"}, uuid.Nil)
	_, err := w.system.AddSuppressions(t.Context(), []erasure.Suppression{s}, nil)
	fatal(t, err)
	shared := contactLine(3, `,"name":"C","email":"info@firm.example"`)
	w.apply(t, catalog.Contacts, shared)
	exported, err := w.system.Suppressions(t.Context())
	fatal(t, err)
	var child uuid.UUID
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT id FROM suppressions WHERE of_id IS NOT NULL`).Scan(&child))
	fatal(t, w.system.RemoveSuppression(t.Context(), child, "test"))
	if got := w.apply(t, catalog.Contacts, shared); got.Suppressed != 1 {
		t.Errorf("%+v", got.Counts)
	}
	parent := w.of(t, erasure.Email, erasure.Values{Email: "info@firm.example"}, uuid.Nil)
	for _, list := range [][]erasure.Suppression{exported, {parent, w.of(t, erasure.ID, erasure.Values{ID: contact(3)}, parent.ID)}} {
		_, err := w.system.ImportSuppressions(t.Context(), list)
		fatal(t, err)
		if ids := w.idsOf(t); len(ids) > 0 {
			t.Errorf("put in again: %v", ids)
		}
	}
	_, err = w.Finish(t.Context(), nil)
	fatal(t, err)
	w.apply(t, catalog.Contacts, contactLine(3, `,"name":"C","email":"c@firm.example"`))
	if found := w.there(t, 3); len(found) != 1 {
		t.Error("is not there with an address of its own")
	}
}

// A suppression by id and one by a value of the same record are independent.
func TestIDAndValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	w.suppress(t, erasure.ID, erasure.Values{ID: contact(1)})
	fatal(t, w.system.RemoveSuppression(t.Context(), w.entry(t, erasure.Email), "test"))
	w.load(t, files())
	if found := w.there(t, 1); len(found) > 0 {
		t.Error("the record is back, but its id is suppressed")
	}
}

// A load that is refused, or killed before the switch, adds no ids: its file may be wrong. If
// it is resumed, it still has the ids that it found.
func TestIDsOfInterruptedLoads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	before := len(w.idsOf(t))
	const wrong = `,"name":"C","email":"` + adaEmail + `"`

	o := w.loadOptions(t, map[catalog.Dataset]string{catalog.Contacts: contactLine(3, wrong) + "\n"})
	o.MinShare = 0.9
	if _, err := indexer.Load(t.Context(), o); err == nil {
		t.Fatal("a load of a single contact is not refused")
	}
	if n := len(w.idsOf(t)) - before; n != 0 {
		t.Errorf("a refused load suppresses %d ids", n)
	}

	o = w.loadOptions(t, files(contactLine(3, wrong)))
	o.WorkDir, o.CheckpointRecords = t.TempDir(), 1
	ctx, kill := context.WithCancel(t.Context())
	o.Progress = func(p indexer.Progress) {
		if p.Phase == indexer.Ending {
			kill()
		}
	}
	if _, err := indexer.Load(ctx, o); err == nil {
		t.Fatal("not killed")
	}
	if n := len(w.idsOf(t)) - before; n != 0 {
		t.Errorf("a killed load suppresses %d ids", n)
	}
	o.Progress = nil
	report, err := indexer.Load(t.Context(), o)
	fatal(t, err)
	if report.Resumed != 1 || !strings.Contains(strings.Join(report.Notes, " "), "suppressed") {
		t.Errorf("%+v", report)
	}
	if n := len(w.idsOf(t)) - before; n != 1 {
		t.Errorf("the load suppresses %d ids", n)
	}
}

// If a value is suppressed while a generation is filled, the ids of its records are suppressed
// too.
func TestIDsOfPurgedRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	o := w.loadOptions(t, files(contactLine(3, `,"name":"C","email":"`+adaEmail+`"`)))
	o.Progress = func(p indexer.Progress) {
		if p.Phase == indexer.Indexing && w.idsOf(t) == nil {
			w.list(t, catalog.Contacts, erasure.Email, erasure.Values{Email: adaEmail})
		}
	}
	_, err := indexer.Load(t.Context(), o)
	fatal(t, err)
	if ids := w.idsOf(t); len(ids) != 2 {
		t.Errorf("ids of %v", ids)
	}
	_, err = w.Finish(t.Context(), nil)
	fatal(t, err)
	w.load(t, files(contactLine(3, `,"name":"C","email":"c@firm.example"`)))
	if found := w.there(t, 3); len(found) > 0 {
		t.Error("is back with another address")
	}
}

// An address of very many contacts is no person's: a wrong load or delta suppresses none of
// their ids, and the next one loads them all.
func TestIDsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	before := len(w.idsOf(t))
	var notes []string
	w.Note = func(text string) { notes = append(notes, text) }
	var wrong, right []string
	var numbers []int
	for n := range erasure.MaxIDs + 5 {
		numbers = append(numbers, 100+n)
		wrong = append(wrong, contactLine(100+n, `,"name":"C","email":"`+adaEmail+`"`))
		right = append(right, contactLine(100+n, fmt.Sprintf(`,"name":"C","email":"c%d@firm.example"`, n)))
	}
	w.load(t, files(wrong...))
	if n := len(w.idsOf(t)) - before; n != 0 || !strings.Contains(strings.Join(notes, " "), "more than 100 records") {
		t.Errorf("a load: %d ids, notes: %q", n, notes)
	}
	w.load(t, files(right...))
	notes = nil
	w.apply(t, catalog.Contacts, wrong...)
	if n := len(w.idsOf(t)) - before; n != 0 || !strings.Contains(strings.Join(notes, " "), "more than 100 records") {
		t.Errorf("a delta: %d ids, notes: %q", n, notes)
	}
	w.apply(t, catalog.Contacts, right...)
	if back := w.there(t, numbers...); len(back) != len(numbers) {
		t.Errorf("of %d are back: %d", len(numbers), len(back))
	}
}
