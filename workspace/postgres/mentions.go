package postgres

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
)

// The data of a person in Postgres: for an operator who must report it or has erased it.

// Mention is a column with rows that have a value.
type Mention struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	Rows   int64  `json:"rows"`
}

// Mentions lists the columns with one of the values in some row, in any case, as text or as
// its bytes. It reads all tables. It cannot see compressed or encrypted values.
func (s *System) Mentions(ctx context.Context, values []string) (found []Mention, err error) {
	tables, err := collect(ctx, s, pgx.RowTo[string],
		`SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		err := s.inLong(ctx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `
				SELECT e.key, count(*) FROM `+pgx.Identifier{table}.Sanitize()+` t, jsonb_each_text(to_jsonb(t)) e
				WHERE EXISTS (SELECT FROM unnest($1::text[]) v WHERE position(lower(v) IN lower(e.value)) > 0
					OR position(encode(convert_to(v, 'UTF8'), 'hex') IN e.value) > 0)
				GROUP BY e.key ORDER BY e.key`, values)
			if err != nil {
				return err
			}
			of, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Mention, err error) {
				m.Table = table
				return m, row.Scan(&m.Column, &m.Rows)
			})
			found = append(found, of...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// personalTables have the data of workspaces on a record, by its id.
var personalTables = []string{"overlays", "merged_overlays", "view_records", "held_records"}

// RowsOf returns the rows of each table with data of workspaces on a record, as JSON
// objects.
func (s *System) RowsOf(ctx context.Context, d catalog.Dataset, record uuid.UUID) (map[string][]json.RawMessage, error) {
	all := map[string][]json.RawMessage{}
	for _, table := range personalTables {
		rows, err := collect(ctx, s, pgx.RowTo[json.RawMessage],
			`SELECT to_jsonb(t) FROM `+table+` t WHERE dataset = $1 AND record_id = $2`, string(d), record)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			all[table] = rows
		}
	}
	return all, nil
}

// AccountOf returns the rows about an Atlas account with an e-mail address, without
// secrets.
func (s *System) AccountOf(ctx context.Context, email string) (map[string][]json.RawMessage, error) {
	all := map[string][]json.RawMessage{}
	for table, sql := range map[string]string{
		"users":       `SELECT to_jsonb(u) FROM users u WHERE lower(email) = $1`,
		"members":     `SELECT to_jsonb(m) FROM members m JOIN users u ON u.id = m.user_id WHERE lower(u.email) = $1`,
		"invitations": `SELECT to_jsonb(i) - 'seed' - 'secret_hash' FROM invitations i WHERE lower(email) = $1`,
	} {
		rows, err := collect(ctx, s, pgx.RowTo[json.RawMessage], sql, strings.ToLower(strings.TrimSpace(email)))
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			all[table] = rows
		}
	}
	return all, nil
}
