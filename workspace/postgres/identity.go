package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

var _ identity.Store = (*Store)(nil)

const providerColumns = `id, issuer, client_id, scopes, required, coalesce(role_claim, ''), roles, coalesce(default_role, ''),
	session_hours, idle_minutes, revision, created_at, updated_at, updated_by`

func collectProvider(row pgx.CollectableRow) (p identity.Provider, err error) {
	var roles []byte
	var by *uuid.UUID
	err = row.Scan((*uuid.UUID)(&p.ID), &p.Issuer, &p.ClientID, &p.Scopes, &p.Required, &p.RoleClaim, &roles, &p.DefaultRole,
		&p.SessionHours, &p.IdleMinutes, &p.Revision, &p.CreatedAt, &p.UpdatedAt, &by)
	if err != nil {
		return p, err
	}
	p.UpdatedBy = userOrZero(by)
	return p, json.Unmarshal(roles, &p.Roles)
}

func noProvider(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has no provider of its own")
}

// Provider implements identity.Store.
func (s *Store) Provider(ctx context.Context, in workspace.ID) (identity.Provider, error) {
	p, err := queryOne(ctx, s, in, collectProvider, `SELECT `+providerColumns+` FROM identity_providers WHERE workspace_id = $1`, arg(in))
	return orNotFound(p, err, noProvider)
}

// SetProvider implements identity.Store.
func (s *Store) SetProvider(
	ctx context.Context, in workspace.ID, by workspace.UserID, change func(identity.Locked) (identity.Provider, []byte, error),
) (p identity.Provider, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockIdentity(ctx, tx, in, by)
		if err != nil {
			return err
		}
		var secret []byte
		if p, secret, err = change(locked); err != nil {
			return err
		}
		roles, err := json.Marshal(p.Roles)
		if err != nil {
			return err
		}
		if p.Roles == nil {
			roles = []byte(`{}`)
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO identity_providers (workspace_id, id, issuer, client_id, client_secret, scopes, required, role_claim, roles,
				default_role, session_hours, idle_minutes, revision, created_at, updated_at, updated_by)
			VALUES ($1, $2, $3, $4, coalesce($5, (SELECT client_secret FROM identity_providers WHERE workspace_id = $1)), $6, $7,
				NULLIF($8, ''), $9, NULLIF($10, ''), $11, $12, $13, $14, $15, $16)
			ON CONFLICT (workspace_id) DO UPDATE SET id = excluded.id, issuer = excluded.issuer, client_id = excluded.client_id,
				client_secret = excluded.client_secret, scopes = excluded.scopes, required = excluded.required,
				role_claim = excluded.role_claim, roles = excluded.roles, default_role = excluded.default_role,
				session_hours = excluded.session_hours, idle_minutes = excluded.idle_minutes, revision = excluded.revision,
				updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
			arg(in), arg(p.ID), p.Issuer, p.ClientID, secret, p.Scopes, p.Required, p.RoleClaim, roles, string(p.DefaultRole),
			p.SessionHours, p.IdleMinutes, p.Revision, p.CreatedAt, p.UpdatedAt, arg(by))
		return err
	})
	return p, err
}

// DeleteProvider implements identity.Store.
func (s *Store) DeleteProvider(ctx context.Context, in workspace.ID, by workspace.UserID, permit identity.Permit) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockIdentity(ctx, tx, in, by)
		if err == nil && locked.Provider == nil {
			err = noProvider(nil)
		}
		if err == nil {
			err = permit(locked)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM identity_providers WHERE workspace_id = $1`, arg(in))
		}
		return err
	})
}

// identityLock names the lock of a workspace's identity settings, as limits have names.
const identityLock = "identity"

// lockIdentity locks the settings of a workspace and the row of the author.
func lockIdentity(ctx context.Context, tx pgx.Tx, in workspace.ID, by workspace.UserID) (l identity.Locked, err error) {
	if err := lockLimit(ctx, tx, in, identityLock); err != nil {
		return l, err
	}
	err = tx.QueryRow(ctx, `SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2 FOR SHARE`, arg(in), arg(by)).Scan(&l.Role)
	if err != nil && !noRows(err) {
		return l, err
	}
	rows, err := tx.Query(ctx, `SELECT `+providerColumns+` FROM identity_providers WHERE workspace_id = $1 FOR UPDATE`, arg(in))
	if err != nil {
		return l, err
	}
	p, err := pgx.CollectExactlyOneRow(rows, collectProvider)
	if noRows(err) {
		return l, nil
	}
	l.Provider = &p
	return l, err
}

const domainColumns = `workspace_id, domain, token, proved_at, coalesce(proved_by, ''), checked_at, failing_since, created_at`

func collectDomain(row pgx.CollectableRow) (d identity.Domain, err error) {
	err = row.Scan((*uuid.UUID)(&d.Workspace), &d.Name, &d.Token, &d.ProvedAt, &d.ProvedBy, &d.CheckedAt, &d.FailingSince, &d.CreatedAt)
	return d, err
}

func noDomain(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has not added this domain")
}

// Domains implements identity.Store.
func (s *Store) Domains(ctx context.Context, in workspace.ID) ([]identity.Domain, error) {
	return queryAll(ctx, s, in, collectDomain, `SELECT `+domainColumns+` FROM identity_domains WHERE workspace_id = $1 ORDER BY domain`, arg(in))
}

// Domain implements identity.Store.
func (s *Store) Domain(ctx context.Context, in workspace.ID, name string) (identity.Domain, error) {
	d, err := queryOne(ctx, s, in, collectDomain,
		`SELECT `+domainColumns+` FROM identity_domains WHERE workspace_id = $1 AND domain = $2`, arg(in), name)
	return orNotFound(d, err, noDomain)
}

// AddDomain implements identity.Store.
func (s *Store) AddDomain(
	ctx context.Context, in workspace.ID, by workspace.UserID, d identity.Domain, permit identity.Permit,
) (added identity.Domain, err error) {
	limit := rowLimit{
		name: identityLock, items: "domains", advice: "delete one first", max: identity.MaxDomains, args: []any{d.Name},
		rows: `identity_domains WHERE workspace_id = $1 AND NOT EXISTS (SELECT FROM identity_domains WHERE workspace_id = $1 AND domain = $2)`,
	}
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockIdentity(ctx, tx, in, by)
		if err == nil {
			err = permit(locked)
		}
		if err == nil {
			err = checkLimit(ctx, tx, in, limit)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO identity_domains (workspace_id, domain, token, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, arg(in), d.Name, d.Token, d.CreatedAt, arg(by))
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT `+domainColumns+` FROM identity_domains WHERE workspace_id = $1 AND domain = $2`, arg(in), d.Name)
		if err == nil {
			added, err = pgx.CollectExactlyOneRow(rows, collectDomain)
		}
		return err
	})
	return added, err
}

// DeleteDomain implements identity.Store.
func (s *Store) DeleteDomain(ctx context.Context, in workspace.ID, by workspace.UserID, name string, permit identity.Permit) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockIdentity(ctx, tx, in, by)
		if err == nil {
			err = permit(locked)
		}
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM identity_domains WHERE workspace_id = $1 AND domain = $2`, arg(in), name)
		if err == nil && tag.RowsAffected() == 0 {
			return noDomain(nil)
		}
		return err
	})
}

var _ identity.Prover = (*System)(nil)

// NoteCheck implements identity.Prover. Of two workspaces at the same time, the second violates
// the unique index of proved domains.
func (s *System) NoteCheck(ctx context.Context, in workspace.ID, name string, there bool, at time.Time) (identity.Domain, error) {
	return s.oneDomain(ctx, in, `
		UPDATE identity_domains SET checked_at = $4,
			failing_since = CASE WHEN NOT $3 THEN coalesce(failing_since, $4) END,
			failures = CASE WHEN $3 THEN 0 ELSE failures + `+counts+` END,
			failed_at = CASE WHEN $3 THEN NULL WHEN `+counts+` = 1 THEN $4 ELSE failed_at END,
			proved_at = CASE WHEN `+lost+` THEN NULL WHEN $3 THEN coalesce(proved_at, $4) ELSE proved_at END,
			proved_by = CASE WHEN `+lost+` THEN NULL WHEN $3 THEN coalesce(proved_by, 'dns') ELSE proved_by END
		WHERE workspace_id = $1 AND domain = $2 RETURNING `+domainColumns,
		arg(in), name, there, at, identity.LostAfter, identity.ChecksApart, identity.LostChecks)
}

const (
	// counts is 1 for a look-up at $4 that is $6 after the last failed one that counted.
	counts = `(CASE WHEN failed_at > $4::timestamptz - $6::interval THEN 0 ELSE 1 END)`
	// lost is true for a domain that DNS proved and whose record ($3: found) is missing at $4:
	// for at least $5, and $7 times.
	lost = `NOT $3 AND proved_by = 'dns' AND failing_since <= $4::timestamptz - $5::interval
		AND failures + ` + counts + ` >= $7`
)

// ProveDomain proves a domain for a workspace as an operator, and adds it if it is missing.
// Errors: fault.Forbidden if another workspace has proved it, fault.NotFound for no
// workspace.
func (s *System) ProveDomain(ctx context.Context, in workspace.ID, d identity.Domain, at time.Time) (identity.Domain, error) {
	return s.oneDomain(ctx, in, `
		INSERT INTO identity_domains (workspace_id, domain, token, proved_at, proved_by, created_at) VALUES ($1, $2, $3, $4, 'operator', $4)
		ON CONFLICT (workspace_id, domain) DO UPDATE SET proved_at = coalesce(identity_domains.proved_at, $4), proved_by = 'operator',
			failing_since = NULL, failures = 0, failed_at = NULL
		RETURNING `+domainColumns, arg(in), d.Name, d.Token, at)
}

func (s *System) oneDomain(ctx context.Context, in workspace.ID, sql string, args ...any) (identity.Domain, error) {
	if err := in.Check(); err != nil {
		return identity.Domain{}, err
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return identity.Domain{}, toFault(err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, collectDomain)
	d, err = orNotFound(d, err, noDomain)
	return d, toFault(err)
}

// DueDomains implements identity.Prover.
func (s *System) DueDomains(ctx context.Context, before time.Time, most int) ([]identity.Domain, error) {
	return collect(ctx, s, collectDomain, `
		SELECT `+domainColumns+` FROM identity_domains WHERE proved_by = 'dns' AND (checked_at IS NULL OR checked_at < $1)
		ORDER BY checked_at NULLS FIRST LIMIT $2`, before, most)
}

// DomainsOf lists the domains of a workspace, or of all for the zero id, by name.
func (s *System) DomainsOf(ctx context.Context, in workspace.ID) ([]identity.Domain, error) {
	return collect(ctx, s, collectDomain, `
		SELECT `+domainColumns+` FROM identity_domains WHERE $1 = '00000000-0000-0000-0000-000000000000'::uuid OR workspace_id = $1
		ORDER BY domain, workspace_id`, arg(in))
}

// RemoveDomain deletes a domain of a workspace as an operator: fault.NotFound.
func (s *System) RemoveDomain(ctx context.Context, in workspace.ID, name string) error {
	_, err := s.oneDomain(ctx, in, `DELETE FROM identity_domains WHERE workspace_id = $1 AND domain = $2 RETURNING `+domainColumns, arg(in), name)
	return err
}

// DeleteProvider deletes the provider of a workspace as an operator and returns it:
// fault.NotFound.
func (s *System) DeleteProvider(ctx context.Context, in workspace.ID) (identity.Provider, error) {
	return s.oneProvider(ctx, in, `DELETE FROM identity_providers WHERE workspace_id = $1 RETURNING `+providerColumns)
}

// NoteSignInLink records in the audit logs of all workspaces of a member that an operator
// created a sign-in link for them. Errors: fault.NotFound if they are in none,
// fault.ProviderRequired for a workspace that does not allow sign-in by links.
func (s *System) NoteSignInLink(ctx context.Context, in workspace.ID, user workspace.UserID) (u people.User, err error) {
	if err := in.Check(); err != nil {
		return u, err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var required bool
		err := tx.QueryRow(ctx, `
			SELECT u.id, u.email, u.name, EXISTS (SELECT FROM identity_providers p WHERE p.workspace_id = $1 AND p.required)
			FROM members m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = $1 AND m.user_id = $2 FOR SHARE OF m`, arg(in), arg(user)).
			Scan((*uuid.UUID)(&u.ID), &u.Email, &u.Name, &required)
		switch {
		case noRows(err):
			return fault.New(fault.NotFound, "this user is not a member of the workspace")
		case err != nil:
			return err
		case required:
			return fault.New(fault.ProviderRequired,
				"the workspace lets nobody in by a link: atlas identity required --workspace=%s off opens it first", in)
		}
		_, err = tx.Exec(ctx, `
			SELECT audit_add(m.workspace_id, 'member.link_made', 'member', m.user_id, '{}', '{}') FROM members m WHERE m.user_id = $1`, arg(user))
		return err
	})
	return u, toFault(err)
}
