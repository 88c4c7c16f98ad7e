package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
)

// RoleError means that a connection acts as the wrong role, or that row-level security does
// not apply to its role. Such a connection is not used.
type RoleError struct {
	// Role is the role of the connection. Want is the role that it must be, or be a member
	// of.
	Role, Want string
	reason     string
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("the connection acts as the role %s, and %s: it must act as %s", e.Role, e.reason, e.Want)
}

// roleCheckTimeout bounds checkRole for a new connection.
const roleCheckTimeout = 3 * time.Second

// querier is a connection or a pool of them.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// checkRole reads from the catalog whether a connection acts as role or a member of it,
// cannot assume the role forbidden ("" for none), and is bound by every policy. It works
// before the schema exists. An operator can correct a wrong role, so the error is
// fault.Unavailable, which wraps a *RoleError. Other errors are the driver's.
func checkRole(ctx context.Context, q querier, role, forbidden string) error {
	e := &RoleError{Want: role}
	var super, bypasses, is, mayBe bool
	var open []string
	// A policy still exists when row-level security is disabled for its table.
	err := q.QueryRow(ctx, `
		SELECT me.rolname, me.rolsuper, me.rolbypassrls,
		       coalesce(pg_has_role(me.oid, want.oid, 'USAGE'), false), coalesce(pg_has_role(me.oid, never.oid, 'MEMBER'), false),
		       (SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}') FROM pg_class c
		        WHERE c.oid IN (SELECT polrelid FROM pg_policy) AND pg_table_is_visible(c.oid) AND NOT row_security_active(c.oid))
		FROM pg_roles me LEFT JOIN pg_roles want ON want.rolname = $1 LEFT JOIN pg_roles never ON never.rolname = $2
		WHERE me.rolname = current_user`, role, forbidden).Scan(&e.Role, &super, &bypasses, &is, &mayBe, &open)
	switch {
	case err != nil:
		return err
	case super:
		e.reason = "it is a superuser, whom row-level security does not bind"
	case bypasses:
		e.reason = "it has BYPASSRLS: row-level security does not bind it"
	case mayBe:
		e.reason = "it has the rights of " + forbidden + ", which sees every workspace"
	case !is:
		e.reason = "it has not the rights of " + role
	case len(open) > 0:
		e.reason = "row-level security does not bind it in " + strings.Join(open, ", ")
	default:
		return nil
	}
	return fault.BackendUnavailable(e, backend)
}
