package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tableCopy is a copy in a table. Everything uses one connection, which holds the lock:
// without the connection the lock is lost, and nothing can be written any more.
type tableCopy struct {
	conn *pgx.Conn
	// sql replaces the names of the tables in a statement.
	sql *strings.Replacer
}

// lockWait is how long the session of a killed process may hold its lock.
const lockWait = "3s"

func openTable(ctx context.Context, url, table string, state *followState) (_ *tableCopy, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("--postgres (ATLAS_FOLLOW_POSTGRES_URL) is not a Postgres URL") // the cause contains the password
	}
	config.RuntimeParams["application_name"] = "atlas follow"
	quoted := func(suffix string) string {
		return pgx.Identifier(strings.Split(table+suffix, ".")).Sanitize()
	}
	c := &tableCopy{sql: strings.NewReplacer("{copy}", quoted(""), "{state}", quoted("_follow"), "{staged}", quoted("_staged"))}
	if c.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS {copy} (id uuid PRIMARY KEY, record jsonb NOT NULL, updated_at timestamptz NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS {state} (one bool PRIMARY KEY DEFAULT true CHECK (one), state text NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS {staged} (id uuid PRIMARY KEY, record jsonb NOT NULL)`,
		`SET lock_timeout = '` + lockWait + `'`,
	} {
		if _, err := c.exec(ctx, c.conn, statement); err != nil {
			return nil, err
		}
	}
	const lockSpace = 0x61746c66 << 32 // "atlf", and the table's number
	var oid uint32
	if err := c.conn.QueryRow(ctx, `SELECT $1::regclass::oid`, quoted("")).Scan(&oid); err != nil {
		return nil, err
	}
	_, err = c.conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockSpace+int64(oid))
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "55P03" {
		return nil, fmt.Errorf("another atlas follow writes the table %s", table)
	} else if err != nil {
		return nil, err
	}
	if _, err := c.conn.Exec(ctx, `RESET lock_timeout`); err != nil { // writes wait for others' row locks
		return nil, err
	}
	var raw []byte
	err = c.conn.QueryRow(ctx, c.sql.Replace(`SELECT state FROM {state}`)).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		err = c.conn.QueryRow(ctx, c.sql.Replace(`SELECT EXISTS (SELECT FROM {copy})`)).Scan(&state.Foreign)
		return c, err
	}
	if err == nil {
		err = json.Unmarshal(raw, state)
	}
	return c, err
}

func (c *tableCopy) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.conn.Close(ctx)
}

// executor is a connection or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func (c *tableCopy) exec(ctx context.Context, on executor, statement string, args ...any) (int64, error) {
	tag, err := on.Exec(ctx, c.sql.Replace(statement), args...)
	return tag.RowsAffected(), err
}

// storeState runs statements and stores the state in one transaction.
func (c *tableCopy) storeState(ctx context.Context, next *followState, do func(tx pgx.Tx) error) error {
	raw, err := next.encode()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c.conn, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		_, err := c.exec(ctx, tx, `INSERT INTO {state} (state) VALUES ($1) ON CONFLICT (one) DO UPDATE SET state = excluded.state`, string(raw))
		return err
	})
}

// given is the changed records of $1 and $2.
const given = `(SELECT id, record::jsonb FROM unnest($1::uuid[], $2::text[]) AS given(id, record)) AS given`

// upsert does not touch rows that do not change.
const upsert = `INSERT INTO {copy} AS c SELECT id, record, now() FROM %s
	ON CONFLICT (id) DO UPDATE SET record = excluded.record, updated_at = excluded.updated_at WHERE c.record IS DISTINCT FROM excluded.record`

func (c *tableCopy) write(ctx context.Context, changes []change, next *followState) error {
	ids, records, gone := []recordID{}, []string{}, []recordID{}
	for _, change := range changes {
		if change.record == nil {
			gone = append(gone, change.id)
			continue
		}
		ids, records = append(ids, change.id), append(records, string(change.record))
	}
	return c.storeState(ctx, next, func(tx pgx.Tx) error {
		if next.Phase == followingOn {
			if _, err := c.exec(ctx, tx, `DELETE FROM {copy} WHERE id = ANY($1)`, gone); err != nil {
				return err
			}
			_, err := c.exec(ctx, tx, fmt.Sprintf(upsert, given), ids, records)
			return err
		}
		if next.Rows == 0 {
			if _, err := c.exec(ctx, tx, `TRUNCATE {staged}`); err != nil {
				return err
			}
		}
		_, err := c.exec(
			ctx, tx,
			`INSERT INTO {staged} SELECT * FROM `+given+` ON CONFLICT (id) DO UPDATE SET record = excluded.record`,
			ids, records,
		)
		return err
	})
}

func (c *tableCopy) settle(ctx context.Context, next *followState) error {
	return c.storeState(ctx, next, func(tx pgx.Tx) error {
		for _, statement := range []string{
			`DELETE FROM {copy} AS c WHERE NOT EXISTS (SELECT FROM {staged} AS s WHERE s.id = c.id)`,
			fmt.Sprintf(upsert, `{staged} WHERE true`), // without WHERE, ON would belong to a join
			`TRUNCATE {staged}`,
		} {
			if _, err := c.exec(ctx, tx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *tableCopy) digests(ctx context.Context) (map[recordID]digest, error) {
	rows, err := c.conn.Query(ctx, c.sql.Replace(`SELECT id, record::text FROM {copy}`))
	if err != nil {
		return nil, err
	}
	all := map[recordID]digest{}
	var id recordID
	var record []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &record}, func() (err error) {
		all[id], err = digestOf(record)
		return err
	})
	return all, err
}
