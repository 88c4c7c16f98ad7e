package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
)

// RoleError says that a connection acts as another role than the one it must be,
// or that its role is not bound by row-level security. Connections of such a
// role are not used.
type RoleError struct {
	// Role is the connection's, Want the one that it must be or be a member of.
	Role, Want string
	reason     string
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("the connection acts as the role %s, and %s: it must act as %s", e.Role, e.reason, e.Want)
}

// roleTimeout bounds asking for a new connection's role.
const roleTimeout = 3 * time.Second

// querier is a connection or a pool of them.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// checkRole asks the catalog whether a connection acts as the role want, or as a
// member of it, and is bound by every policy there is; and that it could not
// become the role never, which is "" for none. It works before the schema is
// there. *RoleError, or the driver's error.
func checkRole(ctx context.Context, q querier, want, never string) error {
	e := &RoleError{Want: want}
	var super, bypasses, is, mayBe bool
	var open []string
	// Policies stay when row-level security is switched off for their table.
	err := q.QueryRow(ctx, `
		SELECT me.rolname, me.rolsuper, me.rolbypassrls,
		       coalesce(pg_has_role(me.oid, want.oid, 'USAGE'), false), coalesce(pg_has_role(me.oid, never.oid, 'MEMBER'), false),
		       (SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}') FROM pg_class c
		        WHERE c.oid IN (SELECT polrelid FROM pg_policy) AND pg_table_is_visible(c.oid) AND NOT row_security_active(c.oid))
		FROM pg_roles me LEFT JOIN pg_roles want ON want.rolname = $1 LEFT JOIN pg_roles never ON never.rolname = $2
		WHERE me.rolname = current_user`, want, never).Scan(&e.Role, &super, &bypasses, &is, &mayBe, &open)
	switch {
	case err != nil:
		return err
	case super:
		e.reason = "it is a superuser, whom row-level security does not bind"
	case bypasses:
		e.reason = "it has BYPASSRLS: row-level security does not bind it"
	case mayBe:
		e.reason = "it has the rights of " + never + ", which sees every workspace"
	case !is:
		e.reason = "it has not the rights of " + want
	case len(open) > 0:
		e.reason = "row-level security does not bind it in " + strings.Join(open, ", ")
	default:
		return nil
	}
	return e
}

// checkConnection is checkRole for a new connection.
func checkConnection(ctx context.Context, conn *pgx.Conn, want, never string) error {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	return roleFault(checkRole(ctx, conn, want, never))
}

// roleFault makes a wrong role an outage to clients: it is the operator's to
// mend.
func roleFault(err error) error {
	if wrong, ok := errors.AsType[*RoleError](err); ok {
		return fault.BackendUnavailable(wrong, backend)
	}
	return err
}
