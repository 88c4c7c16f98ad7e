package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// ProviderAndSecret returns the provider of a workspace and its sealed secret: fault.NotFound
// for none.
func (s *System) ProviderAndSecret(ctx context.Context, in workspace.ID) (p identity.Provider, secret []byte, err error) {
	if err := in.Check(); err != nil {
		return p, nil, err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+providerColumns+` FROM identity_providers WHERE workspace_id = $1`, arg(in))
	if err != nil {
		return p, nil, toFault(err)
	}
	if p, err = pgx.CollectExactlyOneRow(rows, collectProvider); err == nil {
		err = s.pool.QueryRow(ctx, `SELECT client_secret FROM identity_providers WHERE workspace_id = $1 AND id = $2`, arg(in), arg(p.ID)).
			Scan(&secret)
	}
	p, err = orNotFound(p, err, noProvider)
	return p, secret, toFault(err)
}

// ResealProviders encrypts secrets of providers with the first key if another one encrypted
// them, and returns how many no key decrypts.
func (s *System) ResealProviders(ctx context.Context, sealer identity.Sealer) (lost int, err error) {
	type sealed struct {
		in     uuid.UUID
		secret []byte
	}
	all, err := collect(ctx, s, func(row pgx.CollectableRow) (b sealed, err error) {
		err = row.Scan(&b.in, &b.secret)
		return b, err
	}, `SELECT workspace_id, client_secret FROM identity_providers`)
	for _, b := range all {
		in := workspace.ID(b.in)
		secret, current, err := sealer.Open(in, b.secret)
		switch {
		case err != nil:
			lost++
			continue
		case current:
			continue
		}
		resealed, err := sealer.Seal(in, secret)
		if err == nil { // unless it was changed meanwhile
			_, err = s.pool.Exec(ctx, `UPDATE identity_providers SET client_secret = $2 WHERE workspace_id = $1 AND client_secret = $3`,
				b.in, resealed, b.secret)
		}
		if err != nil {
			return lost, toFault(err)
		}
	}
	return lost, err
}

// WorkspaceOfDomain returns the workspace that has proved a domain and has a provider:
// fault.NotFound for none.
func (s *System) WorkspaceOfDomain(ctx context.Context, domain string) (in workspace.ID, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT d.workspace_id FROM identity_domains d JOIN identity_providers p USING (workspace_id)
		WHERE d.domain = $1 AND d.proved_at IS NOT NULL`, domain).Scan((*uuid.UUID)(&in))
	in, err = orNotFound(in, err, noProvider)
	return in, toFault(err)
}

// Gate returns the sign-in rules of a workspace.
func (s *System) Gate(ctx context.Context, in workspace.ID) (g identity.Gate, err error) {
	var id *uuid.UUID
	err = s.pool.QueryRow(ctx, `
		SELECT (SELECT id FROM identity_providers WHERE workspace_id = $1),
		       coalesce((SELECT required FROM identity_providers WHERE workspace_id = $1), false),
		       ARRAY(SELECT domain FROM identity_domains WHERE workspace_id = $1 AND proved_at IS NOT NULL)`, arg(in)).
		Scan(&id, &g.Required, &g.Domains)
	if id != nil {
		g.Provider = identity.ProviderID(*id)
	}
	return g, toFault(err)
}

// SetRequired says as an operator whether the provider of a workspace is required:
// fault.NotFound for none.
func (s *System) SetRequired(ctx context.Context, in workspace.ID, required bool, at time.Time) (identity.Provider, error) {
	return s.oneProvider(ctx, in, `
		UPDATE identity_providers SET required = $2, revision = revision + 1, updated_at = $3, updated_by = NULL
		WHERE workspace_id = $1 RETURNING `+providerColumns, required, at)
}

func (s *System) oneProvider(ctx context.Context, in workspace.ID, sql string, args ...any) (identity.Provider, error) {
	if err := in.Check(); err != nil {
		return identity.Provider{}, err
	}
	rows, err := s.pool.Query(ctx, sql, append([]any{arg(in)}, args...)...)
	if err != nil {
		return identity.Provider{}, toFault(err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, collectProvider)
	p, err = orNotFound(p, err, noProvider)
	return p, toFault(err)
}

// Admit returns the user whom a provider of a workspace names, with the role that the
// provider gives them. A new subject is bound once to the member with the address, or accepts
// an invitation of the workspace, or becomes a new user if the provider gives a role. Users
// of other workspaces are not affected. Errors: fault.Forbidden, with the reason for the log.
func (s *System) Admit(ctx context.Context, in workspace.ID, who identity.Person, now time.Time) (u people.User, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		// The author is the service, which trusts the provider.
		if _, err := tx.Exec(ctx, setAuthor, "", workspace.OriginIn(ctx).Text()); err != nil {
			return err
		}
		p, err := lockAdmitting(ctx, tx, in, who)
		if err != nil {
			return err
		}
		person, err := lockProvisioned(ctx, tx, in, who)
		if err != nil {
			return err
		}
		role, given := p.RoleOf(who.Values)
		if role, given, err = person.roleOf(role, given && !who.Silent); err != nil {
			return err
		}
		user, known, err := knownIdentity(ctx, tx, in, who, now)
		if err == nil && !known {
			user, err = bindMember(ctx, tx, in, who, role, now)
		}
		if err != nil {
			return err
		}
		if err := applyRole(ctx, tx, in, user, role, given, now, &u); err != nil {
			return err
		}
		return person.bind(ctx, tx, in, user)
	})
	return u, err
}

func refusal(reason string) error {
	return fault.New(fault.Forbidden, "the provider of the workspace does not let you in: %s", reason)
}

// lockAdmitting locks the settings, so that people are admitted one after the other, and
// checks that the workspace still owns the domain of the address.
func lockAdmitting(ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person) (p identity.Provider, err error) {
	if err := lockLimit(ctx, tx, in, identityLock); err != nil {
		return p, err
	}
	// Nobody joins a closed workspace, which is about to be deleted.
	var plan workspace.Plan
	err = tx.QueryRow(ctx, `SELECT plan FROM workspaces WHERE id = $1 FOR SHARE`, arg(in)).Scan(&plan)
	if noRows(err) || err == nil && plan != workspace.Pro {
		return p, refusal("the workspace is closed")
	}
	if err != nil {
		return p, err
	}
	rows, err := tx.Query(ctx, `SELECT `+providerColumns+` FROM identity_providers WHERE workspace_id = $1 FOR SHARE`, arg(in))
	if err == nil {
		p, err = pgx.CollectExactlyOneRow(rows, collectProvider)
	}
	if noRows(err) || err == nil && (p.ID != who.Provider || p.Issuer != who.Issuer) {
		return p, refusal("it is not the provider any more")
	}
	if err != nil {
		return p, err
	}
	var speaks bool
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM identity_domains WHERE workspace_id = $1 AND domain = $2 AND proved_at IS NOT NULL)`,
		arg(in), identity.DomainOf(who.Email)).Scan(&speaks)
	if err == nil && !speaks {
		return p, refusal("the workspace has not proved the domain of the address")
	}
	return p, err
}

// knownIdentity returns the user of a subject, who must still be a member, or be invited
// again.
func knownIdentity(
	ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person, now time.Time,
) (user workspace.UserID, known bool, err error) {
	var member bool
	err = tx.QueryRow(ctx, `
		SELECT i.user_id, EXISTS (SELECT FROM members m WHERE m.workspace_id = $1 AND m.user_id = i.user_id)
		FROM identities i WHERE i.workspace_id = $1 AND i.issuer = $2 AND i.subject = $3`, arg(in), who.Issuer, who.Subject).
		Scan((*uuid.UUID)(&user), &member)
	switch {
	case noRows(err):
		return user, false, nil
	case err == nil && !member:
		return user, true, rejoin(ctx, tx, in, who, user, now)
	}
	return user, true, err
}

var errRemoved = refusal("they were removed from the workspace")

// bindMember binds a subject to the only member with the address who has no other subject, or
// to a new member (joinMember).
func bindMember(
	ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person, role people.Role, now time.Time,
) (user workspace.UserID, err error) {
	type candidate struct {
		id            uuid.UUID
		bound, member bool
	}
	// A removed person still has an identity, and is not admitted again.
	rows, err := tx.Query(ctx, `
		SELECT u.id, coalesce(i.subject IS NOT NULL, false), m.user_id IS NOT NULL FROM users u
		LEFT JOIN members m ON m.workspace_id = $1 AND m.user_id = u.id LEFT JOIN identities i ON i.workspace_id = $1 AND i.user_id = u.id
		WHERE u.email_folded = $2 AND lower(u.email COLLATE "C") = lower($3 COLLATE "C") AND (m.user_id IS NOT NULL OR i.user_id IS NOT NULL)
		ORDER BY u.id`, arg(in), workspace.FoldEmail(who.Email), strings.TrimSpace(who.Email))
	if err != nil {
		return user, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c candidate, err error) {
		err = row.Scan(&c.id, &c.bound, &c.member)
		return c, err
	})
	if err != nil {
		return user, err
	}
	// A person who was removed and added again as another user is a member.
	if slices.ContainsFunc(found, func(c candidate) bool { return c.member }) {
		found = slices.DeleteFunc(found, func(c candidate) bool { return !c.member })
	}
	switch {
	case len(found) > 1:
		return user, refusal("several people of the workspace have the address")
	case len(found) == 1 && found[0].bound && found[0].member:
		return user, refusal("the member with the address is another subject of the provider")
	case len(found) == 1:
		user = workspace.UserID(found[0].id)
		if !found[0].member {
			err = rejoin(ctx, tx, in, who, user, now)
		}
		if err != nil {
			return user, err
		}
	default:
		if user, err = joinMember(ctx, tx, in, who, role, now); err != nil {
			return user, err
		}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO identities (workspace_id, user_id, issuer, subject, created_at, bound_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (workspace_id, user_id) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, bound_at = excluded.bound_at`,
		arg(in), arg(user), who.Issuer, who.Subject, now)
	return user, err
}

// joinMember makes a new user a member, with the provider's role or that of an open invitation
// to the address, which it accepts.
func joinMember(
	ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person, role people.Role, now time.Time,
) (user workspace.UserID, err error) {
	user = workspace.NewUserID()
	invited, invitation, err := lockInvited(ctx, tx, in, who, now)
	if err != nil {
		return user, err
	}
	if role == "" {
		role = invited
	}
	if role == "" {
		return user, refusal("they are neither a member nor invited, and the provider has no role for them")
	}
	if err := checkMembers(ctx, tx, in); err != nil {
		return user, err
	}
	name := who.Name
	if name == "" {
		name, _, _ = strings.Cut(who.Email, "@")
	}
	if _, err := tx.Exec(ctx, `INSERT INTO users (id, email, email_folded, name, created_at, by_provider) VALUES ($1, $2, $3, left($4, 120), $5, true)`,
		arg(user), who.Email, workspace.FoldEmail(who.Email), name, now); err != nil {
		return user, err
	}
	return user, insertJoined(ctx, tx, in, user, role, invitation, now)
}

// checkMembers refuses a new member beyond the limit for providers.
func checkMembers(ctx context.Context, tx pgx.Tx, in workspace.ID) error {
	var n int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM members WHERE workspace_id = $1 LIMIT $2) m`, arg(in), identity.MaxMembers).Scan(&n)
	if err == nil && n >= identity.MaxMembers {
		err = refusal("the workspace has as many members as a provider may make")
	}
	return err
}

// rejoin makes a removed person a member again if an invitation allows it.
func rejoin(ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person, user workspace.UserID, now time.Time) error {
	role, invitation, err := lockInvited(ctx, tx, in, who, now)
	if err == nil && role == "" {
		err = errRemoved
	}
	if err != nil {
		return err
	}
	return insertJoined(ctx, tx, in, user, role, invitation, now)
}

// lockInvited returns the open invitation of the workspace to an address, and its role, ""
// for none.
func lockInvited(
	ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person, now time.Time,
) (role people.Role, id uuid.UUID, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, role FROM invitations WHERE workspace_id = $1 AND email_folded = $2 AND lower(email COLLATE "C") = lower($3 COLLATE "C")
			AND `+invitationOpen+` AND expires_at > $4 FOR UPDATE`, arg(in), workspace.FoldEmail(who.Email), strings.TrimSpace(who.Email), now).
		Scan(&id, &role)
	if noRows(err) {
		err = nil
	}
	return role, id, err
}

// insertJoined adds a member, by an invitation or none.
func insertJoined(
	ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, role people.Role, invitation uuid.UUID, now time.Time,
) error {
	if _, err := tx.Exec(ctx, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
		arg(in), arg(user), role, now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE invitations SET accepted_at = $3, accepted_by = $4 WHERE workspace_id = $1 AND id = $2`,
		arg(in), invitation, now, arg(user))
	return err
}

// applyRole gives a member the role from the provider; "" refuses them. The last owner stays
// one, with an event when the provider sends a new role.
func applyRole(
	ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, role people.Role, given bool, now time.Time, u *people.User,
) error {
	stays, last := false, false
	err := lockMembers(ctx, tx, in, people.OperatorActor, user, func(l people.LockedMembers) error {
		stays = !given || l.Target == role
		switch {
		case l.Target == "":
			return errRemoved
		case stays:
			return nil
		case l.Target == people.Owner && l.Owners <= 1:
			stays, last = true, true
			return recordLastOwnerRole(ctx, tx, in, user, role, now)
		case role == "":
			return refusal("the provider gives them no role")
		}
		return nil
	})
	if err == nil && given && !last {
		_, err = tx.Exec(ctx, `UPDATE identities SET provider_role = NULL WHERE workspace_id = $1 AND user_id = $2 AND provider_role IS NOT NULL`,
			arg(in), arg(user))
	}
	if err == nil && !stays {
		_, err = tx.Exec(ctx, `UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(user), role)
	}
	if err != nil {
		return err
	}
	return tx.QueryRow(ctx, `SELECT id, email, name FROM users WHERE id = $1`, arg(user)).Scan((*uuid.UUID)(&u.ID), &u.Email, &u.Name)
}

// recordLastOwnerRole records that the last owner stays one, and mails them once for each role
// that the provider sends.
func recordLastOwnerRole(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, role people.Role, now time.Time) error {
	tag, err := tx.Exec(ctx, `UPDATE identities SET provider_role = $3 WHERE workspace_id = $1 AND user_id = $2 AND provider_role IS DISTINCT FROM $3`,
		arg(in), arg(user), role)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT audit_add($1, 'identity.last_owner_retained', 'member', $2, '{}', jsonb_build_object('role', $3::text))`,
		arg(in), arg(user), role)
	if err != nil {
		return err
	}
	return mailLastOwner(ctx, tx, in, people.LastOwnerNotice{User: user, From: people.FromProvider}, now)
}

// SignOutMember implements people.MemberStore.
func (s *Store) SignOutMember(ctx context.Context, in workspace.ID, by people.Actor, user workspace.UserID, guard people.Guard) error {
	return signOutMember(ctx, s, in, by, user, guard)
}

// SignOutMember implements people.MemberStore.
func (s *System) SignOutMember(ctx context.Context, in workspace.ID, by people.Actor, user workspace.UserID, guard people.Guard) error {
	return signOutMember(ctx, s, in, by, user, guard)
}

func signOutMember(
	ctx context.Context, s transactor, in workspace.ID, by people.Actor, user workspace.UserID, guard people.Guard,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockMembers(ctx, tx, in, by, user, guard); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO member_sign_outs (workspace_id, user_id, at) VALUES ($1, $2, clock_timestamp())
			ON CONFLICT (workspace_id, user_id) DO UPDATE SET at = excluded.at`, arg(in), arg(user))
		return err
	})
}

// MemberSignedOut returns when the sessions of a member in a workspace were last ended, zero
// for never and for a user who is not a member.
func (s *System) MemberSignedOut(ctx context.Context, in workspace.ID, user workspace.UserID) (at time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT at FROM member_sign_outs WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(user)).Scan(&at)
	if noRows(err) {
		return time.Time{}, nil
	}
	return at, toFault(err)
}
