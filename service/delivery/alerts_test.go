package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search"
	"atlas/search/changes"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

// A user is mailed the entries of an alert: once, at the requested hour, no earlier entries,
// no seen ones, and none after they unsubscribed or left.
func TestAlertMails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.databases.OpenApp(t, postgres.Options{MaxConns: 2})
	zone := "America/Edmonton"
	_, err := w.directory.SetWorkspace(t.Context(), w.in, people.WorkspaceChange{TimeZone: &zone})
	fatal(t, err)
	member := func(email string) workspace.UserID {
		m, err := w.directory.AddMember(t.Context(), w.in, people.Member{Email: email, Name: "N", Role: people.MemberRole})
		fatal(t, err)
		return m.ID
	}
	ann, bob, cid := member("ann@example.com"), member("bob@example.com"), member("cid@example.com")
	made := views.NewViews(store, w.now)
	view := func(name string) views.ID {
		v, _ := input.Decode(fmt.Appendf(nil, `{"dataset":"project","view_type":"dynamic","name":%q,"definition":{"version":1,"q":"x","fields":{}}}`, name))
		change, err := views.ParseChange(v)
		fatal(t, err)
		created, err := made.Upsert(t.Context(), w.in, ann, change)
		fatal(t, err)
		return created.ID
	}
	towers, bridges := view("Towers"), view("Bridges")
	all := &alerts.Alerts{Store: store, Now: w.now}
	set := func(user workspace.UserID, v views.ID, f subscriptions.Frequency) {
		t.Helper()
		a, err := all.Upsert(t.Context(), w.in, user, alerts.Change{View: v, Email: &f})
		fatal(t, err)
		if a.Email != f {
			t.Errorf("%q is stored as %q", f, a.Email)
		}
	}
	// advance creates an entry of some records, as a watcher does.
	advance := func(v views.ID, records int) {
		t.Helper()
		watched, err := w.system.WatchedViews(t.Context())
		fatal(t, err)
		i := slices.IndexFunc(watched, func(each alerts.Watched) bool { return each.View.ID == v })
		step := alerts.Step{State: alerts.Watching, Known: alerts.Set{}, Through: changes.Position{Seq: watched[i].Through.Seq + 1}}
		for range records {
			step.Reported = append(step.Reported, uuid.New())
		}
		if stored, err := w.system.StepWatched(t.Context(), watched[i], step, w.now()); err != nil || !stored {
			t.Fatal(stored, err)
		}
	}
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	m := &mailed{through: time.Unix(1_800_000_000, 0)}
	digester := &delivery.Digester{Store: w.system, Signals: m, Log: slog.New(slog.DiscardHandler), Now: w.now}
	handler := delivery.AlertMails{
		ListMail: delivery.ListMail{Post: m, Links: digest.Links{Cursors: cursors}, PublicURL: "https://atlas.example/at"}, Alerts: w.system,
	}.Handler()
	// letters are the e-mails sent now. A second server finds nothing to do.
	letters := func() []letter {
		t.Helper()
		for range 2 {
			fatal(t, digester.Look(t.Context()))
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			jobs.NewRunner(w.system, handler, jobs.Options{Now: w.now, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			pending, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: alerts.MailKind, State: jobs.Pending}, 100)
			fatal(t, err)
			if len(pending) == 0 {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("%d letters are not sent", len(pending))
			}
		}
		stop()
		<-done
		return m.take()
	}
	check := func(what string, got []letter, want ...string) {
		t.Helper()
		var sent []string
		for _, l := range got {
			sent = append(sent, l.to+": "+l.subject)
		}
		if !slices.Equal(sent, want) {
			t.Errorf("%s: %q, want %q", what, sent, want)
		}
	}

	_, err = all.Upsert(t.Context(), w.in, ann, alerts.Change{View: towers}) // without e-mails
	fatal(t, err)
	advance(towers, 1)
	set(ann, towers, subscriptions.Instant)
	set(ann, bridges, subscriptions.Instant)
	set(bob, towers, subscriptions.Daily)
	check("what was sent before", letters())

	advance(towers, 2)
	first := letters()
	check("two records", first, `ann@example.com: 2 new records in "Towers"`)
	if text := first[0].text; !strings.Contains(text, "https://atlas.example/at/views/"+towers.String()) ||
		!strings.Contains(text, "- Towers: 2 of the projects\n") || strings.Contains(text, "@") ||
		!strings.HasPrefix(first[0].unsubscribe, "https://atlas.example/at/unsubscribe?token=") {
		t.Errorf("%+v", first[0])
	}
	advance(bridges, 1)
	advance(towers, 1)
	check("within five minutes", letters())
	w.move(digest.Bundle)
	check("bundled", letters(), "ann@example.com: 2 new records in 2 of your Views")

	w.move(25 * time.Hour)
	check("a day later", letters(), `bob@example.com: 3 new records in "Towers"`)
	advance(towers, 1)
	check("not before the next morning", letters(), `ann@example.com: 1 new record in "Towers"`)
	_, err = all.See(t.Context(), w.in, bob, towers, nil)
	fatal(t, err)
	w.move(25 * time.Hour)
	check("what was looked at", letters())
	w.move(25 * time.Hour)
	check("a day without news", letters())
	advance(towers, 4)
	if got := letters(); len(got) != 1 { // ann's
		t.Errorf("news in the course of a day: %v", got)
	}

	// A user who ended it in any way is not mailed, also when the job already existed.
	none := subscriptions.Frequency("")
	_, err = all.Upsert(t.Context(), w.in, ann, alerts.Change{View: bridges, Email: &none})
	fatal(t, err)
	set(cid, bridges, subscriptions.Instant)
	advance(bridges, 1)
	fatal(t, w.system.SetWantsMail(t.Context(), w.in, cid, false))
	check("unsubscribed, or without e-mails", letters())
	p := alerts.MailPayload{User: bob, Views: []alerts.MailedView{{View: towers, UpTo: 100}}}
	if l, err := w.system.LetterOf(t.Context(), w.in, p); err != nil || len(l.Views) != 1 || l.Views[0].Count != 4 {
		t.Errorf("%+v: %v", l, err)
	}

	// A change of the frequency also sends the waiting entries.
	set(ann, towers, subscriptions.Weekly)
	if l, err := w.system.LetterOf(t.Context(), w.in, alerts.MailPayload{User: ann, Views: p.Views}); err != nil || len(l.Views) != 1 {
		t.Errorf("at other times: %+v, %v", l, err)
	}
	// Entries are numbered from 1 again after a time without any alert.
	set(ann, bridges, subscriptions.Instant)
	w.exec(t, `DELETE FROM watched_views WHERE view_id = $1`, uuid.UUID(bridges))
	set(ann, bridges, subscriptions.Instant)
	advance(bridges, 7)
	check("after it was off", letters(), `ann@example.com: 7 new records in "Bridges"`)
	other := w.workspace(t, "Other")
	for _, in := range []workspace.ID{other, workspace.NewID()} {
		if l, err := w.system.LetterOf(t.Context(), in, p); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another workspace: %+v, %v", l, err)
		}
	}
	_, err = w.system.RemoveMember(t.Context(), w.in, people.OperatorActor, bob, func(people.LockedMembers) error { return nil })
	fatal(t, err)
	if l, err := w.system.LetterOf(t.Context(), w.in, p); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("who left: %+v, %v", l, err)
	}
}

// A webhook gets the entries of the Views that it names, once each, without anybody's alert
// on them, and none while it is not subscribed.
func TestViewMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.databases.OpenApp(t, postgres.Options{MaxConns: 2})
	m, err := w.directory.AddMember(t.Context(), w.in, people.Member{Email: "ann@example.com", Name: "N", Role: people.Owner})
	fatal(t, err)
	made := views.NewViews(store, w.now)
	view := func(body string) views.ID {
		v, _ := input.Decode([]byte(body))
		change, err := views.ParseChange(v)
		fatal(t, err)
		created, err := made.Upsert(t.Context(), w.in, m.ID, change)
		fatal(t, err)
		return created.ID
	}
	towers := view(`{"dataset":"project","view_type":"dynamic","name":"Towers","definition":{"version":1,"q":"x","fields":{}}}`)
	bridges := view(`{"dataset":"account","view_type":"dynamic","name":"Bridges","definition":{"version":1,"q":"y","fields":{}}}`)
	still := view(`{"dataset":"project","view_type":"static","name":"Still","definition":{"version":1}}`)
	hooks := &webhooks.Webhooks{Store: store, Guard: anywhere{}, Sealer: sealer, Now: w.now}
	upsert := func(c webhooks.Change) (webhooks.Webhook, error) {
		c.URL = "https://hooks.example/"
		return hooks.Upsert(t.Context(), w.in, c)
	}
	matched := []webhooks.Event{webhooks.ViewMatched}
	hook, err := upsert(webhooks.Change{Events: matched, Views: []views.ID{towers, towers}})
	fatal(t, err)
	if !slices.Equal(hook.Views, []views.ID{towers}) {
		t.Errorf("it names %v", hook.Views)
	}
	if _, err := upsert(webhooks.Change{Events: matched, Views: []views.ID{still}}); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a Static View: %v", err)
	}
	if _, err := upsert(webhooks.Change{Events: matched, Views: []views.ID{views.ID(uuid.New())}}); fault.CodeOf(err) != fault.ViewNotFound {
		t.Errorf("an unknown View: %v", err)
	}
	advance := func(v views.ID, twice bool) (sent bool) {
		t.Helper()
		watched, err := w.system.WatchedViews(t.Context())
		fatal(t, err)
		i := slices.IndexFunc(watched, func(each alerts.Watched) bool { return each.View.ID == v })
		if i < 0 {
			return false
		}
		step := alerts.Step{
			State: alerts.Watching, Known: alerts.Set{}, Through: changes.Position{Seq: watched[i].Through.Seq + 1},
			Reported: []uuid.UUID{uuid.New(), uuid.New()},
		}
		if stored, err := w.system.StepWatched(t.Context(), watched[i], step, w.now()); err != nil || !stored {
			t.Fatal(stored, err)
		}
		if twice { // another server made it too: nothing is made
			if stored, err := w.system.StepWatched(t.Context(), watched[i], step, w.now()); err != nil || stored {
				t.Fatal(stored, err)
			}
		}
		return true
	}
	deliveries := func() []webhooks.Delivery {
		t.Helper()
		all, err := hooks.Deliveries(t.Context(), w.in, hook.ID, 100, 0)
		fatal(t, err)
		return all
	}
	if !advance(towers, true) || len(deliveries()) != 1 || deliveries()[0].Event != webhooks.ViewMatched {
		t.Errorf("%+v", deliveries())
	}
	if advance(bridges, false) {
		t.Error("a View is watched that nobody named")
	}
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind, State: jobs.Pending}, 100)
	fatal(t, err)
	if len(all) != 1 || !strings.Contains(string(all[0].Payload), `"count": 2`) && !strings.Contains(string(all[0].Payload), `"count":2`) ||
		!strings.Contains(string(all[0].Payload), towers.String()) {
		t.Errorf("%+v", all)
	}
	// Without view_ids an upsert leaves them; with an empty list nothing is watched.
	hook2, err := upsert(webhooks.Change{ID: hook.ID, Events: append(matched, webhooks.LoadSwitched)})
	fatal(t, err)
	if !slices.Equal(hook2.Views, []views.ID{towers}) || !advance(towers, false) || len(deliveries()) != 2 {
		t.Errorf("%+v, %d deliveries", hook2, len(deliveries()))
	}
	_, err = upsert(webhooks.Change{ID: hook.ID, Events: matched, Views: []views.ID{}})
	fatal(t, err)
	if advance(towers, false) {
		t.Error("a View is watched that nobody names anymore")
	}
	// Views that it names may become unwatchable or be deleted: the others are not affected, and
	// the webhook can be saved as it was read. New Views are checked.
	_, err = upsert(webhooks.Change{ID: hook.ID, Events: matched, Views: []views.ID{towers, bridges}})
	fatal(t, err)
	view(fmt.Sprintf(`{"id":%q,"definition":{"version":1,"q":"","fields":{"icp_tier":["tier_1"]}}}`, bridges))
	fatal(t, made.Delete(t.Context(), w.in, towers))
	for _, named := range [][]views.ID{nil, {towers, bridges}, {bridges}} {
		if _, err = upsert(webhooks.Change{ID: hook.ID, Events: matched, Views: named}); err != nil {
			t.Errorf("as it was read: %v", err)
		}
	}
	for id, want := range map[views.ID]fault.Code{still: fault.BadRequest, towers: fault.ViewNotFound} {
		if _, err := upsert(webhooks.Change{ID: hook.ID, Events: matched, Views: []views.ID{bridges, id}}); fault.CodeOf(err) != want {
			t.Errorf("another View: %v, want %s", err, want)
		}
	}
	towers = view(`{"dataset":"project","view_type":"dynamic","name":"Others","definition":{"version":1,"q":"x","fields":{}}}`)
	// Another workspace has neither the webhook nor the View.
	other := w.workspace(t, "Other")
	for name, c := range map[string]webhooks.Change{
		"webhook": {ID: hook.ID, Events: matched}, "View": {Events: matched, Views: []views.ID{towers}},
	} {
		c.URL = "https://hooks.example/"
		if _, err := hooks.Upsert(t.Context(), other, c); err == nil {
			t.Errorf("another workspace has the %s", name)
		}
	}
}

type anywhere struct{}

func (anywhere) Check(string) error { return nil }
