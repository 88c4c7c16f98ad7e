package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/client"
	"atlas/cmd/internal/server"
)

// eventLog is a receiver that records the events with a valid signature.
type eventLog struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	events map[string]client.WebhookEvent
	bad    []error
}

func receiveEvents(t *testing.T) *eventLog {
	t.Helper()
	l := &eventLog{events: map[string]client.WebhookEvent{}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		defer l.mu.Unlock()
		event, err := client.ReadWebhook(l.secret, r.Header, body)
		if err != nil {
			l.bad = append(l.bad, err)
		}
		l.events[event.ID] = event
	}))
	t.Cleanup(l.Close)
	return l
}

// has reports whether an event of a type was received whose data contain all texts.
func (l *eventLog) has(kind client.Event, texts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		found := e.Type == kind
		for _, text := range texts {
			found = found && strings.Contains(string(e.Data), text)
		}
		if found {
			return true
		}
	}
	return false
}

// Loads, deltas, signals, merges and credits reach a webhook through the real program.
func TestWebhooksAreDelivered(t *testing.T) {
	t.Parallel()
	w := startWritable(t, func(c *server.Config) { c.Webhooks.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	ctx, c, l := t.Context(), w.client(w.key), receiveEvents(t)
	w.load(map[string]string{
		"accounts": account(1, `,"name":"One"`) + "\n" + account(2, `,"name":"Two"`) + "\n" + account(3, `,"name":"Three"`) +
			"\n" + account(4, `,"name":"Four"`),
	})
	id := func(n int) string { return fmt.Sprintf("10000000-0000-4000-8000-%012d", n) }
	for _, n := range []int{1, 2, 3} {
		if a := w.call("POST", "/workspace/accounts/upsert", w.key, `{"account_id":"`+id(n)+`","notes":"x"}`); a.status != 200 {
			t.Fatalf("%s", a.raw)
		}
	}
	must(c.Subscriptions.Upsert(ctx, "permit_issued", client.Delivery{}))(t)
	hook := must(c.Webhooks.Upsert(
		ctx, "", l.URL+"/atlas", "signal.arrived", "record.changed", "record.deleted", "record.merged",
		"credits.threshold", "load.switched",
	))(t)
	l.mu.Lock()
	l.secret = hook.Secret
	l.mu.Unlock()
	must(c.Webhooks.Test(ctx, hook.ID))(t)
	w.eventually("a test comes", func() bool { return l.has("webhook.test", hook.ID) })
	// The dispatcher begins with what happens after its first look.
	w.eventually("a change is delivered", func() bool {
		w.index(
			0, "apply", "--accounts",
			w.file(`{"id":"`+id(1)+`","name":"New `+time.Now().String()+`","updated_at":"`+time.Now().UTC().Format(time.RFC3339Nano)+`"}`),
		)
		time.Sleep(1500 * time.Millisecond)
		return l.has("record.changed", id(1), `"name"`)
	})
	var view struct {
		View struct{ ID string }
	}
	a := w.call("POST", "/workspace/views/upsert", w.key,
		`{"dataset":"account","view_type":"dynamic","name":"V","definition":{"version":1,"q":"","fields":{"city":["Banff"]}}}`)
	if err := json.Unmarshal(a.body.Data, &view); err != nil || a.status != 200 {
		t.Fatalf("%s, %v", a.raw, err)
	}
	must(c.Webhooks.UpsertOfViews(ctx, hook.ID, hook.URL, []string{view.View.ID}, append(hook.Events, "view.matched")...))(t)
	// Matches before the first look are known.
	n := 100
	w.eventually("records that match a View are delivered", func() bool {
		n++
		w.index(0, "apply", "--accounts", w.file(`{"id":"`+id(n)+`","name":"Fits","city":"Banff"}`))
		time.Sleep(1500 * time.Millisecond)
		return l.has("view.matched", view.View.ID, id(n))
	})
	var gone []string // a load without them would be refused
	for ; n > 100; n-- {
		gone = append(gone, `{"id":"`+id(n)+`","deleted":true}`)
	}
	w.index(0, "apply", "--accounts", w.file(gone...))
	now := time.Now().UTC()
	w.index(0, "apply", "--accounts", w.file(
		`{"id":"`+id(2)+`","deleted":true}`, `{"id":"`+id(3)+`","merged_into":"`+id(1)+`"}`,
		`{"id":"`+id(4)+`","name":"Quatre","updated_at":"2026-01-01"}`))
	w.eventually("a deletion is delivered", func() bool { return l.has("record.deleted", id(2)) })
	w.eventually("a merge is delivered", func() bool { return l.has("record.merged", id(3), id(1)) })
	signal := "50000000-0000-4000-8000-000000000001"
	line := fmt.Sprintf(`{"id":%q,"title":"T","signal_type":"permit_issued","detected_at":%q,"occurred_at":%[2]q}`, signal, now.Format(time.RFC3339))
	w.index(0, "apply", "--signals", w.file(line))
	w.eventually("a signal is delivered", func() bool { return l.has("signal.arrived", signal) })
	w.load(map[string]string{"accounts": account(1, `,"name":"One again"`) + "\n" + account(4, `,"name":"Four"`), "signals": line})
	w.eventually("a load is delivered", func() bool { return l.has("load.switched", "generation") })
	if l.has("", id(4)) || l.has("record.changed", id(4)) {
		t.Error("a record outside the book was delivered")
	}
	if len(l.bad) > 0 {
		t.Errorf("%v", l.bad)
	}
	w.eventually("the log has them as delivered", func() bool {
		for d, err := range c.Webhooks.Deliveries(ctx, hook.ID) {
			if err != nil || d.Status != "delivered" {
				return false
			}
		}
		return true
	})
	var usage struct{ Used int }
	_ = json.Unmarshal(w.call("GET", "/workspace/credits", w.key, "").body.Data, &usage)
	if usage.Used != 0 {
		t.Errorf("%d credits were used", usage.Used)
	}
	if m := w.metrics(); !strings.Contains(m, `atlas_job_runs_total{outcome="ok",task="webhook"}`) ||
		!strings.Contains(m, "atlas_jobs_pending 0") {
		t.Error("the metrics lack webhooks")
	}
}
