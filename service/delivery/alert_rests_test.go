package delivery_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/input"
	"atlas/search"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

// Each user with an alert on a View is mailed once for each of its rests, whatever the
// alert's frequency, unless the rest is over; a webhook that names the View shows it too.
func TestRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.databases.OpenApp(t, postgres.Options{MaxConns: 2})
	member := func(in workspace.ID, email string) workspace.UserID {
		m, err := w.directory.AddMember(t.Context(), in, people.Member{Email: email, Name: "N", Role: people.MemberRole})
		fatal(t, err)
		return m.ID
	}
	ann, bob, cid := member(w.in, "ann@example.com"), member(w.in, "bob@example.com"), member(w.in, "cid@example.com")
	made := views.NewViews(store, w.now)
	view := func(name string) views.ID {
		v, _ := input.Decode(fmt.Appendf(nil, `{"dataset":"account","view_type":"dynamic","name":%q,"definition":{"version":1,"q":"x","fields":{}}}`, name))
		change, err := views.ParseChange(v)
		fatal(t, err)
		created, err := made.Upsert(t.Context(), w.in, ann, change)
		fatal(t, err)
		return created.ID
	}
	towers, bridges := view("To  wers"), view("Bridges")
	all := &alerts.Alerts{Store: store, Now: w.now}
	for _, user := range []workspace.UserID{ann, bob, cid} {
		_, err := all.Upsert(t.Context(), w.in, user, alerts.Change{View: towers})
		fatal(t, err)
	}
	fatal(t, w.system.SetWantsMail(t.Context(), w.in, cid, false))
	step := func(v views.ID, state alerts.State, reason alerts.Reason) {
		t.Helper()
		watched, err := w.system.WatchedViews(t.Context())
		fatal(t, err)
		i := slices.IndexFunc(watched, func(each alerts.Watched) bool { return each.View.ID == v })
		rests := alerts.Step{State: state, Reason: reason, Known: alerts.Set{}, Whole: true}
		stored, err := w.system.StepWatched(t.Context(), watched[i], rests, w.now())
		if err != nil || !stored {
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
	// letters are sent after a step, if there is one, that runs when their jobs exist.
	letters := func(meanwhile func()) (sent []letter) {
		t.Helper()
		for range 2 { // a second server finds nothing to do
			fatal(t, digester.Look(t.Context()))
		}
		if meanwhile != nil {
			meanwhile()
		}
		pending, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: alerts.MailKind, State: jobs.Pending}, 100)
		fatal(t, err)
		for _, j := range pending {
			if r := handler.Run(t.Context(), j); r.Err != nil {
				t.Error(r.Err)
			}
		}
		w.exec(t, `UPDATE jobs SET state = 'done', ended_at = now() WHERE kind = 'alerts.mail'`)
		sent = m.take()
		slices.SortFunc(sent, func(a, b letter) int { return strings.Compare(a.to, b.to) })
		return sent
	}
	if got := letters(nil); len(got) > 0 {
		t.Errorf("before: %+v", got)
	}
	step(towers, alerts.Resting, alerts.TooManyMatches)
	got := letters(nil)
	if len(got) != 2 || got[0].to != "ann@example.com" || got[1].to != "bob@example.com" ||
		got[0].subject != `The alert on "To wers" rests` ||
		!strings.Contains(got[0].text, "more than 100,000 of the accounts match. Narrow the View") ||
		!strings.Contains(got[0].text, "https://atlas.example/at/views/"+towers.String()) ||
		!strings.HasPrefix(got[0].unsubscribe, "https://atlas.example/at/unsubscribe?token=") {
		t.Errorf("it rests: %+v", got)
	}
	step(towers, alerts.Resting, alerts.TooManyMatches) // still resting
	if got := letters(nil); len(got) > 0 {
		t.Errorf("the same rest: %+v", got)
	}
	_, err = all.Upsert(t.Context(), w.in, ann, alerts.Change{View: bridges})
	fatal(t, err)
	step(bridges, alerts.Resting, alerts.DefinitionRefused)
	step(towers, alerts.Resting, alerts.DefinitionRefused)
	if got := letters(nil); len(got) != 2 || got[0].subject != "2 of your alerts rest" ||
		!strings.Contains(got[0].text, "- Bridges, since") || !strings.Contains(got[0].text, "Change the conditions of the View") {
		t.Errorf("other rests: %+v", got)
	}
	step(towers, alerts.Watching, "")
	step(towers, alerts.Resting, alerts.TooManyMatches)
	if got := letters(func() { step(towers, alerts.Watching, "") }); len(got) > 0 {
		t.Errorf("over before the letter: %+v", got)
	}
	other := w.workspace(t, "Other")
	if due, err := w.system.AdvanceRests(t.Context(), alerts.RestMailing{
		Workspace: other, User: ann, Rests: []alerts.MailedRest{{View: bridges, Rest: 100}},
	}, w.now()); err != nil || due != 0 {
		t.Errorf("another workspace: %d letters, %v", due, err)
	}

	hooks := &webhooks.Webhooks{Store: store, Guard: anywhere{}, Sealer: sealer, Now: w.now}
	gone := view("Gone")
	hook, err := hooks.Upsert(t.Context(), w.in, webhooks.Change{
		URL: "https://hooks.example/", Events: []webhooks.Event{webhooks.ViewMatched}, Views: []views.ID{gone, bridges, towers},
	})
	fatal(t, err)
	fatal(t, made.Delete(t.Context(), w.in, gone))
	named := func(want ...webhooks.NamedState) {
		t.Helper()
		list, err := hooks.List(t.Context(), w.in, 10, 0)
		fatal(t, err)
		var states []webhooks.NamedState
		for i, v := range list[0].Named {
			states = append(states, v.State)
			if v.View != list[0].Views[i] || (v.Rest != nil) != (v.State == "resting") || (v.Name == nil) != (v.State == webhooks.Deleted) {
				t.Errorf("%+v", v)
			}
		}
		if !slices.Equal(states, want) {
			t.Errorf("%v, want %v", states, want)
		}
	}
	if len(hook.Named) != 3 || hook.Named[0].State != "waiting" || *hook.Named[1].Name != "Bridges" || hook.Named[1].Rest == nil {
		t.Errorf("made: %+v", hook.Named)
	}
	named("deleted", "resting", "watching")
	w.exec(t, `UPDATE webhooks SET enabled = false WHERE id = $1`, uuid.UUID(hook.ID))
	named("deleted", "off", "off")
	if list, err := hooks.List(t.Context(), other, 10, 0); err != nil || len(list) > 0 {
		t.Errorf("another workspace: %v, %v", list, err)
	}
}
