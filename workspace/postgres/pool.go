package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"atlas/internal/fault"
	"atlas/workspace"
)

// Options are the settings of a connection pool. The zero value suits a server.
type Options struct {
	// MaxConns is the maximum number of connections; 0 means 16.
	MaxConns int32
	// StatementTimeout cancels a statement that runs longer; 0 means 5 s. That is
	// shorter than clients wait and longer than any statement here needs.
	StatementTimeout time.Duration
	// ConnectTimeout bounds dialling and logging in; 0 means 3 s.
	ConnectTimeout time.Duration
	// AcquireTimeout bounds the wait for a connection while all are in use. After
	// it the error is fault.Unavailable. 0 means the deadline of the caller.
	AcquireTimeout time.Duration
	// Command is what an operator runs, and Account who runs it, for the audit log; "" for a
	// server.
	Command, Account string
	// Tracer observes every statement; nil means none.
	Tracer pgx.QueryTracer
}

// database is a pool whose connections all act as one role.
type database struct {
	pool *pgxpool.Pool
	// role is the role to act as. forbidden is a role that the connections must not
	// be able to assume, "" for none.
	role, forbidden string
}

// Store is the access of request handlers, under row-level security.
type Store struct{ database }

// System is the access across workspaces.
type System struct{ database }

// Open returns the store for an address of the role atlas_app. It does not
// connect yet; Ready does.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	db, err := openDatabase(ctx, url, "atlas", o, AppRole, SystemRole)
	if err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// OpenSystem is Open for the role atlas_system.
func OpenSystem(ctx context.Context, url string, o Options) (*System, error) {
	db, err := openDatabase(ctx, url, "atlas-system", o, SystemRole, "")
	if err != nil {
		return nil, err
	}
	return &System{db}, nil
}

// openDatabase makes a pool that checks the role of each new connection, because
// a failover may lead to a server with other roles.
func openDatabase(ctx context.Context, url, application string, o Options, role, forbidden string) (database, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The driver removes the password from the address in its error.
		return database{}, fmt.Errorf("the Postgres address: %w", err)
	}
	config.MaxConns = cmp.Or(o.MaxConns, 16)
	config.MaxConnLifetime = 30 * time.Minute
	config.MaxConnLifetimeJitter = 5 * time.Minute
	config.ConnConfig.ConnectTimeout = cmp.Or(o.ConnectTimeout, 3*time.Second)
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = application
	params["statement_timeout"] = strconv.FormatInt(cmp.Or(o.StatementTimeout, 5*time.Second).Milliseconds(), 10)
	params["idle_in_transaction_session_timeout"] = "10000"
	params["timezone"] = "UTC"
	config.ConnConfig.Tracer = o.tracer()
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// Without it, database/sql converts each id by way of a text.
		pgxuuid.Register(conn.TypeMap())
		ctx, cancel := context.WithTimeout(ctx, roleCheckTimeout)
		defer cancel()
		if err := checkRole(ctx, conn, role, forbidden); err != nil || o.Command == "" {
			return err
		}
		_, err := conn.Exec(ctx, `SELECT set_config('atlas.command', $1, false), set_config('atlas.account', $2, false)`, o.Command, o.Account)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return database{pool, role, forbidden}, err
}

// Close waits for running statements and closes the connections.
func (d database) Close() { d.pool.Close() }

// CheckRole reports whether connections act as the right role and row-level security
// applies to them. It does not need the schema. Error: fault.Unavailable, which wraps a
// *RoleError for a wrong role; every use of the store then fails with the same error.
func (d database) CheckRole(ctx context.Context) error {
	return toFault(checkRole(ctx, d.pool, d.role, d.forbidden))
}

// Ready reports whether the database answers, CheckRole passes, and the schema is
// at least as new as this program's.
func (d database) Ready(ctx context.Context) error {
	if err := d.CheckRole(ctx); err != nil {
		return err
	}
	var version int64
	err := d.pool.QueryRow(ctx, schemaVersion).Scan(&version)
	switch {
	case err != nil:
		return toFault(err)
	case version > 0 && version < firstVersion:
		return fault.BackendUnavailable(tooOld(version), backend)
	// A newer schema is accepted: in a rolling update the first new server migrates while
	// old servers keep running.
	case version < newestVersion:
		return fault.BackendUnavailable(
			fmt.Errorf("the schema has version %d, this program needs %d: run atlas migrate", version, newestVersion),
			backend,
		)
	}
	return nil
}

// setWorkspace sets the workspace of the row-level security policies, and the author and the
// origin of the changes, until the end of the transaction. A pipeline is one transaction.
const setWorkspace = `SELECT set_config('atlas.workspace_id', $1, true), set_config('atlas.actor', $2, true), set_config('atlas.origin', $3, true)`

// settings are the arguments of setWorkspace.
func settings(ctx context.Context, in workspace.ID) []any {
	return []any{in.String(), workspace.AuthorOf(ctx).Text(), workspace.OriginIn(ctx).Text()}
}

// setWorkspaceAsync is setWorkspace for a transaction of Atlas itself whose commit does
// not wait for the disk. A crash of Postgres may undo it.
const setWorkspaceAsync = `SELECT set_config('atlas.workspace_id', $1, true), set_config('synchronous_commit', 'off', true)`

// queryRow runs one query of a workspace in a single round trip and scans its
// row: pgx.ErrNoRows without one.
func (s *Store) queryRow(ctx context.Context, in workspace.ID, sql string, args []any, into ...any) error {
	return s.query(ctx, in, sql, args, func(rows pgx.Rows) error {
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			return pgx.ErrNoRows
		}
		return rows.Scan(into...)
	})
}

// queryOne is queryRow with a scan function.
func queryOne[T any](ctx context.Context, s *Store, in workspace.ID, scan pgx.RowToFunc[T], sql string, args ...any) (v T, err error) {
	err = s.query(ctx, in, sql, args, func(rows pgx.Rows) error {
		v, err = pgx.CollectExactlyOneRow(rows, scan)
		return err
	})
	return v, err
}

// queryAll runs one query of a workspace in a single round trip and returns all
// rows.
func queryAll[T any](ctx context.Context, s *Store, in workspace.ID, scan pgx.RowToFunc[T], sql string, args ...any) (list []T, err error) {
	err = s.query(ctx, in, sql, args, func(rows pgx.Rows) error {
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	return list, err
}

// collect is queryAll across workspaces.
func collect[T any](ctx context.Context, s *System, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, toFault(err)
	}
	all, err := pgx.CollectRows(rows, scan)
	return all, toFault(err)
}

// query runs one query of a workspace in a single round trip and passes its rows
// to read. Both statements of the batch are one transaction. The error is a
// fault, except pgx.ErrNoRows.
func (s *Store) query(ctx context.Context, in workspace.ID, sql string, args []any, read func(pgx.Rows) error) (err error) {
	if err := in.Check(); err != nil {
		return err
	}
	if e := effectOf(ctx, in); e != nil && e.begun() {
		return s.queryInEffect(ctx, in, sql, args, read) // sees what is changed
	}
	var batch pgx.Batch
	batch.Queue(setWorkspace, settings(ctx, in)...)
	batch.Queue(sql, args...)
	results := s.pool.SendBatch(ctx, &batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = toFault(closed)
		}
	}()
	if _, err := results.Exec(); err != nil {
		return toFault(err)
	}
	rows, err := results.Query()
	if err != nil {
		return toFault(err)
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return toFault(err)
	}
	rows.Close()
	return toFault(rows.Err())
}

// inWorkspace runs fn in a transaction of the workspace, in that of Once if there is one;
// an error rolls back the changes of fn. Exported methods call it; helpers take the
// transaction.
func (s *Store) inWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	if err := in.Check(); err != nil {
		return err
	}
	if e := effectOf(ctx, in); e != nil {
		return toFault(e.run(ctx, fn))
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setWorkspace, settings(ctx, in)...); err != nil {
			return err
		}
		return fn(tx)
	}))
}

// inWorkspace runs fn in a transaction that can access every workspace; an error
// rolls it back.
func (s *System) inWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	if err := in.Check(); err != nil {
		return err
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, fn))
}

// arg converts an id to a query argument.
func arg[T ~[16]byte](id T) uuid.UUID { return uuid.UUID(id) }

// argList converts ids to a query argument, an array that is never null.
func argList[T ~[16]byte](ids []T) []uuid.UUID {
	list := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		list[i] = arg(id)
	}
	return list
}

// nullable converts an id to a query argument, null for the zero id.
func nullable[T ~[16]byte](id T) *uuid.UUID {
	if id == (T{}) {
		return nil
	}
	u := uuid.UUID(id)
	return &u
}

func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// orNotFound replaces pgx.ErrNoRows by the error of notFound.
func orNotFound[T any](value T, err error, notFound func(error) *fault.Error) (T, error) {
	if noRows(err) {
		var zero T
		return zero, notFound(err)
	}
	return value, err
}
