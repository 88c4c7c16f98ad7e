package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"atlas/workspace"
	"atlas/workspace/people"
)

type webhook struct {
	ID, URL   string
	Events    []string
	Enabled   bool
	CreatedAt time.Time `json:"created_at"`
	Secret    string
}

type hookDelivery struct {
	ID, Event, Status string
	Attempts          int
	NextAttemptAt     *time.Time `json:"next_attempt_at"`
	ResponseStatus    *int       `json:"response_status"`
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "One", workspace.Pro, 1000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	_, other := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Two", workspace.Pro, 1000)}})
	const base = "/workspace/webhooks"
	var made struct{ Webhook webhook }
	w.call(t, key, "POST", base+"/upsert", `{"url":"https://hooks.example/a","events":["record.deleted","record.changed","record.deleted"]}`).
		into(t, &made, nil)
	first := made.Webhook
	if !first.Enabled || strings.Join(first.Events, " ") != "record.changed record.deleted" || !strings.HasPrefix(first.Secret, "whsec_") {
		t.Errorf("created: %+v", first)
	}
	if _, err := standardwebhooks.NewWebhook(first.Secret); err != nil {
		t.Errorf("the secret: %v", err)
	}
	hook := base + "/" + first.ID

	// The secret is nowhere else, and is not stored in plain text.
	var list struct{ Webhooks []webhook }
	if w.call(t, key, "GET", base, "").into(t, &list, nil); len(list.Webhooks) != 1 || list.Webhooks[0].Secret != "" ||
		list.Webhooks[0].ID != first.ID {
		t.Errorf("listed: %+v", list)
	}
	var plain int
	w.admin(t, func(conn *pgx.Conn) error {
		return conn.QueryRow(
			t.Context(),
			`SELECT count(*) FROM webhooks t WHERE strpos(t::text, $1) > 0 OR strpos(encode(secret, 'escape'), $1) > 0`,
			strings.TrimPrefix(first.Secret, "whsec_"),
		).Scan(&plain)
	})
	if plain != 0 {
		t.Error("the secret is stored as it is")
	}
	w.call(t, key, "POST", hook+"/rotate", "").into(t, &made, nil)
	if made.Webhook.Secret == first.Secret || !strings.HasPrefix(made.Webhook.Secret, "whsec_") {
		t.Errorf("rotated: %+v", made.Webhook)
	}

	// An upsert changes and enables it, and leaves the secret.
	disable := func() {
		w.exec(t, `UPDATE webhooks SET enabled = false, failing_since = now()`)
	}
	disable()
	made.Webhook = webhook{}
	w.call(
		t, key, "POST", base+"/upsert",
		fmt.Sprintf(`{"id":%q,"url":"https://hooks.example/b","events":["load.switched"]}`, first.ID),
	).into(t, &made, nil)
	if c := made.Webhook; c.Secret != "" || c.ID != first.ID || !c.Enabled || c.URL != "https://hooks.example/b" {
		t.Errorf("changed: %+v", c)
	}

	// Deliveries.
	var one struct{ Delivery hookDelivery }
	w.call(t, key, "POST", hook+"/test", "").into(t, &one, nil)
	if d := one.Delivery; d.Event != "webhook.test" || d.Status != "pending" || d.NextAttemptAt == nil || d.ResponseStatus != nil {
		t.Errorf("test: %+v", d)
	}
	delivery := hook + "/deliveries/" + one.Delivery.ID
	w.exec(t, `UPDATE jobs SET state = 'failed', attempts = 10, status = 500, error = 'status 500', ended_at = now()`)
	var log struct{ Deliveries []hookDelivery }
	w.call(t, key, "GET", hook+"/deliveries?limit=1", "").into(t, &log, nil)
	if d := log.Deliveries; len(d) != 1 || d[0].Status != "failed" || d[0].Attempts != 10 || d[0].NextAttemptAt != nil ||
		*d[0].ResponseStatus != 500 {
		t.Errorf("log: %+v", d)
	}
	w.call(t, key, "POST", delivery+"/replay", "").into(t, &one, nil)
	if d := one.Delivery; d.Status != "pending" || d.Attempts != 0 || d.ID != log.Deliveries[0].ID {
		t.Errorf("replayed: %+v", d)
	}
	w.exec(t, `UPDATE jobs SET state = 'done', ended_at = now()`)
	var span struct {
		Replayed int
		Next     *time.Time
	}
	if w.call(t, key, "POST", hook+"/replay", `{"from":"2020-01-01","to":"2020-01-02T00:00:00Z"}`).into(t, &span, nil); span.Replayed != 0 {
		t.Errorf("replayed of another time: %+v", span)
	}
	if w.call(t, key, "POST", hook+"/replay", `{"from":"2020-01-01","to":"2100-01-01"}`).into(t, &span, nil); span.Replayed != 1 ||
		span.Next != nil {
		t.Errorf("replayed: %+v", span)
	}

	// Another workspace finds nothing of it.
	for method, path := range map[string]string{
		"DELETE ": hook, "POST ": hook + "/test", "POST": hook + "/rotate", "GET": hook + "/deliveries", "POST  ": delivery + "/replay",
	} {
		if a := w.call(t, other, strings.TrimSpace(method), path, ""); a.status != 404 || a.code() != "not_found" {
			t.Errorf("another workspace: %s %s: %d %s", method, path, a.status, a.text)
		}
	}
	for path, body := range map[string]string{
		"/upsert":                      fmt.Sprintf(`{"id":%q,"url":"https://evil.example/","events":["load.switched"]}`, first.ID),
		"/" + first.ID + "/replay":     `{"from":"2020-01-01","to":"2100-01-01"}`,
		"/" + unknownID + "/replay":    `{"from":"2020-01-01","to":"2100-01-01"}`,
		"/" + unknownID + "/rotate":    "",
		"/upsert?unknown_to_everybody": "",
	} {
		want := 404
		if strings.Contains(path, "?") {
			want = 400
		}
		if a := w.call(t, other, "POST", base+path, body); a.status != want {
			t.Errorf("another workspace: %s: %d %s", path, a.status, a.text)
		}
	}
	if w.call(t, other, "GET", base, "").into(t, &list, nil); len(list.Webhooks) != 0 {
		t.Errorf("another workspace lists %+v", list)
	}
	if a := w.call(t, key, "POST", hook+"/deliveries/"+unknownID+"/replay", ""); a.code() != "not_found" {
		t.Errorf("an unknown delivery: %s", a.text)
	}

	// Nothing is replayed to a disabled one, but a test is sent.
	disable()
	for _, a := range []answer{
		w.call(t, key, "POST", delivery+"/replay", ""), w.call(t, key, "POST", hook+"/replay", `{"from":"2020-01-01","to":"2100-01-01"}`),
	} {
		if a.status != 409 || a.code() != "webhook_disabled" {
			t.Errorf("disabled: %d %s", a.status, a.text)
		}
	}
	w.call(t, key, "POST", hook+"/test", "").into(t, &one, nil)
	w.call(t, key, "DELETE", hook, "").into(t, new(any), nil)
	if a := w.call(t, key, "DELETE", hook, ""); a.code() != "not_found" {
		t.Errorf("deleted again: %s", a.text)
	}
}

// admin runs fn as the owner of the database, whom no policy binds.
func (w *world) admin(t *testing.T, fn func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.databases.Admin)
	fatal(t, err)
	defer func() { fatal(t, conn.Close(t.Context())) }()
	fatal(t, fn(conn))
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	w.admin(t, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), sql, args...)
		return err
	})
}

func TestWebhooksThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "One", workspace.Pro, 1000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	upsert := func(url, events string) answer {
		return w.call(t, key, "POST", "/workspace/webhooks/upsert", fmt.Sprintf(`{"url":%q,"events":%s}`, url, events))
	}
	for _, url := range []string{
		"http://hooks.example/", "ftp://hooks.example/", "hooks.example", "https:///x", "", "https://a:b@hooks.example/",
		"https://hooks.example/#x",
		"https://127.0.0.1/", "https://10.1.2.3/", "https://192.168.0.1/", "https://172.16.0.1/", "https://169.254.169.254/latest/meta-data",
		"https://100.64.0.1/", "https://[::1]/", "https://[fd00::1]/", "https://[fe80::1%25eth0]/",
		"https://[::ffff:127.0.0.1]/", "https://0.0.0.0/",
		"https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://hooks.example:0/",
		"https://hooks.example:99999/", "https://" + strings.Repeat("a", 2000) + "/",
	} {
		if a := upsert(url, `["record.changed"]`); a.status != 400 || a.code() != "validation" || !strings.Contains(a.text, `"url"`) {
			t.Errorf("%s: %d %s", url, a.status, a.text)
		}
	}
	for _, events := range []string{`[]`, `["webhook.test"]`, `["x"]`, `"record.changed"`} {
		if a := upsert("https://hooks.example/", events); a.code() != "validation" {
			t.Errorf("%s: %d %s", events, a.status, a.text)
		}
	}
	if a := w.call(
		t, key, "POST", "/workspace/webhooks/"+unknownID+"/replay", `{"from":"2026-01-02","to":"2026-01-02"}`,
	); a.code() != "validation" {
		t.Errorf("an empty span: %s", a.text)
	}
	for range workspace.DefaultLimits.Webhooks {
		if a := upsert("https://hooks.example/", `["record.changed"]`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	if a := upsert("https://hooks.example/", `["record.changed"]`); a.code() != "limit_reached" {
		t.Errorf("beyond the limit: %d %s", a.status, a.text)
	}
}
