package workspace

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
)

// InvitationTTL is how long an invitation can be accepted.
const InvitationTTL = 7 * 24 * time.Hour

// InvitationID names an invitation; it is part of its link.
type InvitationID uuid.UUID

// String is the 36-character lower-case form.
func (id InvitationID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id InvitationID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Invitation asks the holder of an address to join a workspace. It is open
// until it is accepted or revoked; an open one is pending until ExpiresAt.
type Invitation struct {
	ID InvitationID
	// Email is a bare address of at most MaxEmail bytes, as written.
	Email string
	// Role is Admin or Common.
	Role Role
	// SentAt is when the letter was first tried, nil when it never was.
	SentAt *time.Time
	// ExpiresAt and CreatedAt are in UTC, whole milliseconds.
	ExpiresAt, CreatedAt time.Time
	// Expired tells an expired one from a pending one, as of when it was read.
	Expired bool
}

// MarshalJSON is the invitation as docs/api.md, "Invitations", shows it.
func (i Invitation) MarshalJSON() ([]byte, error) {
	status := "Pending"
	if i.Expired {
		status = "Expired"
	}
	return json.Marshal(struct {
		ID        InvitationID `json:"id"`
		Email     string       `json:"email"`
		Role      Role         `json:"role"`
		Status    string       `json:"status"`
		SentAt    *string      `json:"sent_at"`
		ExpiresAt *string      `json:"expires_at"`
		CreatedAt *string      `json:"created_at"`
	}{i.ID, i.Email, i.Role, status, FormatTime(i.SentAt), FormatTime(&i.ExpiresAt), FormatTime(&i.CreatedAt)})
}

// InvitationRecord is an invitation to be stored.
type InvitationRecord struct {
	Invitation
	Seed InvitationSeed
	Hash SecretHash
	// Letter: one is to be sent, when it is its turn.
	SendEmail bool
}

// InvitationStore keeps the invitations of workspaces.
type InvitationStore interface {
	// Invitations lists a page of the open ones, newest first.
	Invitations(ctx context.Context, in ID, limit, offset int) ([]Invitation, error)
	// InsertInvitation adds one unless judge objects to the actor, and returns the
	// turn of its letter (Turn), at the pace of b. An open one for the address that
	// has expired by r.CreatedAt is revoked in the same transaction; otherwise
	// fault.AlreadyInvited. fault.AlreadyMember; fault.LimitReached where the
	// workspace would have more open ones than b allows, whoever adds others
	// meanwhile.
	InsertInvitation(ctx context.Context, in ID, by Actor, r InvitationRecord, b Limits, judge Guard) (EmailSchedule, error)
	// RevokeInvitation ends an open one at the time given, unless judge objects
	// to the actor: fault.NotFound.
	RevokeInvitation(ctx context.Context, in ID, by Actor, id InvitationID, at time.Time, judge Guard) (Invitation, error)
}

// Acceptance is what a store needs to turn an invitation into a membership.
type Acceptance struct {
	Invitation InvitationID
	User       User
	At         time.Time
	// Guard decides on the invitation as locked: an error leaves all as it is.
	Guard func(LockedInvitation) error
}

// LockedInvitation is an invitation as its acceptance is judged.
type LockedInvitation struct {
	Hash        SecretHash
	EmailFolded string
	// Closed: it was accepted or revoked.
	Closed    bool
	ExpiresAt time.Time
	// Plan is that of the inviting workspace.
	Plan Plan
}

// AcceptanceStore accepts invitations, which name no workspace: it crosses them.
type AcceptanceStore interface {
	// AcceptInvitation makes the user a member with the invitation's role and closes it, in
	// one transaction; a user known already gets the address and name of
	// j.User. fault.NotFound for an unknown invitation, fault.AlreadyMember, or
	// the judge's error.
	AcceptInvitation(ctx context.Context, j Acceptance) (ID, Member, error)
}

// Invitations is the inviting of people and its rules (docs/api.md,
// "Invitations"). Its fields are set before it is used.
type Invitations struct {
	Store       InvitationStore
	Acceptances AcceptanceStore
	Links       *InvitationLinks
	// EmailQueued is told that there is a letter to send; nil sends none, and the link
	// in the answer is all there is. It must not block.
	EmailQueued func()
	// Bounds.OpenInvitations is how many a workspace may have, and the pace of
	// letters is Bounds.LettersHourly and Bounds.LettersDaily.
	Limits Limits
	// Joined, when not nil, is told of every member who joined.
	Accepted func(in ID, user UserID)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

func (s *Invitations) now() time.Time {
	if s.Now == nil {
		return StoredTime(time.Now())
	}
	return StoredTime(s.Now())
}

// List is a page of the open invitations, newest first. The limit is 1..100, the
// offset not negative; callers check.
func (s *Invitations) List(ctx context.Context, in ID, limit, offset int) ([]Invitation, error) {
	list, err := s.Store.Invitations(ctx, in, limit, offset)
	now := s.now()
	for i := range list {
		list[i].Expired = !now.Before(list[i].ExpiresAt)
	}
	return list, err
}

// CreatedInvitation is a new invitation.
type CreatedInvitation struct {
	Invitation Invitation
	// Link accepts it, and can never be had again.
	Link  string
	Email EmailSchedule
}

// Create invites an address. fault.InvalidInput, fault.Forbidden,
// fault.AlreadyInvited, fault.AlreadyMember, fault.LimitReached.
func (s *Invitations) Create(ctx context.Context, in ID, by Actor, email string, role Role) (CreatedInvitation, error) {
	email = strings.TrimSpace(email)
	issues := CheckEmail(email)
	if role != Admin && role != MemberRole {
		issues = append(issues, NewIssue(fault.InvalidUnion, "role", "must be one of: admin, member"))
	}
	if err := ValidationError(issues); err != nil {
		return CreatedInvitation{}, err
	}
	now := s.now()
	r := InvitationRecord{
		Invitation: Invitation{
			ID: InvitationID(NewUUID()), Email: email, Role: role, CreatedAt: now, ExpiresAt: now.Add(InvitationTTL),
		},
		Seed: newInvitationSeed(), SendEmail: s.EmailQueued != nil,
	}
	secret := s.Links.secret(r.ID, r.Seed)
	r.Hash = secret.Hash()
	turn, err := s.Store.InsertInvitation(ctx, in, by, r, s.Limits.WithDefaults(), requireAdministrator)
	if err != nil {
		return CreatedInvitation{}, err
	}
	if s.EmailQueued != nil {
		s.EmailQueued()
	}
	return CreatedInvitation{r.Invitation, s.Links.url(r.ID, secret), turn}, nil
}

// Revoke ends an open invitation; its link stops working at once. It returns it
// as it was: fault.NotFound, fault.Forbidden.
func (s *Invitations) Revoke(ctx context.Context, in ID, by Actor, id InvitationID) (Invitation, error) {
	return s.Store.RevokeInvitation(ctx, in, by, id, s.now(), requireAdministrator)
}

func requireAdministrator(seats LockedMembers) error {
	if !seats.Actor.Administers() {
		return notAdministrator()
	}
	return nil
}

// Invitee is who accepts an invitation, as their token says.
type Invitee struct {
	ID UserID
	// Email is "" when the token has none.
	Email string
	// EmailVerified is false when the issuer says that it does not know.
	EmailVerified bool
	// Name is "" when the token has none.
	Name string
}

// Accept makes the newcomer a member of the workspace that the token invites
// to. fault.NotFound for a token that is unknown, used, revoked or expired;
// fault.Forbidden when it was meant for another address, or the workspace's plan
// is not Pro; fault.AlreadyMember.
func (s *Invitations) Accept(ctx context.Context, token string, n Invitee) (ID, Member, error) {
	id, secret, err := parseInvitationToken(token)
	if err != nil {
		return ID{}, Member{}, noInvitation(err)
	}
	j := Acceptance{Invitation: id, User: n.user(), At: s.now()}
	j.Guard = func(o LockedInvitation) error {
		switch {
		case !secret.Matches(o.Hash), o.Closed, !j.At.Before(o.ExpiresAt):
			return noInvitation(nil)
		case n.Email == "", !n.EmailVerified, FoldEmail(n.Email) != o.EmailFolded:
			return fault.New(fault.Forbidden, "the invitation is for another e-mail address, or yours is not verified")
		case o.Plan != Pro:
			return fault.New(fault.Forbidden, "the workspace's plan is %s; this API requires the Pro plan", o.Plan)
		}
		return nil
	}
	in, m, err := s.Acceptances.AcceptInvitation(ctx, j)
	if fault.CodeOf(err) == fault.NotFound {
		return ID{}, Member{}, noInvitation(err) // one answer, whatever the reason
	}
	if err == nil && s.Accepted != nil {
		s.Accepted(in, m.ID)
	}
	return in, m, err
}

func noInvitation(cause error) error {
	return fault.Wrap(cause, fault.NotFound, "no invitation can be accepted with this token: it is unknown, used, revoked or expired")
}

// user is the newcomer as stored. One whose token has no name goes by the local
// part of the address.
func (n Invitee) user() User {
	name := n.Name
	if name == "" {
		name, _, _ = strings.Cut(n.Email, "@")
		if utf8.RuneCountInString(name) > MaxName {
			name = string([]rune(name)[:MaxName])
		}
	}
	return User{ID: n.ID, Email: n.Email, Name: strings.TrimSpace(name)}
}

// parseAcceptURL judges the address that links begin with.
func parseAcceptURL(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errBadAcceptURL
	}
	return u, nil
}
