package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"
)

// pair are the servers of Postgres. The first one is the primary at the start.
var pair = [2]string{"postgres-1", "postgres-2"}

// startPostgres starts a primary and a synchronous standby.
func (c *Cluster) startPostgres(ctx context.Context) (err error) {
	data := c.postgresData(pair[0])
	home, err := c.machine.home(pair[0])
	if err != nil {
		return err
	}
	if c.postgresBin, err = c.machine.postgresBinaries(ctx, data); err != nil {
		return err
	}
	if err := c.machine.initPostgres(ctx, c.postgresBin, home, data); err != nil {
		return err
	}
	for _, member := range pair {
		c.starts[member] = func(ctx context.Context) (int, error) {
			return c.machine.servePostgres(
				ctx,
				member,
				c.postgresBin,
				c.postgresData(member),
				[]string{"wal_level=replica", "wal_keep_size=256MB"},
				postgresURL,
			)
		}
	}
	if err := c.start(ctx, pair[0]); err != nil {
		return err
	}
	if err := c.Rejoin(ctx, pair[1]); err != nil {
		return err
	}
	c.PostgresURL = "postgres://" + postgresAdmin + "@" + loopback(c.port(pair[0])) + "," + loopback(c.port(pair[1])) +
		"/postgres?sslmode=disable&target_session_attrs=read-write"
	return nil
}

func (c *Cluster) postgresData(member string) string {
	return filepath.Join(c.machine.data, member, "data")
}

// Primary is the server of Postgres that accepts writes.
func (c *Cluster) Primary(ctx context.Context) (member string, err error) {
	for _, member := range pair {
		if !c.runs(member) {
			continue
		}
		standby, err := ask[bool](ctx, c, member, "SELECT pg_is_in_recovery()")
		if err == nil && !standby {
			return member, nil
		}
	}
	return "", errors.New("devstack: no server of Postgres is a primary")
}

// Promote makes the standby of Postgres the primary, and returns when it accepts
// writes. It refuses while the other server runs: two primaries would each accept
// writes that the other does not have. The new one waits for no standby until Rejoin.
func (c *Cluster) Promote(ctx context.Context) error {
	for i, member := range pair {
		if !c.runs(member) {
			continue
		}
		if c.runs(pair[1-i]) {
			return errors.New("devstack: both servers of Postgres run: end the primary first")
		}
		promoted, err := ask[bool](ctx, c, member, "SELECT pg_promote(true, 60)")
		if err == nil && !promoted {
			err = errors.New("devstack: the standby is not promoted after 60 s")
		}
		return err
	}
	return errors.New("devstack: no server of Postgres runs")
}

// Rejoin makes a stopped Postgres server a synchronous standby of the other one. Its data
// is replaced by a copy. From then on the primary acknowledges a commit when it is on the
// standby's disk too.
func (c *Cluster) Rejoin(ctx context.Context, member string) error {
	primary := pair[0]
	if member == primary {
		primary = pair[1]
	}
	if !slices.Contains(pair[:], member) {
		return fmt.Errorf("devstack: %s is no server of Postgres", member)
	}
	if c.runs(member) {
		return fmt.Errorf("devstack: %s runs", member)
	}
	home, err := c.machine.home(member)
	if err != nil {
		return err
	}
	data := c.postgresData(member)
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	// -R writes standby.signal and primary_conninfo.
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=%s application_name=%s", c.port(primary), postgresAdmin, member)
	copying := exec.CommandContext(
		ctx, filepath.Join(c.postgresBin, "pg_basebackup"), "-D", data, "-d", source, "-R", "-X", "stream", "-c",
		"fast",
	) // #nosec G204 -- a program of this machine, with arguments of this one
	c.machine.confine(copying, home)
	if out, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	before := c.machine.latest(member)
	if err := c.start(ctx, member); err != nil {
		return err
	}
	if before != nil {
		if err := samePlace(member, before.record.Port, c.port(member)); err != nil {
			return err
		}
	}
	replication := func(column, want string) error {
		return await(ctx, member+" does not replicate", func(ctx context.Context) error {
			got, err := ask[string](
				ctx,
				c,
				primary,
				"SELECT coalesce(min("+column+"), 'none') FROM pg_stat_replication WHERE application_name = '"+member+"'",
			)
			if err == nil && got != want {
				err = fmt.Errorf("%s is %s", column, got)
			}
			return err
		})
	}
	// Only now: before, commits would wait for a missing standby.
	if err := replication("state", "streaming"); err != nil {
		return err
	}
	if _, err := ask[bool](
		ctx, c, primary, `ALTER SYSTEM SET synchronous_standby_names = '"`+member+`"'`, "SELECT pg_reload_conf()",
	); err != nil {
		return err
	}
	return replication("sync_state", "sync")
}

// ask executes statements on one server of Postgres and returns the result of the last.
func ask[T any](ctx context.Context, c *Cluster, member string, statements ...string) (v T, err error) {
	conn, err := pgx.Connect(ctx, postgresURL(c.port(member)))
	if err != nil {
		return v, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	last := len(statements) - 1
	for _, s := range statements[:last] {
		if _, err := conn.Exec(ctx, s); err != nil {
			return v, fmt.Errorf("%s: %w", member, err)
		}
	}
	if err := conn.QueryRow(ctx, statements[last]).Scan(&v); err != nil {
		return v, fmt.Errorf("%s: %w", member, err)
	}
	return v, nil
}
