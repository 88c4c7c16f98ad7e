package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/workspace/postgres"
)

// A command that loses its lease says so, and not that a statement was cancelled
// on that account.
func TestExplainNamesALostLease(t *testing.T) {
	t.Parallel()
	err := Explain(errors.Join(postgres.ErrLeaseLost, fault.BackendUnavailable(context.Canceled, "postgres")))
	if !errors.Is(err, postgres.ErrLeaseLost) || !strings.Contains(err.Error(), "run the command again") {
		t.Error(err)
	}
}
