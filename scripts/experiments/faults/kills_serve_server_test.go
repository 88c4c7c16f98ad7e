//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/scripts/experiments/rig"
)

// quietWithin bounds the wait for Postgres to have done with what a killed
// server had sent.
const quietWithin = time.Minute

// victim is a server that is killed and started again. It has roles of its own
// in Postgres, so that its connections can be told from the other's.
type victim struct {
	*rig.Server
	rig   *rig.Rig
	roles []string

	lock sync.Mutex
	life *life
}

// life is one process of a server.
type life struct {
	killed bool
	over   chan struct{} // closed when Postgres has done with it
}

func newVictim(t *testing.T, r *rig.Rig, n int) *victim {
	t.Helper()
	v := &victim{rig: r, life: &life{over: make(chan struct{})}}
	var settings []string
	for role, variable := range map[string]string{"atlas_app": "ATLAS_POSTGRES_URL", "atlas_system": "ATLAS_POSTGRES_SYSTEM_URL"} {
		own := fmt.Sprintf("%s_%d", role, n)
		none := func(pgx.Rows) error { return nil }
		if err := r.Rows(t.Context(), none, fmt.Sprintf("CREATE ROLE %s LOGIN IN ROLE %s", own, role)); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(r.Postgres)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(own)
		v.roles, settings = append(v.roles, own), append(settings, variable+"="+u.String())
	}
	v.Server = r.Serve(append(settings, rig.PatientRedis)...)
	return v
}

// current is the process that serves, or served last.
func (v *victim) current() *life {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.life
}

// die kills the process, and returns when nothing that it sent can take effect
// any more: Postgres has no connection of it.
func (v *victim) die(ctx context.Context) error {
	v.lock.Lock()
	own := v.life
	own.killed = true
	v.lock.Unlock()
	if err := v.Kill(); err != nil {
		return err
	}
	err := rig.Until(quietWithin, "Postgres has closed the connections of the killed server", func() error {
		n, err := v.rig.Number(ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename = ANY($1)", v.roles)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d are open", n)
		}
		return err
	})
	close(own.over)
	return err
}

// rise starts the server again and waits until it is ready.
func (v *victim) rise() error {
	v.lock.Lock()
	v.life = &life{over: make(chan struct{})}
	v.lock.Unlock()
	return errors.Join(v.Launch(), v.Ready(quietWithin))
}

// outlived waits until nothing can come any more of a request that was lost, and
// that was sent when own was the current life.
func (v *victim) outlived(ctx context.Context, own *life) error {
	limit, cancel := context.WithTimeout(ctx, quietWithin)
	defer cancel()
	for {
		select {
		case <-own.over:
		case <-limit.Done():
			return errors.New("an answer was lost, and the server was not killed")
		}
		// It may have met the next process, at the same address.
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
