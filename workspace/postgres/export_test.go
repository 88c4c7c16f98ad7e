package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/workspace"
)

// The tests of row-level security run statements without a WHERE.

func (s *Store) CountAll(ctx context.Context, in workspace.ID, table string) (n int, err error) {
	err = s.queryRow(ctx, in, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize(), nil, &n)
	return n, err
}

func (s *Store) InWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	return s.inWorkspace(ctx, in, fn)
}

func (s *Store) Pool() *pgxpool.Pool  { return s.pool }
func (s *System) Pool() *pgxpool.Pool { return s.pool }

var ToFault = toFault

var Hold = hold
