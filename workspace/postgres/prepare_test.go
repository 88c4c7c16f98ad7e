package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestPrepareAndMigrateByManyAtOnce(t *testing.T) {
	t.Parallel()
	d := pgtest.Empty(t, `_"odd name`)
	ctx := t.Context()
	var mu sync.Mutex
	applied := map[string]int{} // by all, per file
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			urls, err := postgres.Prepare(ctx, d.Server, d.Name)
			if err != nil {
				t.Error(err)
				return
			}
			files, err := postgres.Migrate(ctx, urls.System)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range files {
				applied[name]++
			}
		})
	}
	group.Wait()
	if applied["00022_schema.sql"] != 1 {
		t.Errorf("the first migration was applied %d times", applied["00022_schema.sql"])
	}
	for name, times := range applied {
		if times != 1 {
			t.Errorf("%s was applied %d times", name, times)
		}
	}
	files, err := postgres.Migrate(ctx, d.System)
	if err != nil || len(files) != 0 {
		t.Errorf("again: %v, %v", files, err)
	}
	fatal(t, d.OpenApp(t, postgres.Options{}).Ready(ctx))
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	d := pgtest.Empty(t, "")
	ctx := t.Context()
	s := d.OpenApp(t, postgres.Options{})
	if err := s.Ready(ctx); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("no database: %v", err)
	}
	_, err := postgres.Prepare(ctx, d.Server, d.Name)
	fatal(t, err)
	if err := s.Ready(ctx); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("no schema: %v", err)
	}
	_, err = postgres.Migrate(ctx, d.System)
	fatal(t, err)
	fatal(t, s.Ready(ctx))
	system := d.OpenSystem(t, postgres.Options{})
	_, err = system.Pool().Exec(ctx, `UPDATE goose_db_version SET version_id = 0`)
	fatal(t, err)
	if err := s.Ready(ctx); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an old schema: %v", err)
	}
	if _, err := postgres.Migrate(ctx, d.App); err == nil {
		t.Error("the application's role migrated")
	}
}

func TestPostgresAway(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	fatal(t, listener.Close())
	s, err := postgres.Open(t.Context(), "postgres://atlas_app@"+listener.Addr().String()+"/x", postgres.Options{})
	fatal(t, err)
	defer s.Close()
	_, err = s.Summary(t.Context(), workspace.NewID())
	if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.Unavailable || e.RetryAfter == 0 {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestStatementTimeoutIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	slow := w.databases.OpenSystem(t, postgres.Options{StatementTimeout: 50 * time.Millisecond})
	_, err := slow.Pool().Exec(ctx, `SELECT pg_sleep(30)`)
	if err := postgres.ToFault(err); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a statement that takes too long: %v", err)
	}
	if _, err := slow.Workspaces(ctx); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestToFault(t *testing.T) {
	t.Parallel()
	sql := func(code, constraint string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, ConstraintName: constraint, Message: "duplicate key of alice"})
	}
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"nil":                 {nil, ""},
		"a fault":             {fault.New(fault.ViewFull, "x"), fault.ViewFull},
		"a member twice":      {sql("23505", "members_pkey"), fault.AlreadyMember},
		"no workspace":        {sql("23503", "members_workspace"), fault.NotFound},
		"another constraint":  {sql("23505", "something_else"), fault.Internal},
		"refused by a policy": {sql("42501", ""), fault.Internal},
		"a syntax error":      {sql("42601", ""), fault.Internal},
		"shutting down":       {sql("57P01", ""), fault.Unavailable},
		"too many":            {sql("53300", ""), fault.Unavailable},
		"deadlock":            {sql("40P01", ""), fault.Unavailable},
		"password":            {sql("28P01", ""), fault.Unavailable},
		"cut off":             {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), fault.Unavailable},
		"deadline":            {context.DeadlineExceeded, fault.Unavailable},
		"refused":             {&net.OpError{Op: "dial", Err: errors.New("refused")}, fault.Unavailable},
		"anything":            {errors.New("x"), fault.Internal},
	} {
		got := postgres.ToFault(c.err)
		if fault.CodeOf(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		if e, ok := errors.AsType[*fault.Error](got); ok && e.Message == "duplicate key of alice" {
			t.Errorf("%s: the database's text reaches the client", name)
		}
	}
}
