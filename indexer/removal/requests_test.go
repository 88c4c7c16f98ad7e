package removal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer/erasure"
	"atlas/indexer/removal"
	"atlas/internal/fault"
	"atlas/workspace/jobs"
)

// asked is a test setup in which strangers request links.
type asked struct {
	*world
	requests *removal.Requests
	network  netip.Prefix
}

func newAsked(t *testing.T) *asked {
	w := newWorld(t)
	return &asked{w, &removal.Requests{Links: w.Links, Store: w.system, Secrets: [][]byte{[]byte("a key that signs cursors")}},
		netip.MustParsePrefix("203.0.113.7/32")}
}

// answer handles requests as the queue does, and returns the contacts that get an e-mail.
func (w *asked) answer(t *testing.T) (contacts []uuid.UUID) {
	t.Helper()
	before := w.made(t)
	queue, now := w.system.ErasureRequests(), w.Now()
	lanes, err := queue.DueLanes(t.Context(), "", now, uuid.Nil, 1)
	fatal(t, err)
	for _, lane := range lanes {
		due, err := queue.ClaimJobs(t.Context(), "", []jobs.LaneClaim{{Lane: lane, Limit: 1_000}}, now, now.Add(time.Minute))
		fatal(t, err)
		var ended []jobs.Ended
		for _, j := range due {
			fatal(t, w.requests.Answer(t.Context(), uuid.UUID(j.ID)))
			ended = append(ended, jobs.Ended{Job: j, State: jobs.Done, RunAt: now, At: now})
		}
		fatal(t, queue.EndJobs(t.Context(), ended))
	}
	for link, contact := range w.made(t) {
		if _, was := before[link]; !was {
			contacts = append(contacts, contact)
		}
	}
	return contacts
}

// made are the contacts of all links.
func (w *asked) made(t *testing.T) map[uuid.UUID]uuid.UUID {
	t.Helper()
	all := map[uuid.UUID]uuid.UUID{}
	w.read(t, `SELECT jsonb_build_object('id', id, 'contact', contact_id) FROM erasure_links`, func(text []byte) {
		var l struct{ ID, Contact uuid.UUID }
		fatal(t, json.Unmarshal(text, &l))
		all[l.ID] = l.Contact
	})
	return all
}

func (w *asked) read(t *testing.T, sql string, take func([]byte)) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.admin)
	fatal(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), sql)
	fatal(t, err)
	defer rows.Close()
	for rows.Next() {
		var text []byte
		fatal(t, rows.Scan(&text))
		take(text)
	}
	fatal(t, rows.Err())
}

func (w *asked) admins(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.admin)
	fatal(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), sql)
	fatal(t, err)
}

func (w *asked) ask(t *testing.T, address string) {
	t.Helper()
	fatal(t, w.requests.Ask(t.Context(), address, w.network))
}

// A requester gets an e-mail at the address on file, once a day; an address not on file gets
// none.
func TestLetterIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	w.ask(t, "nobody@firm.example")
	w.ask(t, "ADA@quillfeather.example") // as the person writes it
	w.read(t, `SELECT to_jsonb(r) FROM erasure_requests r`, func(row []byte) {
		if text := strings.ToLower(string(row)); strings.Contains(text, "quill") || strings.Contains(text, "203.0.113") ||
			strings.Contains(text, "7175696c6c") { // quill
			t.Errorf("a row has the address or the network: %s", row)
		}
	})
	if got := w.answer(t); len(got) != 1 || got[0] != ada {
		t.Fatalf("letters to %v", got)
	}
	w.read(t, `SELECT to_jsonb(r) FROM erasure_requests r WHERE address IS NOT NULL`, func(row []byte) {
		t.Errorf("an address is kept: %s", row)
	})
	for id := range w.made(t) {
		if to, _, _, err := w.Letter(t.Context(), id); err != nil || to != "Ada@Quillfeather.example" {
			t.Errorf("a letter to %q, %v", to, err)
		}
	}
	// Again on the same day, and in another spelling: no second e-mail. The next day there is
	// one.
	w.ask(t, "ada@quillfeather.example")
	w.ask(t, " mailto:Ada@Quillfeather.Example.")
	if got := w.answer(t); len(got) != 0 {
		t.Errorf("again letters to %v", got)
	}
	w.ahead.Store(int64(24*time.Hour + time.Minute))
	w.ask(t, "ada@quillfeather.example")
	if got := w.answer(t); len(got) != 1 {
		t.Errorf("after a day letters to %v", got)
	}
	// A suppressed contact gets no e-mail.
	_, values, err := w.Eraser.Add(t.Context(), "contacts", erasure.Email, erasure.Values{Email: "ada@quillfeather.example"}, "", "test")
	fatal(t, err)
	_, err = w.Eraser.Finish(t.Context(), values)
	fatal(t, err)
	w.ahead.Store(int64(49 * time.Hour))
	w.ask(t, "ada@quillfeather.example")
	if got := w.answer(t); len(got) != 0 {
		t.Errorf("of an erased contact: letters to %v", got)
	}
}

// A repeated look-up, as after a server was killed, sends no second e-mail.
func TestLookUpIsRepeated(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	w.ask(t, "office@firm.example")
	for range 2 {
		w.read(t, `SELECT to_jsonb(id) FROM erasure_requests`, func(text []byte) {
			var id uuid.UUID
			fatal(t, json.Unmarshal(text, &id))
			fatal(t, w.requests.Answer(t.Context(), id))
		})
		if made := w.made(t); len(made) != 2 {
			t.Errorf("letters: %v", made)
		}
		for id := range w.made(t) {
			if _, _, _, err := w.Letter(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
}

// A server without the key that encrypted an address leaves it to one that has it.
func TestAddressSealedByAnotherKey(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	older := *w.requests
	w.requests.Secrets = append([][]byte{[]byte("a newer key")}, older.Secrets...)
	w.ask(t, "ada@quillfeather.example")
	w.read(t, `SELECT to_jsonb(id) FROM erasure_requests`, func(text []byte) {
		var id uuid.UUID
		fatal(t, json.Unmarshal(text, &id))
		if err := older.Answer(t.Context(), id); err == nil {
			t.Error("an address that it cannot read is answered")
		}
	})
	if got := w.answer(t); len(got) != 1 {
		t.Errorf("letters to %v", got)
	}
}

// An address whose look-up was late gets no other e-mail within a day of the first.
func TestLateLetters(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	w.ahead.Store(int64(-20 * time.Hour))
	w.ask(t, "ada@quillfeather.example")
	w.ahead.Store(int64(-2 * time.Hour))
	if got := w.answer(t); len(got) != 1 {
		t.Fatalf("letters to %v", got)
	}
	w.admins(t, `UPDATE erasure_requests SET created_at = created_at - interval '6 hours'`)
	fatal(t, w.system.ForgetErasureLinks(t.Context()))
	w.ahead.Store(0)
	w.ask(t, "ada@quillfeather.example")
	if got := w.answer(t); len(got) != 0 {
		t.Errorf("after two hours letters to %v", got)
	}
	w.admins(t, `UPDATE erasure_requests SET created_at = created_at - interval '25 hours', sent_at = sent_at - interval '25 hours'`)
	fatal(t, w.system.ForgetErasureLinks(t.Context()))
	w.read(t, `SELECT to_jsonb(r) FROM erasure_requests r`, func(row []byte) { t.Errorf("stays: %s", row) })
}

// Each contact of an address has a link of its own, up to the maximum of a request.
func TestLettersOfOneAddress(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	w.ask(t, "office@firm.example")
	if got := w.answer(t); len(got) != 2 {
		t.Errorf("letters to %v", got)
	}
	var more strings.Builder
	for n := range byte(8) {
		more.WriteString(line(contact(100+n), "desk@firm.example"))
	}
	w.load(t, more.String())
	w.ask(t, "desk@firm.example")
	if got := w.answer(t); len(got) != 5 {
		t.Errorf("letters to %v", got)
	}
}

// others stores requests of as many other networks and addresses.
func (w *asked) others(t *testing.T, n int, created time.Time) {
	t.Helper()
	w.admins(t, fmt.Sprintf(`
		INSERT INTO erasure_requests (id, digest, network, created_at, state, run_at)
		SELECT gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), sha256(gen_random_uuid()::text::bytea), '%s', 'done', '%[1]s'
		FROM generate_series(1, %[2]d)`, created.UTC().Format(time.RFC3339Nano), n))
}

// letters is how many letters are due.
func (w *asked) letters(t *testing.T, at time.Time) (n int) {
	t.Helper()
	w.read(t, `SELECT jsonb_build_object('n', count(*)) FROM erasure_links WHERE state = 'pending' AND run_at <= '`+
		at.UTC().Format(time.RFC3339Nano)+`'`, func(text []byte) {
		var of struct{ N int }
		fatal(t, json.Unmarshal(text, &of))
		n = of.N
	})
	return n
}

// However many networks ask, 250 first requests of networks and 250 others are answered in an
// hour. Further ones wait, none is refused. A link works for seven days after its e-mail.
func TestLettersArePaced(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	w.others(t, 250, w.Now().Add(-20*time.Minute))
	w.admins(t, `UPDATE erasure_requests SET sent_at = created_at, first = true`)
	w.ask(t, "ada@quillfeather.example")
	if got := w.answer(t); len(got) != 1 || got[0] != ada {
		t.Fatalf("links of %v", got)
	}
	// A look-up that is repeated does not put the letter off.
	var id uuid.UUID
	w.read(t, `SELECT to_jsonb(id) FROM erasure_requests ORDER BY created_at DESC LIMIT 1`, func(text []byte) {
		fatal(t, json.Unmarshal(text, &id))
	})
	_, _, err := w.system.ClaimErasureLetters(t.Context(), id, w.Now(), w.Now().Add(-24*time.Hour), 250)
	fatal(t, err)
	for after, want := range map[time.Duration]int{0: 0, 39 * time.Minute: 0, 41 * time.Minute: 1} {
		if n := w.letters(t, w.Now().Add(after)); n != want {
			t.Errorf("after %s %d letters are due, want %d", after, n, want)
		}
	}
	w.read(t, `SELECT jsonb_build_object('for', extract(epoch FROM expires_at - run_at)) FROM erasure_links`, func(text []byte) {
		var of struct{ For float64 }
		fatal(t, json.Unmarshal(text, &of))
		if time.Duration(of.For*float64(time.Second)) != removal.TTL {
			t.Errorf("the link ends %v s after its letter", of.For)
		}
	})
	// What an operator sends does not wait.
	if _, err := w.Make(t.Context(), bob, "test"); err != nil || w.letters(t, w.Now()) != 1 {
		t.Errorf("of the operator %d, %v", w.letters(t, w.Now()), err)
	}
	w.ask(t, "eve@firm.example")
	w.answer(t)
	if n := w.letters(t, w.Now().Add(41*time.Minute)); n != 3 {
		t.Errorf("%d letters after the hour", n)
	}
}

// A network that asks again and again does not put off the letter of another.
func TestFirstLettersDoNotWait(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	const theirs = "sha256('theirs'::bytea)"
	w.others(t, 5_000, w.Now().Add(-20*time.Minute))
	w.admins(t, `UPDATE erasure_requests SET first = false, network = `+theirs+`, sent_at = now() + (random() * 10) * interval '1 hour'`)
	w.ask(t, "ada@quillfeather.example")
	w.answer(t)
	if n := w.letters(t, w.Now()); n != 1 {
		t.Errorf("%d letters are due", n)
	}
	w.ask(t, "eve@firm.example")
	w.admins(t, `UPDATE erasure_requests SET network = `+theirs+` WHERE sent_at IS NULL`)
	w.answer(t)
	if n, later := w.letters(t, w.Now()), w.letters(t, w.Now().Add(12*time.Hour)); n != 1 || later != 2 {
		t.Errorf("%d letters are due, later %d", n, later)
	}
}

// Requests from strangers are limited per hour, for one network and in total, also concurrent
// ones; a text that is not an address is refused.
func TestAskingIsBounded(t *testing.T) {
	t.Parallel()
	w := newAsked(t)
	for _, bad := range []string{
		"", "ada", "@", "a@b\r\nBcc: c@d.example", strings.Repeat("a", 400) + "@firm.example", "a@b@c.example",
		strings.Repeat("\u200b", 1_360) + "a@b.example", strings.Repeat("\u2028", 500) + "a@b.example", // invisible characters
	} {
		if err := w.requests.Ask(t.Context(), bad, w.network); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%q: %v", bad, err)
		}
	}
	var taken, refused atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			switch err := w.requests.Ask(t.Context(), "nobody@firm.example", w.network); fault.CodeOf(err) {
			case "":
				taken.Add(1)
			case fault.TooManyRequests:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 10 || refused.Load() != 20 {
		t.Errorf("%d were taken, %d refused", taken.Load(), refused.Load())
	}
	// An IPv6 line has very many networks of 64 bits, which count as one.
	for n := range byte(20) {
		of := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, n, n}), 64)
		err := w.requests.Ask(t.Context(), "nobody@firm.example", of)
		if full := fault.CodeOf(err) == fault.TooManyRequests; n < 10 && err != nil || n >= 10 && !full {
			t.Errorf("%s: %v", of, err)
		}
	}
	// More than the letters of an hour may be asked for: those of others do not shut the form.
	w.others(t, 9_970, w.Now())
	fatal(t, w.requests.Ask(t.Context(), "nobody@firm.example", netip.Prefix{})) // an unknown network counts in the total
	w.others(t, 9, w.Now())
	another := netip.MustParsePrefix("198.51.100.1/32")
	if err := w.requests.Ask(t.Context(), "nobody@firm.example", another); fault.CodeOf(err) != fault.TooManyRequests {
		t.Errorf("more than all may: %v", err)
	}
	w.ahead.Store(int64(61 * time.Minute))
	w.ask(t, "nobody@firm.example")
}
