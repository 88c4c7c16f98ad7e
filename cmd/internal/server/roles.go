package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/workspace/postgres"
)

const (
	// roleTimeout bounds the queries for both roles.
	roleTimeout = 5 * time.Second
	// roleInterval is the pause between two checks while Postgres is
	// unavailable.
	roleInterval = time.Second
	// WrongRole is the log message when a connection has the wrong role.
	WrongRole = "Postgres is reached as a wrong role; the server is not ready"
)

// postgresRoles checks that each of the two connection pools acts as its role.
type postgresRoles struct {
	store  *postgres.Store
	system *postgres.System
}

func appAddress(err error) error { return blame("--postgres-url (ATLAS_POSTGRES_URL)", err) }
func systemAddress(err error) error {
	return blame("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", err)
}

func blame(option string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", option, err)
}

// ready checks both pools.
func (p postgresRoles) ready(ctx context.Context) error {
	return errors.Join(appAddress(p.store.Ready(ctx)), systemAddress(p.system.Ready(ctx)))
}

// check queries both roles. wrong lists the addresses that lead to a wrong role; away is
// why a role is unknown.
func (p postgresRoles) check(ctx context.Context) (wrong, away error) {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	var app, system error
	var group sync.WaitGroup
	group.Go(func() { app = p.store.CheckRole(ctx) })
	group.Go(func() { system = p.system.CheckRole(ctx) })
	group.Wait()
	var bad cli.Problems
	for _, asked := range []struct {
		err     error
		address func(error) error
	}{{app, appAddress}, {system, systemAddress}} {
		if role, ok := errors.AsType[*postgres.RoleError](asked.err); ok {
			bad.AddError(asked.address(role))
		} else {
			away = errors.Join(away, asked.address(cli.Explain(asked.err)))
		}
	}
	return bad.Err(), away
}

// settle refuses wrong roles. While Postgres is unavailable the roles are
// unknown: the server starts, a background job repeats the check and logs a
// wrong role, and readiness and every use of such a connection fail. stop ends
// the job.
func (p postgresRoles) settle(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	wrong, away := p.check(ctx)
	if wrong != nil || away == nil {
		return func() {}, wrong
	}
	log.Warn("Postgres cannot be used yet; trying on", "error", away.Error())
	return inBackground(func(ctx context.Context) {
		tick := time.NewTicker(roleInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			switch wrong, away := p.check(ctx); {
			case ctx.Err() != nil:
				return
			case wrong != nil:
				log.Error(WrongRole, "error", wrong.Error())
				return
			case away == nil:
				return
			}
		}
	}, log), nil
}
