package eraser_test

import (
	"context"
	"slices"
	"strings"
	"testing"

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

// A record that a suppressed value left out stays out when it has another value later, until
// the suppression of that value is removed.
func TestIDsOfSuppressedValues(t *testing.T) {
	t.Parallel()
	values := map[erasure.Kind]erasure.Values{
		erasure.Email:    {Email: adaEmail},
		erasure.Phone:    {Phone: "+1 403 555 0917"},
		erasure.NameFirm: {Name: adaName, Firm: "Firm"},
	}
	hit := map[erasure.Kind]string{
		erasure.Email:    `,"name":"X","email":" ADALGISA@quillfeather.example"`,
		erasure.Phone:    `,"name":"X","phone":"403.555.0917"`,
		erasure.NameFirm: `,"name":"` + adaName + `","account_name":"FIRM"`,
	}
	const other = `,"name":"Y","email":"other@firm.example"`
	for kind, v := range values {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.load(t, files())
			w.suppress(t, kind, v)
			before := w.idsOf(t)

			// 3 by a load, 4 by a line that is no record, 5 by a delta; 6 is left out of neither.
			w.load(t, files(contactLine(3, hit[kind]), contactLine(4, hit[kind]+`,"wrong":1`), contactLine(6, other)))
			got := w.apply(t, catalog.Contacts, contactLine(5, hit[kind]), contactLine(7, hit[kind]+`,"wrong":1`))
			if got.Suppressed != 2 || got.Rejected != 0 {
				t.Errorf("%+v", got.Counts)
			}
			ids := w.idsOf(t)[len(before):]
			if len(ids) != 4 || slices.ContainsFunc(ids, func(of string) bool { return of != string(kind) }) {
				t.Errorf("ids of %v", ids)
			}
			w.suppress(t, kind, v) // a repetition changes nothing
			again := func(when string) {
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
			again("with other values")
			again("a second time")
			if now := w.idsOf(t)[len(before):]; len(now) != 4 {
				t.Errorf("ids of %v", now)
			}

			fatal(t, w.system.RemoveSuppression(t.Context(), w.entry(t, kind), "test"))
			if left := w.idsOf(t); len(left) > 0 {
				t.Errorf("after remove: %v", left)
			}
			w.apply(t, catalog.Contacts, contactLine(3, other), contactLine(5, other))
			if found := w.there(t, 3, 5); len(found) != 2 {
				t.Errorf("after remove there are %v", found)
			}
		})
	}
}

// An id that an operator takes out of a suppression is not put in again: of a namesake, or of
// who has the number of a switchboard.
func TestReleasedID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Phone, erasure.Values{Phone: "403 555 0917"})
	shared := contactLine(3, `,"name":"C","phone":"403 555 0917"`)
	w.apply(t, catalog.Contacts, shared)
	var child uuid.UUID
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT id FROM suppressions WHERE of_id IS NOT NULL`).Scan(&child))
	fatal(t, w.system.RemoveSuppression(t.Context(), child, "test"))
	if got := w.apply(t, catalog.Contacts, shared); got.Suppressed != 1 {
		t.Errorf("%+v", got.Counts)
	}
	if ids := w.idsOf(t); len(ids) > 0 {
		t.Errorf("put in again: %v", ids)
	}
	w.apply(t, catalog.Contacts, contactLine(3, `,"name":"C","phone":"403 555 0918"`))
	if found := w.there(t, 3); len(found) != 1 {
		t.Error("is not there with a number of its own")
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

// A load that is refused, or killed before the switch, erases nobody: its file may be wrong.
// When it goes on, the ids that were found before are not lost.
func TestIDsOfInterruptedLoads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Phone, erasure.Values{Phone: "403 555 0917"})
	before := len(w.idsOf(t))
	const wrong = `,"name":"C","phone":"403 555 0917"`

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

// What a generation has of a value that was suppressed while it was filled is suppressed by id
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

// A value of very many records is no person's: the list does not grow with them.
func TestIDsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Phone, erasure.Values{Phone: "403 555 0917"})
	var notes []string
	w.Note = func(text string) { notes = append(notes, text) }
	var lines []string
	for n := range erasure.MaxIDs + 5 {
		lines = append(lines, contactLine(100+n, `,"name":"C","phone":"403 555 0917"`))
	}
	w.load(t, files(lines...))
	if n := len(w.idsOf(t)); n != erasure.MaxIDs {
		t.Errorf("%d ids", n)
	}
	w.apply(t, catalog.Contacts, lines[len(lines)-1])
	if n := len(w.idsOf(t)); n != erasure.MaxIDs || !strings.Contains(strings.Join(notes, " "), "1000") {
		t.Errorf("%d ids, notes: %q", n, notes)
	}
}
