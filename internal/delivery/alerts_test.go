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

	"atlas/internal/delivery"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search"
	"atlas/search/changes"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

// A user is mailed what an alert tells: once, at the hour that was asked for, nothing of
// before, nothing they have looked at, and nothing after they unsubscribed or left.
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
	// tell makes an entry of some records, as a watcher does.
	tell := func(v views.ID, records int) {
		t.Helper()
		watched, err := w.system.WatchedViews(t.Context())
		fatal(t, err)
		i := slices.IndexFunc(watched, func(each alerts.Watched) bool { return each.View.ID == v })
		step := alerts.Step{State: alerts.Watching, Known: alerts.Set{}, Through: changes.Position{Seq: watched[i].Through.Seq + 1}}
		for range records {
			step.Told = append(step.Told, uuid.New())
		}
		fatal(t, w.system.StepWatched(t.Context(), watched[i], step, w.now()))
	}
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	m := &mailed{through: time.Unix(1_800_000_000, 0)}
	digester := &delivery.Digester{Store: w.system, Signals: m, Log: slog.New(slog.DiscardHandler), Now: w.now}
	handler := delivery.AlertMails{
		ListMail: delivery.ListMail{Post: m, Links: digest.Links{Cursors: cursors}, PublicURL: "https://atlas.example/at"}, Alerts: w.system,
	}.Handler()
	// letters are those that are sent now. A second server finds nothing to do.
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
	tell(towers, 1)
	set(ann, towers, subscriptions.Instant)
	set(ann, bridges, subscriptions.Instant)
	set(bob, towers, subscriptions.Daily)
	check("what was told before", letters())

	tell(towers, 2)
	first := letters()
	check("two records", first, `ann@example.com: 2 new records in "Towers"`)
	if text := first[0].text; !strings.Contains(text, "https://atlas.example/at/views/"+towers.String()) ||
		!strings.Contains(text, "- Towers: 2 of the projects\n") || strings.Contains(text, "@") ||
		!strings.HasPrefix(first[0].unsubscribe, "https://atlas.example/at/unsubscribe?token=") {
		t.Errorf("%+v", first[0])
	}
	tell(bridges, 1)
	tell(towers, 1)
	check("within five minutes", letters())
	w.move(digest.Bundle)
	check("bundled", letters(), "ann@example.com: 2 new records in 2 of your Views")

	w.move(25 * time.Hour)
	check("a day later", letters(), `bob@example.com: 3 new records in "Towers"`)
	tell(towers, 1)
	check("not before the next morning", letters(), `ann@example.com: 1 new record in "Towers"`)
	_, err = all.See(t.Context(), w.in, bob, towers, nil)
	fatal(t, err)
	w.move(25 * time.Hour)
	check("what was looked at", letters())
	w.move(25 * time.Hour)
	check("a day without news", letters())
	tell(towers, 4)
	if got := letters(); len(got) != 1 { // ann's
		t.Errorf("news in the course of a day: %v", got)
	}

	// Nobody is mailed who ended it, in any of the ways, also when the job was made before.
	none := subscriptions.Frequency("")
	_, err = all.Upsert(t.Context(), w.in, ann, alerts.Change{View: bridges, Email: &none})
	fatal(t, err)
	set(cid, bridges, subscriptions.Instant)
	tell(bridges, 1)
	fatal(t, w.system.SetWantsMail(t.Context(), w.in, cid, false))
	check("unsubscribed, or without e-mails", letters())
	p := alerts.MailPayload{User: bob, Views: []alerts.MailedView{{View: towers, UpTo: 100}}}
	if l, err := w.system.LetterOf(t.Context(), w.in, p); err != nil || len(l.Views) != 1 || l.Views[0].Count != 4 {
		t.Errorf("%+v: %v", l, err)
	}

	// Who asks for other times gets what waits.
	set(ann, towers, subscriptions.Weekly)
	if l, err := w.system.LetterOf(t.Context(), w.in, alerts.MailPayload{User: ann, Views: p.Views}); err != nil || len(l.Views) != 1 {
		t.Errorf("at other times: %+v, %v", l, err)
	}
	// Entries are counted anew where nobody had an alert for a while.
	set(ann, bridges, subscriptions.Instant)
	w.exec(t, `DELETE FROM watched_views WHERE view_id = $1`, uuid.UUID(bridges))
	set(ann, bridges, subscriptions.Instant)
	tell(bridges, 7)
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
