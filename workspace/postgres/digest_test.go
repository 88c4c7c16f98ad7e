package postgres_test

import (
	"testing"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/digest"
	"atlas/workspace/subscriptions"
)

// A digest only goes to members of its workspace, and unsubscribing from one workspace
// leaves the others.
func TestDigestsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.one.ID, w.two.ID
	user := w.members[one][0].ID
	fatal(t, w.system.SetWantsMail(t.Context(), two, user, false))
	if r, err := w.system.DigestRecipient(t.Context(), one, user, subscriptions.Daily); err != nil || r.Email != w.members[one][0].Email {
		t.Errorf("%+v, %v", r, err)
	}
	for _, in := range []workspace.ID{two, workspace.NewID()} {
		if r, err := w.system.DigestRecipient(t.Context(), in, user, subscriptions.Daily); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another workspace: %+v, %v", r, err)
		}
	}
	for _, in := range []workspace.ID{two, workspace.NewID()} {
		if _, _, err := w.system.WantsMail(t.Context(), in, user); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("no member: %v", err)
		}
	}
	var none workspace.ID
	_, recipient := w.system.DigestRecipient(t.Context(), none, user, subscriptions.Daily)
	_, _, wants := w.system.WantsMail(t.Context(), none, user)
	_, advance := w.system.AdvanceDigests(t.Context(), digest.Digests{}, w.now, w.now, true, w.now)
	for name, err := range map[string]error{
		"DigestRecipient": recipient, "WantsMail": wants, "AdvanceDigests": advance,
		"SetWantsMail": w.system.SetWantsMail(t.Context(), none, user, true),
		"BeginDigests": w.system.BeginDigests(t.Context(), digest.Digests{}, w.now),
	} {
		if fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s without a workspace: %v", name, err)
		}
	}
}
