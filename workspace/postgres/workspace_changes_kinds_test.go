package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/book"
	"atlas/workspace/skills"
	"atlas/workspace/webhooks"
)

// The changes record who made, rotated, disabled and deleted a webhook, and who wrote a
// Skill; they do not record notes of senders on a webhook, nor personal Skills.
func TestChangesOfWebhooksAndSkills(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	user, key := w.members[in][0], w.keyOf[in]
	byUser := workspace.WithAuthor(t.Context(), workspace.Author{User: user.ID})
	byKey := workspace.WithAuthor(t.Context(), workspace.Author{Key: key.ID})
	names := map[[16]byte]string{[16]byte(user.ID): "olga", [16]byte(key.ID): "key"}
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	check := func(what string, want ...string) {
		t.Helper()
		var got []audit.Change
		got, at = w.changesAfter(t, in, at, 1000)
		if diff := cmp.Diff(want, w.lines(t, got, names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	hook := webhooks.Webhook{
		ID: webhooks.ID(uuid.New()), URL: "https://hooks.example/secret",
		Events: []webhooks.Event{webhooks.LoadSwitched}, Enabled: true, CreatedAt: w.now,
	}
	names[[16]byte(hook.ID)] = "hook"
	_, err := w.store.InsertWebhook(byKey, in, hook, []byte("sealed"), 10)
	fatal(t, err)
	check("a webhook", "key: upsert webhook hook enabled,events,url")
	_, err = w.store.RotateWebhook(byKey, in, hook.ID, []byte("sealed anew"), w.now.Add(time.Hour))
	fatal(t, err)
	check("rotated", "key: upsert webhook hook secret")
	_, err = w.system.WebhookFailing(t.Context(), in, hook.ID, hook.URL, w.now)
	fatal(t, err)
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE webhooks SET secret = 'under another key', signals_after = now() WHERE id = $1`, hook.ID.String())
	fatal(t, err)
	check("what senders and servers note")
	fatal(t, w.system.DisableWebhook(t.Context(), in, hook.ID, hook.URL, webhooks.GoneReceiver, w.now))
	check("disabled", "operator: upsert webhook hook enabled")
	hook.URL = "https://elsewhere.example/"
	_, err = w.store.UpdateWebhook(byUser, in, hook)
	fatal(t, err)
	check("changed and enabled", "olga: upsert webhook hook enabled,url")
	fatal(t, w.store.DeleteWebhook(byKey, in, hook.ID))
	check("deleted", "key: delete webhook hook ")

	_, err = w.skills.Create(byUser, in, user.ID, skills.NewSkill{Scope: skills.PersonalSkill, Name: "Mine", Description: "D", Content: "C"})
	fatal(t, err)
	check("a personal Skill")
	skill, err := w.skills.Create(byUser, in, user.ID, skills.NewSkill{
		Scope: skills.WorkspaceSkill, Name: "Ours", Description: "D", Content: "C",
	})
	fatal(t, err)
	names[[16]byte(skill.ID)] = "ours"
	check("a Skill", "olga: upsert skill ours content,description,locator,name,status")
	_, err = w.skillAdmin.SetStatus(t.Context(), in, skill.Slug, skills.PublishedSkill)
	fatal(t, err)
	check("published", "operator: upsert skill ours status")

	var values int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM workspace_changes c WHERE c::text ~ 'example|sealed'`).Scan(&values))
	if values > 0 {
		t.Error("values are kept")
	}
}

// A TRUNCATE, which fires no DELETE trigger, records its deletions, whichever table it
// reaches and by whatever way.
func TestTruncatedTablesAreRecorded(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, other := w.one.ID, w.two.ID
	record := uuid.New()
	for _, of := range []workspace.ID{in, other} {
		_, err := w.store.UpsertOverlays(
			t.Context(), of, catalog.Accounts,
			[]book.OverlayUpsert{{Fresh: book.Overlay{Record: record, Trend: "steady", CreatedAt: w.now, UpdatedAt: w.now, ScoredAt: w.now}}},
			book.Additions{Most: 10, At: w.now},
		)
		fatal(t, err)
	}
	view := w.create(t, in, "account", "static", "V")
	_, err := w.store.AddMembers(t.Context(), in, view, linked(1))
	fatal(t, err)
	_, err = w.store.InsertWebhook(
		t.Context(), in,
		webhooks.Webhook{
			ID: webhooks.ID(uuid.New()), URL: "https://hooks.example/",
			Events: []webhooks.Event{webhooks.LoadSwitched}, CreatedAt: w.now,
		},
		[]byte("sealed"), 10,
	)
	fatal(t, err)
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	_, otherAt := w.changesAfter(t, other, audit.Position{}, 1000)
	for _, table := range []string{"overlays", "view_records", "webhooks"} {
		_, err := w.system.Pool().Exec(t.Context(), `TRUNCATE `+table)
		fatal(t, err)
	}
	kinds := func(all []audit.Change) (kinds []string) {
		for _, c := range all {
			kinds = append(kinds, string(c.Op)+" "+string(c.Kind))
		}
		slices.Sort(kinds)
		return kinds
	}
	got, next := w.changesAfter(t, in, at, 1000)
	if diff := cmp.Diff([]string{"delete membership", "delete overlay", "delete webhook"}, kinds(got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got, _ := w.changesAfter(t, other, otherAt, 1000); len(got) != 1 || got[0].ID != record {
		t.Errorf("the other workspace got %+v", got)
	}
	_, err = w.system.Pool().Exec(t.Context(), `TRUNCATE workspaces CASCADE`)
	fatal(t, err)
	got, _ = w.changesAfter(t, in, next, 1000)
	for _, want := range []string{"delete member", "delete setting", "delete view"} {
		if !slices.Contains(kinds(got), want) {
			t.Errorf("a TRUNCATE of all workspaces recorded %v, not %q", kinds(got), want)
		}
	}
}
