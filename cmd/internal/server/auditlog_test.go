package server

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"atlas/service/api"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// Requests that end while the background jobs have ended are counted.
func TestCountsOutliveTheJobs(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	store, system := d.OpenApp(t, postgres.Options{}), d.OpenSystem(t, postgres.Options{})
	w := &wired{server: &api.Server{}}
	if err := wireAuditLog(Config{}, w, store, system, nil, time.Now, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w.stopJobs()
	time.Sleep(100 * time.Millisecond)
	w.server.Counts.Refused("key", netip.Prefix{})
	w.closeBackends()
	if all, err := system.FailedSignIns(t.Context(), time.Time{}, 10); err != nil || len(all) != 1 {
		t.Errorf("%d of 1 are counted, %v", len(all), err)
	}
}
