package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"atlas/internal/devstack"
)

// Kill ends a backend with SIGKILL; of a cluster the server that leads.
func (r *Rig) Kill(b devstack.Backend) {
	r.t.Helper()
	r.end(b, r.Stack.Kill, func(member string) error { return r.Cluster.Kill(member) })
}

// Halt stops a backend gracefully, Postgres by a fast shutdown; of a cluster the server
// that leads.
func (r *Rig) Halt(b devstack.Backend) {
	r.t.Helper()
	ctx := r.t.Context()
	r.end(b, func(b devstack.Backend) error { return r.Stack.Halt(ctx, b) }, func(member string) error { return r.Cluster.Halt(ctx, member) })
}

func (r *Rig) end(b devstack.Backend, single func(devstack.Backend) error, one func(member string) error) {
	r.t.Helper()
	if !r.replicated {
		Check(r.t, single(b))
		return
	}
	leader, err := r.leader(r.t.Context(), b)
	Check(r.t, err)
	Check(r.t, one(leader))
	r.fallen[b] = leader
}

// Resume starts a backend again, at its address and on its data, and returns when it
// answers. In a cluster another server takes over, and the ended one becomes its replica.
func (r *Rig) Resume(b devstack.Backend) {
	r.t.Helper()
	if !r.replicated {
		Check(r.t, r.Stack.Resume(r.t.Context(), b))
		return
	}
	Check(r.t, r.takeOver(r.t.Context(), b, r.fallen[b]))
}

// Ask sends a request straight to Elasticsearch, with a body unless it is "",
// and decodes the answer unless into is nil. It asks the first node that can be
// reached. Any goroutine may call it.
func (r *Rig) Ask(ctx context.Context, method, path, body string, into any) error {
	res, err := r.reach(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("elasticsearch: %s %s: %s: %.500s", method, path, res.Status, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// reach sends a request to the first node that accepts a connection.
func (r *Rig) reach(ctx context.Context, method, path, body string) (res *http.Response, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, node := range r.Elasticsearch {
		req, err := http.NewRequestWithContext(ctx, method, node+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err = client.Do(req)
		if refused, ok := errors.AsType[*net.OpError](err); err == nil || !ok || refused.Op != "dial" {
			return res, err
		}
	}
	return nil, errors.New("elasticsearch: no node accepts a connection")
}

// Rows answers a query on Postgres as the administrator, whom row-level security
// does not bind. take scans each row. Any goroutine may call it. It waits while
// Postgres recovers from a crash: a Postgres process may crash under libfaketime.
func (r *Rig) Rows(ctx context.Context, take func(pgx.Rows) error, sql string, args ...any) error {
	return Until(recoversWithin, "Postgres answers", func() error {
		taken := false
		err := r.query(ctx, func(rows pgx.Rows) error {
			taken = true
			return take(rows)
		}, sql, args...)
		var refused *pgconn.PgError
		if err != nil && (taken || ctx.Err() != nil || errors.As(err, &refused) && refused.Code[:2] != "57") {
			return errors.Join(err, ErrNeverHolds)
		}
		return err
	})
}

// recoversWithin limits the wait for a Postgres that recovers from a crash.
const recoversWithin = 30 * time.Second

func (r *Rig) query(ctx context.Context, take func(pgx.Rows) error, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, r.Postgres)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Texts returns the result of a query on Postgres with one text per row.
func (r *Rig) Texts(ctx context.Context, sql string, args ...any) (all []string, err error) {
	err = r.Rows(ctx, func(rows pgx.Rows) error {
		var text string
		err := rows.Scan(&text)
		all = append(all, text)
		return err
	}, sql, args...)
	return all, err
}

// Number returns the result of a query on Postgres that is one number.
func (r *Rig) Number(ctx context.Context, sql string, args ...any) (n int64, err error) {
	err = r.Rows(ctx, func(rows pgx.Rows) error { return rows.Scan(&n) }, sql, args...)
	return n, err
}

// Redis returns a client of Redis, which is closed at the end of the test.
func (r *Rig) Redis() *redis.Client {
	r.t.Helper()
	c, err := r.redis()
	Check(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *Rig) redis() (*redis.Client, error) {
	o, err := redis.ParseURL(r.redisDB)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}

// Settled waits until every held record of every workspace is projected: no row
// is pending in Postgres.
func (r *Rig) Settled(most time.Duration) error {
	return Until(most, "nothing is pending", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var status struct{ Pending int64 }
		if err := r.Print(ctx, &status, "projection", "status"); err != nil {
			return err
		}
		if status.Pending > 0 {
			return fmt.Errorf("%d are", status.Pending)
		}
		return nil
	})
}
