package workspace

import (
	"context"
	"time"
)

// Letter is an invitation on its way to a mailbox.
type Letter struct {
	Workspace  ID
	Invitation InvitationID
	// WorkspaceName and InvitedBy are to be read by the invited; InvitedBy is ""
	// when an API key invited.
	WorkspaceName, InvitedBy string
	Email                    string
	Role                     Role
	ExpiresAt                time.Time
	Seed                     InvitationSeed
	Hash                     SecretHash
	// Attempt counts from 1. It tells the claim of one sender from a later one.
	Attempt int
}

// Outbox is the letters that are still to be sent. It lives in the invitations
// themselves, so a letter is as sure as its invitation.
type Outbox interface {
	// ClaimLetter takes a letter that is due for this sender alone, until hold has
	// passed: should the sender die, the letter is due again then. It notes the
	// first attempt as sent_at. Letters of invitations that are closed or expired
	// are never due. ok is false when there is none.
	ClaimLetter(ctx context.Context, now time.Time, hold time.Duration) (l Letter, ok bool, err error)
	// LetterSent ends the sending of a claimed letter.
	LetterSent(ctx context.Context, l Letter, at time.Time) error
	// LetterFailed makes a claimed letter due again at the time given; nil gives
	// it up.
	LetterFailed(ctx context.Context, l Letter, next *time.Time) error
}
