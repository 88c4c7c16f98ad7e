//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/devstack"
	"atlas/scripts/experiments/rig"
)

// quietWithin limits the wait until Postgres has finished the work of a server, and
// until a killed server is ready again.
const quietWithin = time.Minute

// target is a server that is killed and restarted, and whose connections to the
// backends can be disturbed. It has its own Postgres roles, which identify its
// connections.
type target struct {
	*rig.Server
	name string
	ways map[devstack.Backend]*rig.Proxy
	// others are the backends with ways beside Elasticsearch.
	others []devstack.Backend
	rig    *rig.Rig
	roles  []string

	lock sync.Mutex
	life *life
}

// life is one process of a server.
type life struct {
	killed bool
	over   chan struct{} // closed when Postgres has finished its work
}

func newTarget(t *testing.T, r *rig.Rig, n int, further ...string) *target {
	t.Helper()
	v := &target{name: fmt.Sprintf("server %d", n), rig: r, life: &life{over: make(chan struct{})}, ways: map[devstack.Backend]*rig.Proxy{}}
	settings := further
	v.others = []devstack.Backend{devstack.Postgres, devstack.Redis}
	if r.Replicated() {
		v.others = v.others[:1] // a proxy cannot be before Redis under Sentinels
	}
	for _, b := range append([]devstack.Backend{devstack.Elasticsearch}, v.others...) {
		v.ways[b] = r.Proxy(b)
		settings = append(settings, v.ways[b].Settings...)
	}
	none := func(pgx.Rows) error { return nil }
	for _, role := range []string{"atlas_app", "atlas_system"} {
		own := fmt.Sprintf("%s_%d", role, n)
		rig.Check(t, r.Rows(t.Context(), none, fmt.Sprintf("CREATE ROLE %s LOGIN IN ROLE %s", own, role)))
		v.roles = append(v.roles, own)
		for i, s := range settings {
			name, address, _ := strings.Cut(s, "=")
			if u, err := url.Parse(address); err == nil && u.User != nil && u.User.Username() == role {
				u.User = url.User(own)
				settings[i] = name + "=" + u.String()
			}
		}
	}
	v.Server = r.Serve(settings...)
	return v
}

// current is the process that is serving, or the last one that did.
func (v *target) current() *life {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.life
}

// die kills the process. It returns when nothing that the process sent can have an
// effect any more: it has no connection to Postgres.
func (v *target) die(ctx context.Context) error {
	v.lock.Lock()
	own := v.life
	own.killed = true
	v.lock.Unlock()
	if err := v.Kill(); err != nil {
		return err
	}
	err := rig.Until(quietWithin, "Postgres has closed the connections of the killed server", func() error {
		return v.none(ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename = ANY($1)")
	})
	close(own.over)
	return err
}

func (v *target) none(ctx context.Context, sql string, further ...any) error {
	n, err := v.rig.Number(ctx, sql, append([]any{v.roles}, further...)...)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d are open", n)
	}
	return err
}

// rise starts the server again and waits until it is ready.
func (v *target) rise() error {
	v.lock.Lock()
	v.life = &life{over: make(chan struct{})}
	v.lock.Unlock()
	return errors.Join(v.Launch(), v.Ready(quietWithin))
}

// outlived waits until a lost request that was sent during the life own can no longer
// have an effect.
func (v *target) outlived(ctx context.Context, own *life) error {
	limit, cancel := context.WithTimeout(ctx, quietWithin)
	defer cancel()
	for {
		select {
		case <-own.over:
		case <-limit.Done():
			return errors.New("an answer was lost, and the server was not killed")
		}
		// The next process, at the same address, may have received it.
		next := v.current()
		v.lock.Lock()
		met := next.killed
		v.lock.Unlock()
		if next == own || !met {
			return nil
		}
		own = next
	}
}

// finished waits until a write that was answered with 503 can no longer have an effect:
// every transaction of the server that had begun by then has ended. Postgres may still
// be executing a commit whose answer was lost. Transactions are identified by process
// and start, because the clock of Postgres jumps.
func (v *target) finished(ctx context.Context) error {
	var underWay []string
	const transaction = `pid::text || ' ' || xact_start::text`
	if err := v.rig.Rows(ctx, func(rows pgx.Rows) error {
		var one string
		err := rows.Scan(&one)
		underWay = append(underWay, one)
		return err
	}, "SELECT "+transaction+" FROM pg_stat_activity WHERE usename = ANY($1) AND xact_start IS NOT NULL", v.roles); err != nil {
		return err
	}
	return rig.Until(quietWithin, "Postgres has ended the server's transactions", func() error {
		return v.none(ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename = ANY($1) AND "+transaction+" = ANY($2)", underWay)
	})
}

// untilListening returns when the server can answer again, or is being started.
func (v *target) untilListening(ctx context.Context) error {
	return rig.Until(quietWithin, "the server listens again", func() error {
		if ctx.Err() != nil {
			return rig.ErrNeverHolds
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.Address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// refused reports whether no connection was made, so that nothing was sent.
func refused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
