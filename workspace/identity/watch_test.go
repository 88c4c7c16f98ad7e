package identity_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"atlas/workspace"
	"atlas/workspace/identity"
)

// watched are due domains, with their noted results.
type watched struct {
	names []string
	noted map[string]bool
}

func (w *watched) DueDomains(context.Context, time.Time, int) (all []identity.Domain, err error) {
	for _, name := range w.names {
		all = append(all, identity.Domain{Workspace: workspace.NewID(), Name: name, Token: name})
	}
	return all, nil
}

func (w *watched) NoteCheck(_ context.Context, _ workspace.ID, name string, there bool, at time.Time) (identity.Domain, error) {
	w.noted[name] = there
	return identity.Domain{Name: name, ProvedAt: &at}, nil
}

// LookupTXT finds records of names with there, none for gone, and fails for others.
func (w *watched) LookupTXT(_ context.Context, name string) ([]string, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "_atlas."), ".")
	switch {
	case strings.HasPrefix(name, "there"):
		return []string{"atlas-domain=" + name}, nil
	case strings.HasPrefix(name, "gone"):
		return nil, &net.DNSError{IsNotFound: true}
	}
	return nil, errors.New("no name server answers")
}

// Domains do not come closer to being lost while this server reaches no name server.
func TestNoNameServerAnswers(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]map[string]bool{
		"down1 down2":  {},
		"down1 there":  {"down1": false, "there": true},
		"gone down1":   {"gone": false, "down1": false},
		"there1 there": {"there1": true, "there": true},
	} {
		w := &watched{strings.Fields(names), map[string]bool{}}
		s := &identity.Settings{Prover: w, Resolver: w}
		if err := s.CheckDue(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
		if !maps.Equal(w.noted, want) {
			t.Errorf("%s: noted %v, want %v", names, w.noted, want)
		}
	}
}
