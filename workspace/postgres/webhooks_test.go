package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

// hook adds a webhook with an encrypted secret, and a delivery that has ended.
func (w *world) hook(t *testing.T, in workspace.ID) (webhooks.Webhook, webhooks.Delivery) {
	t.Helper()
	h := webhooks.Webhook{
		ID: webhooks.ID(workspace.NewUUID()), URL: "https://hooks.example/", Events: webhooks.Events(), Enabled: true,
		CreatedAt: w.now,
	}
	h, err := w.app.InsertWebhook(t.Context(), in, h, []byte("sealed"), 10)
	fatal(t, err)
	j, err := webhooks.NewDelivery(in, h.ID, webhooks.RecordChanged, "1", "r", struct{}{}, w.now)
	fatal(t, err)
	d, err := w.app.AddDelivery(t.Context(), in, h.ID, j, w.now)
	fatal(t, err)
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE jobs SET state = 'done', ended_at = now()`)
	fatal(t, err)
	return h, d
}

// No method of the store reads or changes webhooks of another workspace, and none works
// without a workspace.
func TestForeignWorkspaceGetsNothingOfWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setUp := t.Context()
	h, d := w.hook(t, w.one.ID)
	rows := func() (out []string) {
		t.Helper()
		rows, err := w.system.Pool().Query(setUp, `SELECT h::text FROM webhooks h UNION ALL SELECT j::text FROM jobs j ORDER BY 1`)
		fatal(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		fatal(t, err)
		return out
	}
	fatal(t, w.system.NoticeCredits(setUp, w.one.ID, 80, 80, 100, w.now, time.Hour))
	if err := w.system.NoticeCredits(setUp, workspace.ID{}, 80, 80, 100, w.now, time.Hour); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a notice without a workspace: %v", err)
	}
	before := rows()
	span := webhooks.Span{From: w.now.Add(-time.Hour), To: w.now.Add(time.Hour)}
	for name, call := range map[string]func(context.Context, workspace.ID) error{
		"UpdateWebhook": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.UpdateWebhook(ctx, in, h)
			return err
		},
		"RotateWebhook": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.RotateWebhook(ctx, in, h.ID, []byte("x"), w.now)
			return err
		},
		"DeleteWebhook": func(ctx context.Context, in workspace.ID) error { return w.app.DeleteWebhook(ctx, in, h.ID) },
		"AddDelivery": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.AddDelivery(ctx, in, h.ID, jobs.New{ID: jobs.NewID(), Workspace: in, Kind: webhooks.Kind, RunAt: w.now}, w.now)
			return err
		},
		"Deliveries": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.Deliveries(ctx, in, h.ID, 10, 0)
			return err
		},
		"ReplayDelivery": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.ReplayDelivery(ctx, in, h.ID, d.ID, w.now)
			return err
		},
		"ReplayDeliveries": func(ctx context.Context, in workspace.ID) error {
			_, err := w.app.ReplayDeliveries(ctx, in, h.ID, span, w.now, 10)
			return err
		},
		"WebhookTarget": func(ctx context.Context, in workspace.ID) error {
			_, err := w.system.WebhookTarget(ctx, in, h.ID)
			return err
		},
		"DisabledLetter": func(ctx context.Context, in workspace.ID) error {
			_, err := w.system.DisabledLetter(ctx, in, webhooks.DisabledNotice{Webhook: h.ID, User: w.members[w.one.ID][0].ID})
			return err
		},
	} {
		for in, want := range map[workspace.ID]fault.Code{w.two.ID: fault.NotFound, workspace.NewID(): fault.NotFound, {}: fault.Internal} {
			if err := call(setUp, in); fault.CodeOf(err) != want {
				t.Errorf("%s of %s: %v, want %s", name, in, err, want)
			}
		}
	}
	// These change nothing, and return nothing.
	for name, call := range map[string]func(workspace.ID) error{
		"WebhookFailing": func(in workspace.ID) error {
			_, err := w.system.WebhookFailing(setUp, in, h.ID, h.URL, w.now)
			return err
		},
		"WebhookWorks": func(in workspace.ID) error { return w.system.WebhookWorks(setUp, in, h.ID, h.URL) },
		"DisableWebhook": func(in workspace.ID) error {
			return w.system.DisableWebhook(setUp, in, h.ID, h.URL, webhooks.GoneReceiver, w.now)
		},
		"AddSignals": func(in workspace.ID) error {
			_, err := w.system.AddSignals(setUp, webhooks.SignalWebhook{Workspace: in, ID: h.ID}, w.now, nil, w.now)
			return err
		},
	} {
		if err := call(w.two.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(workspace.ID{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s without a workspace: %v", name, err)
		}
	}
	if all, err := w.app.Webhooks(setUp, w.two.ID, 10, 0); err != nil || len(all) != 0 {
		t.Errorf("Webhooks: %v, %v", all, err)
	}
	if diff := cmp.Diff(before, rows()); diff != "" {
		t.Errorf("another workspace changed something (-before +after):\n%s", diff)
	}
	// By row-level security too.
	for _, table := range []string{"webhooks", "credit_notices", "jobs"} {
		if n, err := w.app.CountAll(setUp, w.two.ID, table); err != nil || n != 0 {
			t.Errorf("another workspace sees %d of %s, %v", n, table, err)
		}
		if err := w.app.InWorkspace(setUp, w.two.ID, func(tx pgx.Tx) error {
			tag, err := tx.Exec(setUp, `DELETE FROM `+table)
			if err == nil && tag.RowsAffected() != 0 {
				err = errors.New(tag.String())
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
	if err := w.app.InWorkspace(setUp, w.two.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(setUp, `SELECT 1 FROM webhook_positions`)
		return err
	}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("the application reads positions: %v", err)
	}
}

// Enabling a webhook repeatedly does not flood the owners and admins with e-mails.
func TestNoticesOfDisabledWebhooksAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, _ := w.hook(t, w.one.ID)
	count := func() (n, users int) {
		t.Helper()
		fatal(
			t,
			w.system.Pool().QueryRow(
				t.Context(), `SELECT count(*), count(DISTINCT payload->>'user_id') FROM jobs WHERE kind = $1`,
				string(webhooks.DisabledKind),
			).Scan(&n, &users),
		)
		return n, users
	}
	disable := func() {
		t.Helper()
		fatal(t, w.system.DisableWebhook(t.Context(), w.one.ID, h.ID, h.URL, webhooks.GoneReceiver, w.now))
		_, err := w.app.UpdateWebhook(t.Context(), w.one.ID, h)
		fatal(t, err)
	}
	for range webhooks.MaxNotices + 2 {
		disable()
	}
	n, users := count()
	if users == 0 || n != users*webhooks.MaxNotices {
		t.Errorf("%d e-mails to %d users", n, users)
	}
	w.now = w.now.Add(25 * time.Hour)
	disable()
	if later, _ := count(); later != n+users {
		t.Errorf("a day later %d, before %d", later, n)
	}
}

// Secrets that an old key encrypted are encrypted with the first one, and others are counted.
func TestSecretsAreSealedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	oldKey, newKey := []byte("the old key of the servers"), []byte("the new key of the servers")
	old, now := webhooks.Sealer{Keys: [][]byte{oldKey}}, webhooks.Sealer{Keys: [][]byte{newKey, oldKey}}
	h, _ := w.hook(t, w.one.ID)
	lost, _ := w.hook(t, w.two.ID)
	sealed, err := old.Seal("whsec_a")
	fatal(t, err)
	_, err = w.app.RotateWebhook(ctx, w.one.ID, h.ID, sealed, w.now)
	fatal(t, err)
	_, err = w.app.RotateWebhook(ctx, w.one.ID, h.ID, sealed, w.now)
	fatal(t, err)
	for range 2 {
		n, err := w.system.ResealWebhooks(ctx, now)
		if err != nil || n != 1 {
			t.Errorf("%d secrets are lost, %v; want that of %s", n, err, lost.ID)
		}
	}
	target, err := w.system.WebhookTarget(ctx, w.one.ID, h.ID)
	fatal(t, err)
	for _, box := range [][]byte{target.Secret, target.OldSecret} {
		if secret, current, err := now.Open(box); err != nil || !current || secret != "whsec_a" {
			t.Errorf("%q, %v, %v", secret, current, err)
		}
	}
}
