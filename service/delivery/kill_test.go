package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"atlas/internal/egress"
	"atlas/service/delivery"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// runAsSender makes the test binary send due deliveries of a database until it is killed.
const runAsSender = "ATLAS_TEST_RUN_AS_SENDER"

func sendUntilKilled(database string) {
	runUntilKilled(database, func(system *postgres.System) jobs.Handler {
		return delivery.NewSender(system, sealer, egress.New(loopback, nil), nil, slog.New(slog.DiscardHandler)).Handler()
	}, time.Second)
}

// runUntilKilled runs jobs. The lease of a job lasts as long as hold, or as the default.
func runUntilKilled(database string, handler func(*postgres.System) jobs.Handler, hold time.Duration) {
	ctx := context.Background()
	system, err := postgres.OpenSystem(ctx, database, postgres.Options{MaxConns: 4})
	must(err)
	jobs.NewRunner(system, handler(system), jobs.Options{Log: slog.New(slog.DiscardHandler), Hold: hold}).Run(ctx)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// startProcess starts this binary with a variable, whose value is a text, or JSON.
func (w *world) startProcess(t *testing.T, variable string, value any) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	fatal(t, err)
	text, isText := value.(string)
	if !isText {
		encoded, err := json.Marshal(value)
		fatal(t, err)
		text = string(encoded)
	}
	c := exec.Command(binary) // #nosec G204 -- the test itself
	c.Env = append(os.Environ(), variable+"="+text)
	c.Stderr = os.Stderr
	fatal(t, c.Start())
	return c
}

// Two servers send 10,000 deliveries, and are killed repeatedly. None is lost; duplicates
// have the same id; and those of a record arrive in order.
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
		senders := []*exec.Cmd{w.startProcess(t, runAsSender, w.databases.System), w.startProcess(t, runAsSender, w.databases.System)}
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
