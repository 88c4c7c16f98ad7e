package api_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"atlas/internal/fault"
	"atlas/service/credits"
	"atlas/workspace"
	"atlas/workspace/people"
)

// awayLedger fails as if Redis were unavailable, and counts its calls.
type awayLedger struct{ asked atomic.Int64 }

func (l *awayLedger) away() error {
	l.asked.Add(1)
	return fault.BackendUnavailable(errors.New("away"), "redis")
}

func (l *awayLedger) ReserveOnce(
	context.Context, string, int64, string, int64, credits.Key, credits.Once,
) (*credits.Reservation, []byte, credits.Window, error) {
	return nil, nil, credits.Window{}, l.away()
}

func (l *awayLedger) ReserveItems(
	context.Context, string, int64, string, []int64, credits.Key, credits.Once,
) (*credits.Reservation, int, []byte, credits.Window, error) {
	return nil, 0, nil, credits.Window{}, l.away()
}

func (l *awayLedger) Ample(string, int64, credits.Key) bool { return false }

func (l *awayLedger) Charge(context.Context, string, int64, credits.Charge, credits.Key) (credits.Window, error) {
	return credits.Window{}, l.away()
}

func (l *awayLedger) Check(context.Context, string, int64, credits.Key) (credits.Window, error) {
	return credits.Window{}, l.away()
}

func (l *awayLedger) Usage(context.Context, string, int64) (credits.Usage, error) {
	return credits.Usage{}, l.away()
}

// TestFailingLedgerIsAskedOnce: each call to a hanging Redis takes a whole timeout.
func TestFailingLedgerIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ledger := &awayLedger{}
	w.server.Ledger = ledger
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 10)}, Scopes: workspace.AllScopes()})
	for body, code := range map[string]string{`{}`: "unavailable", `{"limit":"x"}`: "unavailable"} {
		ledger.asked.Store(0)
		if a := w.call(t, key, "POST", "/data/accounts/search", body); a.code() != code || ledger.asked.Load() != 1 {
			t.Errorf("%s: %d %s, and asked %d times", body, a.status, a.text, ledger.asked.Load())
		}
	}
}
