package delivery_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

func verify(t *testing.T, secret string, m message) error {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	fatal(t, err)
	return hook.VerifyIgnoringTimestamp(m.body, m.header)
}

// A delivery is signed by Standard Webhooks, after a rotation with both secrets for a
// day, and has the same id and body in each attempt and replay.
func TestDeliveriesAreSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var status atomic.Int32
	status.Store(500)
	r := receive(t, func(rw http.ResponseWriter, _ message) { rw.WriteHeader(int(status.Load())) })
	h := w.hook(t, r.URL)
	id := w.queue(t, h, "r1")[0]
	w.send(t, func(h *jobs.Handler) {
		h.Pauses = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	})
	if d := w.waitFor(t, h, webhooks.Failed, 1)[0]; d.Attempts != 4 || d.ResponseStatus != 500 || d.ID != id {
		t.Errorf("failed: %+v", d)
	}
	status.Store(200)
	rotated, err := w.hooks.Rotate(t.Context(), w.in, h.ID)
	fatal(t, err)
	_, err = w.hooks.Replay(t.Context(), w.in, h.ID, id)
	fatal(t, err)
	if d := w.waitFor(t, h, webhooks.Delivered, 1)[0]; d.Attempts != 1 || d.ResponseStatus != 200 || d.ID != id {
		t.Errorf("replayed: %+v", d)
	}
	got := r.all()
	if len(got) != 5 {
		t.Fatalf("%d requests", len(got))
	}
	for i, m := range got {
		if m.header.Get("webhook-id") != id.String() || !bytes.Equal(m.body, got[0].body) || m.parsed.Type != "record.changed" ||
			m.parsed.Data.ID != "r1" {
			t.Errorf("attempt %d: %v %s", i, m.header, m.body)
		}
		if err := verify(t, h.Secret, m); err != nil {
			t.Errorf("attempt %d: %v", i, err)
		}
		if err := verify(t, rotated.Secret, m); (err == nil) != (i == 4) {
			t.Errorf("attempt %d, the new secret: %v", i, err)
		}
	}
	w.move(webhooks.OldSecretFor)
	_, err = w.hooks.Replay(t.Context(), w.in, h.ID, id)
	fatal(t, err)
	for len(r.all()) < 6 {
	}
	if last := r.all()[5]; verify(t, h.Secret, last) == nil || verify(t, rotated.Secret, last) != nil {
		t.Errorf("a day after the rotation: %v", last.header)
	}
}

// Answers of receivers, and their effect.
func TestReceiversThatLie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := receive(t, nil) // must not be reached by a redirect
	big := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, message)
		want   jobs.Result
		err    string
	}{
		"200 then closes": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("Content-Length", "1000")
			rw.WriteHeader(200)
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		}, jobs.Result{Status: 200}, ""},
		"closes": {func(http.ResponseWriter, message) { panic(http.ErrAbortHandler) }, jobs.Result{}, "no response"},
		"a huge body": {func(rw http.ResponseWriter, _ message) {
			for range 1000 {
				if _, err := rw.Write(big); err != nil {
					return
				}
			}
		}, jobs.Result{Status: 200}, ""},
		"a huge header": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("X", strings.Repeat("x", 1<<20))
		}, jobs.Result{}, "no response"},
		"a redirect": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("Location", secret.URL)
			rw.WriteHeader(307)
		}, jobs.Result{Status: 307}, "status 307"},
		"a redirect to metadata": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("Location", "http://169.254.169.254/latest/meta-data")
			rw.WriteHeader(302)
		}, jobs.Result{Status: 302}, "status 302"},
		"gone": {
			func(rw http.ResponseWriter, _ message) { rw.WriteHeader(410) }, jobs.Result{Status: 410, Final: true},
			"the receiver is gone (410)",
		},
		"busy": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("Retry-After", "90")
			rw.WriteHeader(429)
		}, jobs.Result{Status: 429, After: 90 * time.Second}, "status 429"},
		"busy for years": {func(rw http.ResponseWriter, _ message) {
			rw.Header().Set("Retry-After", "99999999999")
			rw.WriteHeader(503)
		}, jobs.Result{Status: 503, After: time.Hour}, "status 503"},
	} {
		h := w.hook(t, receive(t, c.answer).URL)
		got := w.attempt(t, h)
		text := ""
		if got.Err != nil {
			text = got.Err.Error()
		}
		if got.Err = nil; got != c.want || text != c.err {
			t.Errorf("%s: %+v, %q", name, got, text)
		}
	}
	if n := len(secret.all()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	if r := w.attempt(t, w.hook(t, deadAddress(t))); r.Err == nil || r.Err.Error() != "the connection was refused" {
		t.Errorf("a dead receiver: %+v", r)
	}
}

// A receiver that switches the protocol and then sends nothing does not block a sender.
func TestReceiversThatChangeTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, func(rw http.ResponseWriter, _ message) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		time.AfterFunc(30*time.Second, func() { _ = conn.Close() })
	})
	began := time.Now()
	if got := w.attempt(t, w.hook(t, r.URL)); got.Status != 101 || got.Err == nil || got.Err.Error() != "status 101" {
		t.Errorf("%+v", got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the attempt took %s", took)
	}
}

func (w *world) stored(t *testing.T, h webhooks.Webhook) webhooks.Webhook {
	t.Helper()
	all, err := w.hooks.List(t.Context(), w.in, 100, 0)
	fatal(t, err)
	return all[slices.IndexFunc(all, func(o webhooks.Webhook) bool { return o.ID == h.ID })]
}

// A webhook that fails for a day is disabled, and its owners and admins are notified.
func TestFailingWebhooksAreDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, role := range []people.Role{people.Owner, people.Admin, people.MemberRole} {
		_, err := w.directory.AddMember(t.Context(), w.in, people.Member{Email: fmt.Sprintf("u%d@example.com", i), Name: "U", Role: role})
		fatal(t, err)
	}
	var status atomic.Int32
	r := receive(t, func(rw http.ResponseWriter, _ message) { rw.WriteHeader(int(status.Load())) })
	h := w.hook(t, r.URL)
	attempt := func(s int) {
		t.Helper()
		status.Store(int32(s)) // #nosec G115 -- an HTTP status
		w.attempt(t, h)
	}
	attempt(500)
	w.move(webhooks.FailingFor - time.Minute)
	attempt(500)
	attempt(200) // it works
	w.move(time.Hour)
	attempt(500)
	w.move(webhooks.FailingFor - time.Minute)
	if attempt(500); !w.stored(t, h).Enabled {
		t.Fatal("disabled before a day")
	}
	w.move(time.Minute)
	if attempt(500); w.stored(t, h).Enabled {
		t.Fatal("not disabled after a day")
	}
	notices := func() []jobs.Job {
		t.Helper()
		all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.DisabledKind}, 10)
		fatal(t, err)
		return all
	}
	if n := notices(); len(n) != 2 {
		t.Errorf("%d are notified", len(n))
	}
	// Nothing is sent to it, and pending deliveries fail.
	before := len(r.all())
	if got := w.attempt(t, h); !got.Final || got.Err == nil || len(r.all()) != before {
		t.Errorf("to a disabled webhook: %+v", got)
	}
	_, err := w.hooks.Upsert(t.Context(), w.in, webhooks.Change{ID: h.ID, URL: h.URL, Events: h.Events})
	fatal(t, err)
	if attempt(500); !w.stored(t, h).Enabled {
		t.Error("an upsert does not begin a new day")
	}
	if attempt(410); w.stored(t, h).Enabled || len(notices()) != 4 {
		t.Errorf("410 does not disable it at once; %d are notified", len(notices()))
	}
}

// A late answer of a former address does not disable a webhook with a new one.
func TestOldAddressesAreNotJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var h webhooks.Webhook
	moved := receive(t, nil)
	old := receive(t, func(rw http.ResponseWriter, _ message) {
		if _, err := w.hooks.Upsert(t.Context(), w.in, webhooks.Change{ID: h.ID, URL: moved.URL, Events: h.Events}); err != nil {
			t.Error(err)
		}
		rw.WriteHeader(410)
	})
	h = w.hook(t, old.URL)
	if got := w.attempt(t, h); got.Status != 410 || !w.stored(t, h).Enabled {
		t.Errorf("%+v, and the webhook is disabled", got)
	}
}

// Dead and slow receivers do not delay others, with many events of each.
func TestOtherReceiversAreNotDelayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	slow := receive(t, func(http.ResponseWriter, message) { <-release })
	defer close(release)
	good := receive(t, nil)
	records := make([]string, 2000)
	for i := range records {
		records[i] = fmt.Sprint("r", i)
	}
	for range 3 {
		w.queue(t, w.hook(t, deadAddress(t)), records...)
		w.queue(t, w.hook(t, slow.URL), records...)
	}
	w.send(t)
	for len(slow.all()) == 0 {
	}
	h := w.hook(t, good.URL)
	w.queue(t, h, records[:200]...)
	began := time.Now()
	w.waitFor(t, h, webhooks.Delivered, 200)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("200 deliveries beside dead and slow receivers took %v", took)
	}
}

// Deliveries of a record arrive in order, also when one of them fails at first, and do not
// delay those of other records.
func TestDeliveriesOfARecordComeInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var failed atomic.Int32
	r := receive(t, func(rw http.ResponseWriter, m message) {
		if m.parsed.Data.ID == "bad" && failed.Add(1) <= 2 {
			rw.WriteHeader(500)
		}
	})
	h := w.hook(t, r.URL)
	var records []string
	for range 20 {
		records = append(records, "bad", "good")
	}
	ids := w.queue(t, h, records...)
	w.send(t, func(h *jobs.Handler) {
		h.Pauses = []time.Duration{20 * time.Millisecond, 20 * time.Millisecond, time.Second}
	})
	w.waitFor(t, h, webhooks.Delivered, 40)
	var got, want [2][]string
	for i, id := range ids {
		want[i%2] = append(want[i%2], id.String())
	}
	for _, m := range r.all() {
		i := 0
		if m.parsed.Data.ID == "good" {
			i = 1
		}
		if id := m.header.Get("webhook-id"); !slices.Contains(got[i], id) {
			got[i] = append(got[i], id)
		}
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("order: %v, want %v", got[i], want[i])
		}
	}
}

// Two failures a day apart say nothing about the time between: they do not disable a rarely
// used webhook.
func TestTwoFailuresADayApartDisableNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, func(rw http.ResponseWriter, _ message) { rw.WriteHeader(500) })
	h := w.hook(t, r.URL)
	w.attempt(t, h)
	w.move(webhooks.FailingFor + time.Hour)
	if w.attempt(t, h); !w.stored(t, h).Enabled {
		t.Error("disabled after two attempts")
	}
	if w.attempt(t, h); w.stored(t, h).Enabled {
		t.Error("not disabled after three that failed in more than a day")
	}
}
