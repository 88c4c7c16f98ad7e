package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"atlas/internal/delivery"
	"atlas/internal/egress"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// runAsSender makes the test binary send what is due in a database until it is killed.
const runAsSender = "ATLAS_TEST_RUN_AS_SENDER"

func sendUntilKilled() {
	ctx := context.Background()
	system, err := postgres.OpenSystem(ctx, os.Getenv(runAsSender), postgres.Options{MaxConns: 4})
	if err != nil {
		panic(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := delivery.NewSender(system, sealer, egress.New(loopback, nil), nil, log)
	jobs.NewRunner(system, s.Handler(), jobs.Options{Log: log, Hold: time.Second}).Run(ctx)
}

// startSender starts a process that sends.
func (w *world) startSender(t *testing.T) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	fatal(t, err)
	c := exec.Command(binary) // #nosec G204 -- the test itself
	c.Env = append(os.Environ(), runAsSender+"="+w.databases.System)
	c.Stderr = os.Stderr
	fatal(t, c.Start())
	return c
}

// Two servers send 10,000 deliveries, and are killed again and again. None is lost; those
// that come twice have the same id; and those of a record come in their order.
func TestKilledSendersLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, nil)
	h := w.hook(t, r.URL)
	const events, records = 10_000, 500
	names := make([]string, events)
	for i := range names {
		names[i] = fmt.Sprint(i % records)
	}
	ids := w.queue(t, h, names...)
	distinct := func() map[string]int {
		seen := map[string]int{}
		for _, m := range r.all() {
			seen[m.header.Get("webhook-id")]++
		}
		return seen
	}
	kills := 0
	end := time.Now().Add(5 * time.Minute)
	for reached := 0; reached < events; {
		senders := []*exec.Cmd{w.startSender(t), w.startSender(t)}
		target := min(reached+1500, events)
		for reached < target {
			if reached = len(distinct()); time.Now().After(end) {
				t.Fatalf("%d of %d arrived", reached, events)
			}
		}
		for _, s := range senders {
			fatal(t, s.Process.Kill())
			_ = s.Wait() // it says that it was killed
			kills++
		}
	}
	seen := distinct()
	doubles := 0
	for _, id := range ids {
		if seen[id.String()] == 0 {
			t.Errorf("%s was lost", id)
		}
		doubles += seen[id.String()] - 1
	}
	if len(seen) != events {
		t.Errorf("%d ids of %d events", len(seen), events)
	}
	t.Logf("%d kills, %d doubles", kills, doubles)
	got, want := map[string][]string{}, map[string][]string{}
	for i, id := range ids {
		want[names[i]] = append(want[names[i]], id.String())
	}
	for _, m := range r.all() {
		record, id := m.parsed.Data.ID, m.header.Get("webhook-id")
		if !slices.Contains(got[record], id) {
			got[record] = append(got[record], id)
		}
	}
	for record := range want {
		if !slices.Equal(got[record], want[record]) {
			t.Errorf("record %s: %v, want %v", record, got[record], want[record])
		}
	}
}
