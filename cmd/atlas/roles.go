package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"atlas/workspace/postgres"
)

const (
	// roleTimeout is how long asking Postgres for both roles may take.
	roleTimeout = 5 * time.Second
	// roleInterval is how often they are asked for while Postgres is away.
	roleInterval = time.Second
	wrongRole    = "Postgres is reached as a wrong role; the server is not ready"
)

// postgresRoles is the two ways to Postgres, each of which must act as its role.
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

// ready is the readiness of both.
func (p postgresRoles) ready(ctx context.Context) error {
	return errors.Join(appAddress(p.store.Ready(ctx)), systemAddress(p.system.Ready(ctx)))
}

// check asks for both roles. wrong says which addresses lead to a wrong one;
// away is why nothing is known of one.
func (p postgresRoles) check(ctx context.Context) (wrong, away error) {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	var app, system error
	var group sync.WaitGroup
	group.Go(func() { app = p.store.CheckRole(ctx) })
	group.Go(func() { system = p.system.CheckRole(ctx) })
	group.Wait()
	var bad faults
	for _, asked := range []struct {
		err     error
		address func(error) error
	}{{app, appAddress}, {system, systemAddress}} {
		if role, ok := errors.AsType[*postgres.RoleError](asked.err); ok {
			bad.addError(asked.address(role))
		} else {
			away = errors.Join(away, asked.address(asked.err))
		}
	}
	return bad.err(), away
}

// settle refuses wrong roles. While Postgres is away nothing is known of them: the
// server starts all the same, and when Postgres is there the log tells what is
// wrong; readiness, and every use of a wrong connection, fail until it is
// mended. stop ends the asking.
func (p postgresRoles) settle(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	wrong, away := p.check(ctx)
	if wrong != nil || away == nil {
		return func() {}, wrong
	}
	log.Warn("Postgres does not answer yet", "error", away.Error())
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
				log.Error(wrongRole, "error", wrong.Error())
				return
			case away == nil:
				return
			}
		}
	}, log), nil
}
