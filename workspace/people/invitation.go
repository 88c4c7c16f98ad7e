package people

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/workspace"
)

// InvitationTTL is how long an invitation can be accepted after its creation.
const InvitationTTL = 7 * 24 * time.Hour

type invitationKind struct{}

// InvitationID identifies an invitation. It is part of the invitation's link.
type InvitationID = workspace.TypedID[invitationKind]

// Invitation asks the owner of an e-mail address to join a workspace. It is open
// until it is accepted or revoked. An open invitation is pending until ExpiresAt,
// then expired.
type Invitation struct {
	ID InvitationID
	// Email has at most MaxEmail bytes and no display name.
	Email string
	// Role is Admin or MemberRole.
	Role Role
	// SentAt is the time of the first attempt to send the e-mail, nil before.
	SentAt *time.Time
	// ExpiresAt and CreatedAt are in UTC, whole milliseconds.
	ExpiresAt, CreatedAt time.Time
	// Expired is as of the time of reading.
	Expired bool
}

// MarshalJSON encodes the invitation as in docs/api.md, "Invitations".
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
	}{i.ID, i.Email, i.Role, status, workspace.FormatTime(i.SentAt), workspace.FormatTime(&i.ExpiresAt), workspace.FormatTime(&i.CreatedAt)})
}

// InvitationRecord is an invitation as a store inserts it.
type InvitationRecord struct {
	Invitation
	Seed InvitationSeed
	Hash workspace.SecretHash
	// Replaces says whether it replaces a pending invitation of the address.
	Replaces bool
	// SendEmail says whether the service sends an e-mail for it.
	SendEmail bool
}

// InvitationStore stores the invitations of workspaces.
type InvitationStore interface {
	// Invitations lists a page of the open invitations, newest first.
	Invitations(ctx context.Context, in workspace.ID, limit, offset int) ([]Invitation, error)
	// InsertInvitation adds an invitation if guard permits the actor, and returns when its
	// e-mail is sent under the rates of l (ScheduleEmail). In the same transaction it revokes
	// an open invitation of the address: one that has expired by r.CreatedAt or, with
	// r.Replaces, a pending one, whose role is then guard's target. Errors:
	// fault.AlreadyInvited for a pending one; fault.AlreadyMember; fault.LimitReached when the
	// workspace has l.OpenInvitations, also under concurrent calls.
	InsertInvitation(
		ctx context.Context,
		in workspace.ID,
		by Actor,
		r InvitationRecord,
		l workspace.Limits,
		guard Guard,
	) (EmailSchedule, error)
	// RevokeInvitation closes an open invitation, whose role is guard's target, if
	// guard permits the actor: fault.NotFound.
	RevokeInvitation(ctx context.Context, in workspace.ID, by Actor, id InvitationID, at time.Time, guard Guard) (Invitation, error)
}

// Acceptance is the input of AcceptanceStore.AcceptInvitation.
type Acceptance struct {
	Invitation InvitationID
	User       User
	At         time.Time
	// Guard permits the acceptance, or returns the error that rejects it.
	Guard func(LockedInvitation) error
}

// LockedInvitation is the input of an Acceptance.Guard. Its row stays locked until the end
// of the transaction.
type LockedInvitation struct {
	Hash        workspace.SecretHash
	EmailFolded string
	// Closed is true when the invitation was accepted or revoked.
	Closed    bool
	ExpiresAt time.Time
	// Plan is the plan of the inviting workspace.
	Plan workspace.Plan
}

// AcceptanceStore accepts invitations. It works across workspaces, because the
// caller knows an invitation's id and not its workspace.
type AcceptanceStore interface {
	// AcceptInvitation makes the user a member with the invitation's role and
	// closes the invitation, in one transaction. It updates the address and name
	// of a user that exists. Errors: fault.NotFound for an unknown invitation,
	// fault.AlreadyMember, the guard's error.
	AcceptInvitation(ctx context.Context, a Acceptance) (workspace.ID, Member, error)
	// PreviewInvitation returns what AcceptInvitation would, with the same errors, and changes
	// nothing.
	PreviewInvitation(ctx context.Context, a Acceptance) (InvitationPreview, error)
}

// InvitationPreview is what an invited person sees before they accept.
type InvitationPreview struct {
	Workspace struct {
		ID   workspace.ID `json:"id"`
		Name string       `json:"name"`
	} `json:"workspace"`
	// InvitedBy is nil when a key invited, or somebody who is no longer a member.
	InvitedBy *Inviter
	Role      Role
	Email     string
	ExpiresAt time.Time
}

// Inviter is a member who has invited somebody.
type Inviter struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// MarshalJSON renders the API's preview of an invitation.
func (p InvitationPreview) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Workspace any      `json:"workspace"`
		InvitedBy *Inviter `json:"invited_by"`
		Role      Role     `json:"role"`
		Email     string   `json:"email"`
		ExpiresAt *string  `json:"expires_at"`
	}{p.Workspace, p.InvitedBy, p.Role, p.Email, workspace.FormatTime(&p.ExpiresAt)})
}

// Invitations creates, revokes and accepts invitations (docs/api.md,
// "Invitations"). Its fields must be set before the first call.
type Invitations struct {
	Store       InvitationStore
	Acceptances AcceptanceStore
	Links       *InvitationLinks
	// Emails says whether the service sends e-mails. Otherwise the invited person gets the
	// link in another way.
	Emails bool
	// Limits has OpenInvitations and the e-mail rates EmailsHourly and EmailsDaily.
	Limits workspace.Limits
	// Accepted, when not nil, is called after each acceptance.
	Accepted func(in workspace.ID, user workspace.UserID)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

func (s *Invitations) now() time.Time { return workspace.Clock(s.Now)() }

// List returns a page of the open invitations, newest first. The caller checks
// that limit is 1..100 and offset is not negative.
func (s *Invitations) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Invitation, error) {
	list, err := s.Store.Invitations(ctx, in, limit, offset)
	now := s.now()
	for i := range list {
		list[i].Expired = !now.Before(list[i].ExpiresAt)
	}
	return list, err
}

// CreatedInvitation is the result of Create.
type CreatedInvitation struct {
	Invitation Invitation
	// Link accepts the invitation. It cannot be retrieved again.
	Link  string
	Email EmailSchedule
}

// Create invites an address. Errors: fault.InvalidInput, fault.Forbidden,
// fault.AlreadyInvited, fault.AlreadyMember, fault.LimitReached.
func (s *Invitations) Create(ctx context.Context, in workspace.ID, by Actor, email string, role Role) (CreatedInvitation, error) {
	return s.create(ctx, in, by, email, role, false)
}

// Replace is Create, but revokes a pending invitation of the address: both or nothing.
func (s *Invitations) Replace(ctx context.Context, in workspace.ID, by Actor, email string, role Role) (CreatedInvitation, error) {
	return s.create(ctx, in, by, email, role, true)
}

func (s *Invitations) create(
	ctx context.Context,
	in workspace.ID,
	by Actor,
	email string,
	role Role,
	replaces bool,
) (CreatedInvitation, error) {
	email = strings.TrimSpace(email)
	issues := workspace.CheckEmail(email)
	if role != Admin && role != MemberRole {
		issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "role", "must be one of: admin, member"))
	}
	if err := workspace.ValidationError(issues); err != nil {
		return CreatedInvitation{}, err
	}
	now := s.now()
	r := InvitationRecord{
		Invitation: Invitation{
			ID: InvitationID(workspace.NewUUID()), Email: email, Role: role, CreatedAt: now, ExpiresAt: now.Add(InvitationTTL),
		},
		Seed: InvitationSeed(workspace.NewSecret()), SendEmail: s.Emails, Replaces: replaces,
	}
	secret := s.Links.secret(r.ID, r.Seed)
	r.Hash = secret.Hash()
	schedule, err := s.Store.InsertInvitation(ctx, in, by, r, s.Limits.WithDefaults(), func(l LockedMembers) error {
		return by.administers(l, role)
	})
	if err != nil {
		return CreatedInvitation{}, err
	}
	return CreatedInvitation{r.Invitation, s.Links.url(r.ID, secret), schedule}, nil
}

// Revoke closes an open invitation and returns it. Its link stops working at
// once. Errors: fault.NotFound, fault.Forbidden.
func (s *Invitations) Revoke(ctx context.Context, in workspace.ID, by Actor, id InvitationID) (Invitation, error) {
	return s.Store.RevokeInvitation(ctx, in, by, id, s.now(), func(l LockedMembers) error { return by.administers(l) })
}

// Invitee is the user who accepts an invitation, from the claims of their token.
type Invitee struct {
	ID workspace.UserID
	// Email and Name are "" when the token has none.
	Email, Name string
	// EmailVerified says whether the issuer verified the address.
	EmailVerified bool
}

// Accept makes the invitee a member of the workspace that the token invites to.
// Errors: fault.NotFound for a token that is unknown, used, revoked or expired;
// fault.Forbidden when the invitation is for another address or the workspace's
// plan is not Pro; fault.AlreadyMember.
func (s *Invitations) Accept(ctx context.Context, token string, n Invitee) (workspace.ID, Member, error) {
	a, err := s.acceptance(token, n)
	if err != nil {
		return workspace.ID{}, Member{}, err
	}
	in, m, err := s.Acceptances.AcceptInvitation(ctx, a)
	if err == nil && s.Accepted != nil {
		s.Accepted(in, m.ID)
	}
	return in, m, refusal(err)
}

// Preview returns what Accept would do, with the same errors, and changes nothing.
func (s *Invitations) Preview(ctx context.Context, token string, n Invitee) (InvitationPreview, error) {
	a, err := s.acceptance(token, n)
	if err != nil {
		return InvitationPreview{}, err
	}
	p, err := s.Acceptances.PreviewInvitation(ctx, a)
	return p, refusal(err)
}

// acceptance is the acceptance of a token by a person.
func (s *Invitations) acceptance(token string, n Invitee) (Acceptance, error) {
	id, secret, ok := workspace.ParseSecretText(token)
	switch {
	case !ok && strings.ContainsAny(token, "/=?#"):
		return Acceptance{}, fault.Wrap(
			errBadInvitationToken,
			fault.NotFound,
			"no invitation has this token: send what stands behind token= in accept_url, without the address before it",
		)
	case !ok:
		return Acceptance{}, noInvitation(errBadInvitationToken)
	}
	a := Acceptance{Invitation: InvitationID(id), User: n.user(), At: s.now()}
	a.Guard = func(i LockedInvitation) error {
		switch {
		case !secret.Matches(i.Hash), i.Closed, !a.At.Before(i.ExpiresAt):
			return noInvitation(nil)
		case n.Email == "", !n.EmailVerified, workspace.FoldEmail(n.Email) != i.EmailFolded:
			return fault.New(fault.Forbidden, "the invitation is for another e-mail address, or yours is not verified")
		case i.Plan != workspace.Pro:
			return fault.New(fault.Forbidden, "the workspace's plan is %s; this API requires the Pro plan", i.Plan)
		}
		return nil
	}
	return a, nil
}

// refusal is the same error for every reason for which there is no open invitation.
func refusal(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return noInvitation(err)
	}
	return err
}

func noInvitation(cause error) error {
	return fault.Wrap(cause, fault.NotFound, "no invitation can be accepted with this token: it is unknown, used, revoked or expired")
}

// user returns the user to store. The local part of the address replaces a
// missing name.
func (n Invitee) user() User {
	name := n.Name
	if name == "" {
		name, _, _ = strings.Cut(n.Email, "@")
		if utf8.RuneCountInString(name) > workspace.MaxName {
			name = string([]rune(name)[:workspace.MaxName])
		}
	}
	return User{ID: n.ID, Email: n.Email, Name: strings.TrimSpace(name)}
}
