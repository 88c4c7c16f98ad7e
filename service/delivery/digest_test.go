package delivery_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/search"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/queue"
	"atlas/workspace/subscriptions"
)

// mailed is a queue of signals that a test lets arrive, and a mail server.
type mailed struct {
	mu      sync.Mutex
	through time.Time
	all     []arrival
	down    bool
	letters []letter
}

type arrival struct {
	in     workspace.ID
	signal queue.Signal
	at     time.Time
}

type letter struct{ id, to, subject, text, unsubscribe string }

func (m *mailed) ArrivedThrough(context.Context) (time.Time, error) { return m.through, nil }

func (m *mailed) Arrived(_ context.Context, in workspace.ID, a queue.Arrivals) (list []queue.Signal, next string, err error) {
	for _, each := range m.all {
		if each.in == in && each.at.After(a.After) && !each.at.After(a.UpTo) && slices.Contains(a.Types, each.signal.Type) {
			if len(list) == a.Limit {
				return list, "next", nil
			}
			list = append(list, each.signal)
		}
	}
	return list, "", nil
}

func (m *mailed) arrive(in workspace.ID, kind, title string) {
	m.through = m.through.Add(time.Second)
	id := uuid.New()
	m.all = append(m.all, arrival{in, queue.Signal{ID: id, Type: kind, Record: jsontext.Value(`{"title":"` + title + `"}`)}, m.through})
}

func (m *mailed) SendList(_ context.Context, id, to, subject, text, unsubscribe string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return false, errors.New("away")
	}
	m.letters = append(m.letters, letter{id, to, subject, text, unsubscribe})
	return false, nil
}

func (m *mailed) take() (letters []letter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	letters, m.letters = m.letters, nil
	slices.SortFunc(letters, func(a, b letter) int { return strings.Compare(a.to, b.to) })
	return letters
}

// Members get the due digests, an e-mail each, and none after they unsubscribed. None is lost
// while a mail server is unavailable for a day.
func TestDigests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.workspace(t, "Other")
	add := func(in workspace.ID, email string) workspace.UserID {
		t.Helper()
		m, err := w.directory.AddMember(t.Context(), in, people.Member{Email: email, Name: "N", Role: people.MemberRole})
		fatal(t, err)
		return m.ID
	}
	add(w.in, "ann@example.com")
	bob := add(w.in, "bob@example.com")
	add(other, "eve@example.com")
	var before []string
	members, err := w.system.MembersOf(t.Context(), w.in)
	fatal(t, err)
	for _, m := range members {
		before = append(before, m.Email)
	}
	slices.Sort(before)
	zone := "America/Edmonton"
	_, err = w.directory.SetWorkspace(t.Context(), w.in, people.WorkspaceChange{TimeZone: &zone})
	fatal(t, err)
	subs := subscriptions.NewSubscriptions(w.databases.OpenApp(t, postgres.Options{MaxConns: 2}), w.now)
	subscribe := func(in workspace.ID, kind string, f subscriptions.Frequency, channels ...subscriptions.Channel) {
		t.Helper()
		_, err := subs.Upsert(t.Context(), in, subscriptions.Change{SignalType: kind, Frequency: f, Channels: channels})
		fatal(t, err)
	}
	subscribe(w.in, "permit_issued", subscriptions.Instant, "email")
	subscribe(w.in, "permit_filed", subscriptions.Daily, "email", "in_app")
	subscribe(other, "permit_issued", subscriptions.Instant, "in_app")

	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	links := digest.Links{Cursors: cursors}
	m := &mailed{through: time.Unix(1_800_000_000, 0)}
	digester := &delivery.Digester{Store: w.system, Signals: m, Log: slog.New(slog.DiscardHandler), Now: w.now}
	handler := delivery.Digests{
		ListMail:   delivery.ListMail{Post: m, Links: links, PublicURL: "https://atlas.example/at"},
		Recipients: w.system, Signals: m,
	}.Handler()
	pending := func() (n int) {
		all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: digest.Kind, State: jobs.Pending}, 100)
		fatal(t, err)
		return len(all)
	}
	look := func() {
		t.Helper()
		for range 2 { // a second server finds nothing to do
			fatal(t, digester.Look(t.Context()))
		}
	}
	// send runs jobs until none is pending, or for a failing server until each has failed.
	send := func() {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			jobs.NewRunner(w.system, handler, jobs.Options{Now: w.now, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		for until := time.Now().Add(30 * time.Second); pending() > 0 && !m.down ||
			m.down && attempts(t, w) < len(before); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d digests are not sent", pending())
			}
		}
		stop()
		<-done
	}
	addresses := func(letters []letter) (to []string) {
		for _, l := range letters {
			to = append(to, l.to)
		}
		return to
	}
	look() // the digests begin
	m.arrive(w.in, "permit_issued", "A tower")
	m.arrive(w.in, "permit_filed", "A bridge")
	m.arrive(other, "permit_issued", "A secret")
	look()
	send()
	letters := m.take()
	if !slices.Equal(addresses(letters), before) {
		t.Fatalf("sent to %v, want %v", addresses(letters), before)
	}
	for _, l := range letters {
		if !strings.Contains(l.text, "A tower") || strings.Contains(l.text, "A bridge") || strings.Contains(l.text, "A secret") ||
			strings.Contains(l.text, "@") ||
			!strings.Contains(l.text, "https://atlas.example/at/signals/") ||
			!strings.HasPrefix(l.unsubscribe, "https://atlas.example/at/unsubscribe?token=") {
			t.Errorf("to %s, %s:\n%s", l.to, l.subject, l.text)
		}
	}

	// Within minutes the next ones are bundled.
	m.arrive(w.in, "permit_issued", "A dam")
	look()
	m.arrive(w.in, "permit_issued", "A road")
	look()
	if pending() > 0 {
		t.Error("digests in the same minute")
	}
	fatal(t, w.system.SetWantsMail(t.Context(), w.in, bob, false))
	before = slices.DeleteFunc(before, func(to string) bool { return to == "bob@example.com" })
	w.move(digest.Bundle)
	m.down = true
	look()
	send()
	w.move(25 * time.Hour)
	m.down = false
	look() // the daily one is due too
	send()
	letters = m.take()
	if len(letters) != 2*len(before) || slices.Contains(addresses(letters), "bob@example.com") {
		t.Fatalf("after a day: %v", addresses(letters))
	}
	for _, to := range before {
		var text string
		for _, l := range letters {
			if l.to == to {
				text += l.text
			}
		}
		for _, title := range []string{"A dam", "A road", "A bridge"} {
			if strings.Count(text, title) != 1 {
				t.Errorf("%s got %s %d times", to, title, strings.Count(text, title))
			}
		}
	}
	fatal(t, w.system.SetWantsMail(t.Context(), w.in, bob, true))
	m.arrive(w.in, "permit_issued", "A mill")
	w.move(digest.Bundle)
	look()
	send()
	if got := addresses(m.take()); !slices.Contains(got, "bob@example.com") || slices.Contains(got, "eve@example.com") {
		t.Errorf("subscribed again: %v", got)
	}
}

// attempts is how many pending digests failed.
func attempts(t *testing.T, w *world) (n int) {
	t.Helper()
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: digest.Kind, State: jobs.Pending}, 100)
	fatal(t, err)
	for _, j := range all {
		if j.Attempts > 0 {
			n++
		}
	}
	return n
}

// If a server whose clock is a year ahead postponed e-mails, the next server, with the clock
// of Postgres, sends them at their time.
func TestDigestsAfterALookFromTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.directory.AddMember(t.Context(), w.in, people.Member{Email: "ann@example.com", Name: "Ann", Role: people.MemberRole})
	fatal(t, err)
	subs := subscriptions.NewSubscriptions(w.databases.OpenApp(t, postgres.Options{MaxConns: 2}), nil)
	for kind, f := range map[string]subscriptions.Frequency{
		"permit_issued": subscriptions.Instant, "permit_filed": subscriptions.Daily,
		"cost_changed": subscriptions.Weekly,
	} {
		_, err := subs.Upsert(t.Context(), w.in, subscriptions.Change{SignalType: kind, Frequency: f, Channels: []subscriptions.Channel{"email"}})
		fatal(t, err)
	}
	m := &mailed{through: time.Unix(1_800_000_000, 0)}
	look := func(now func() time.Time) {
		t.Helper()
		digester := &delivery.Digester{Store: w.system, Signals: m, Log: slog.New(slog.DiscardHandler), Now: now}
		fatal(t, digester.Look(t.Context()))
	}
	look(func() time.Time { return time.Now().AddDate(1, 0, 0) })
	for _, kind := range []string{"permit_issued", "permit_filed", "cost_changed"} {
		m.arrive(w.in, kind, "A tower")
	}
	look(w.system.Clock().Now)
	made, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: digest.Kind}, 100)
	fatal(t, err)
	frequencies := map[string]bool{}
	for _, j := range made {
		for _, f := range []string{"instant", "daily", "weekly"} {
			if strings.Contains(string(j.Payload), `"`+f+`"`) {
				frequencies[f] = true
			}
		}
		if j.RunAt.After(time.Now().Add(time.Minute)) {
			t.Errorf("a digest is due at %v", j.RunAt)
		}
	}
	if len(frequencies) != 3 {
		t.Errorf("made: %v of three frequencies", frequencies)
	}
	next, err := w.system.DueDigests(t.Context(), m.through.Add(time.Second), time.Now().AddDate(0, 0, 8))
	fatal(t, err)
	if len(next) != 3 {
		t.Errorf("within 8 days %d digests are due again, want 3", len(next))
	}
}
