package auth

import (
	"context"
	"slices"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// signedIn is what a session adds to the user.
type signedIn struct {
	began time.Time
	own   identity.Own
}

// Own returns the workspace provider by which the caller signed in, zero for none.
func (i Identity) Own() identity.Own {
	if i.session == nil {
		return identity.Own{}
	}
	return i.session.own
}

// stillOwn returns fault.Unauthorized when a workspace's provider no longer covers a session:
// it was removed or replaced, the domain of the address was lost, or the person is not a
// member or was signed out.
func (a *Authenticator) stillOwn(ctx context.Context, i Identity, email string) error {
	own := i.session.own
	gate, err := a.gate(ctx, own.Workspace)
	if err != nil {
		return err
	}
	if gate.Provider != own.Provider || !slices.Contains(gate.Domains, identity.DomainOf(email)) {
		return fault.New(fault.Unauthorized, "the session was ended, because its provider speaks for you no longer: sign in again")
	}
	if _, err := a.role(ctx, own.Workspace, i.user.id); fault.CodeOf(err) == fault.NotFound {
		return fault.Wrap(err, fault.Unauthorized, "the session was ended with the membership")
	} else if err != nil {
		return unavailable(err)
	}
	return a.signedOutOf(ctx, own.Workspace, i)
}

func (a *Authenticator) gate(ctx context.Context, in workspace.ID) (identity.Gate, error) {
	g, err := a.gates.load(ctx, in, func(ctx context.Context) (identity.Gate, error) { return a.store.Gate(ctx, in) })
	if err != nil {
		return g, unavailable(err)
	}
	return g, nil
}

func (a *Authenticator) role(ctx context.Context, in workspace.ID, user workspace.UserID) (people.Role, error) {
	return loadBounded(ctx, a.roles, a.coldMembers, membership{in, user}, func(ctx context.Context) (people.Role, error) {
		return a.store.Role(ctx, in, user)
	})
}

// signedOutOf returns fault.Unauthorized for a session that was ended in a workspace.
func (a *Authenticator) signedOutOf(ctx context.Context, in workspace.ID, i Identity) error {
	at, err := a.membersOut.load(ctx, membership{in, i.user.id}, func(ctx context.Context) (time.Time, error) {
		return a.store.MemberSignedOut(ctx, in, i.user.id)
	})
	switch {
	case err != nil:
		return unavailable(err)
	case !at.IsZero() && !i.session.began.After(at):
		return fault.New(fault.Unauthorized, "your sessions in this workspace were ended: sign in again")
	}
	return nil
}

// admits returns why a member may not act in a workspace with their way of signing in.
func (a *Authenticator) admits(ctx context.Context, i Identity, in workspace.ID) error {
	own := i.Own()
	if own.Workspace == in {
		return nil // SignedIn has checked
	}
	gate, err := a.gate(ctx, in)
	switch {
	case err != nil:
		return err
	case gate.Required:
		return fault.New(
			fault.ProviderRequired,
			"this workspace lets people in by its own provider only: sign in at /session/sign-in?workspace=%s", in,
		)
	case i.session != nil:
		return a.signedOutOf(ctx, in, i)
	}
	return nil
}

var errOtherWorkspace = fault.New(fault.Forbidden, "you signed in by the provider of another workspace, which lets you into that one only")
