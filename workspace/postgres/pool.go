package postgres

import (
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

// Options are the settings of a pool. The zero value is fit for a server.
type Options struct {
	// MaxConns is the most connections of the pool; 0 is 16.
	MaxConns int32
	// StatementTimeout ends a statement that runs longer; 0 is 5 s. It is well
	// under a client's patience, and over what any statement here needs.
	StatementTimeout time.Duration
	// ConnectTimeout bounds dialling and logging in; 0 is 3 s.
	ConnectTimeout time.Duration
	// AcquireTimeout bounds waiting for a connection while all are in use; past
	// it the error is fault.Unavailable. 0 waits as long as the caller.
	AcquireTimeout time.Duration
	// Tracer sees every statement; nil is none.
	Tracer pgx.QueryTracer
}

// Store is the application's access, under row-level security.
type Store struct{ pool *pgxpool.Pool }

// System is the access that crosses workspaces.
type System struct{ pool *pgxpool.Pool }

// Open returns the application's store for an address of the role atlas_app.
// It does not connect yet: Ready tells whether that works.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	pool, err := openPool(ctx, url, "atlas", o, AppRole, SystemRole)
	if err != nil {
		return nil, err
	}
	return &Store{pool}, nil
}

// OpenSystem is Open for the role atlas_system.
func OpenSystem(ctx context.Context, url string, o Options) (*System, error) {
	pool, err := openPool(ctx, url, "atlas-system", o, SystemRole, "")
	if err != nil {
		return nil, err
	}
	return &System{pool}, nil
}

// openPool makes a pool whose connections all act as the role want, and could not
// as never: a failover may lead to a server whose roles are others.
func openPool(ctx context.Context, url, application string, o Options, want, never string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The driver's error names the address with its password removed.
		return nil, fmt.Errorf("the Postgres address: %w", err)
	}
	config.MaxConns = o.MaxConns
	if config.MaxConns == 0 {
		config.MaxConns = 16
	}
	config.MaxConnLifetime = 30 * time.Minute
	config.MaxConnLifetimeJitter = 5 * time.Minute
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 3 * time.Second
	}
	config.ConnConfig.ConnectTimeout = o.ConnectTimeout
	if o.StatementTimeout == 0 {
		o.StatementTimeout = 5 * time.Second
	}
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = application
	params["statement_timeout"] = strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10)
	params["idle_in_transaction_session_timeout"] = "10000"
	params["timezone"] = "UTC"
	config.ConnConfig.Tracer = o.tracer()
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// Without it each id goes through database/sql's conversions as a text.
		pgxuuid.Register(conn.TypeMap())
		return checkConnection(ctx, conn, want, never)
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// Close waits for what is running and closes the connections.
func (s *Store) Close() { s.pool.Close() }

// Close waits for what is running and closes the connections.
func (s *System) Close() { s.pool.Close() }

// CheckRole reports whether the role is the application's, and bound by
// row-level security: a *RoleError inside of fault.Unavailable when it is not,
// which is also what using the store fails with then; fault.Unavailable while
// the database does not answer. It does not need the schema.
func (s *Store) CheckRole(ctx context.Context) error {
	return toFault(roleFault(checkRole(ctx, s.pool, AppRole, SystemRole)))
}

// CheckRole is Store.CheckRole for the system role.
func (s *System) CheckRole(ctx context.Context) error {
	return toFault(roleFault(checkRole(ctx, s.pool, SystemRole, "")))
}

// Ready reports whether the database answers, CheckRole, and whether the schema
// is at least as new as this program's.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.CheckRole(ctx); err != nil {
		return err
	}
	return checkSchema(ctx, s.pool)
}

// Ready is Store.Ready for the system role.
func (s *System) Ready(ctx context.Context) error {
	if err := s.CheckRole(ctx); err != nil {
		return err
	}
	return checkSchema(ctx, s.pool)
}

func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	var version int64
	err := pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	switch {
	case err != nil:
		return toFault(err)
	// A newer schema is fine: while servers are replaced one by one, the new
	// one migrates first and the old ones go on.
	case version < newestVersion():
		return fault.BackendUnavailable(fmt.Errorf("the schema has version %d, this program needs %d: run atlas migrate", version, newestVersion()), backend)
	}
	return nil
}

// setWorkspace names the workspace to the policies until the end of the
// transaction (or of the pipeline, which is one).
const setWorkspace = `SELECT set_config('atlas.workspace_id', $1, true)`

// queryRow runs one query of a workspace and scans its one row, in a single
// round trip: both statements of a batch are one transaction.
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

// query runs one query of a workspace in a single round trip and hands its
// rows to read. The error is a fault, but for pgx.ErrNoRows.
func (s *Store) query(ctx context.Context, in workspace.ID, sql string, args []any, read func(pgx.Rows) error) (err error) {
	if err := in.Check(); err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(setWorkspace, in.String())
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

// inWorkspace runs fn in a transaction of the workspace; an error rolls it
// back. Helpers take the transaction, exported methods call this.
func (s *Store) inWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	if err := in.Check(); err != nil {
		return err
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setWorkspace, in.String()); err != nil {
			return err
		}
		return fn(tx)
	}))
}

// arg is an id as a query argument.
func arg[T ~[16]byte](id T) uuid.UUID { return uuid.UUID(id) }
