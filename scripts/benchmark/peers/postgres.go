package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// Postgres is a table for each dataset: the record as JSON, a column for each field
// that Atlas filters or sorts by, the words of the fields that `query` searches, and
// a table for each relation by a list. Fields that a load of Atlas derives, and text
// filters of single fields, are left out.
type Postgres struct{ *pgxpool.Pool }

// PostgresSettings are those of a server with memory for the data; they need a
// restart.
var PostgresSettings = []string{
	"shared_buffers = '1GB'", "effective_cache_size = '4GB'", "work_mem = '64MB'", "maintenance_work_mem = '512MB'",
	"random_page_cost = 1.1", "max_wal_size = '4GB'", "wal_compression = on", "jit = off",
	// The number of matches differs much between the values of a filter, so each
	// request gets a plan of its own.
	"plan_cache_mode = force_custom_plan",
}

// postgresFolding makes words equal that differ in case and accents only, and separates them
// at everything that is neither letter nor digit. Without that, Postgres treats a path, a
// host or a number with a sign as one word.
const postgresFolding = `
CREATE EXTENSION unaccent;
CREATE TEXT SEARCH CONFIGURATION folded (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION folded ALTER MAPPING FOR asciiword, word, numword WITH unaccent, simple;
CREATE FUNCTION plain(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT regexp_replace(coalesce($1, ''), '[^[:alnum:]]+', ' ', 'g') $$`

// forMeasured are the best indices for the questions about projects, in addition to
// those of single columns.
const forMeasured = `
CREATE INDEX ON projects (stage, primary_use, cost DESC NULLS LAST, id);
CREATE INDEX ON projects (cost) INCLUDE (stage, primary_use, city)`

// table is the table of a dataset.
type table struct {
	dataset catalog.Dataset
	columns []catalog.Field
	links   []catalog.Relation // by a list of the record
	create  string
	indices []string
}

func tableOf(d catalog.Dataset) table {
	t := table{dataset: d}
	columns := []string{"id uuid NOT NULL", "record json NOT NULL"}
	var words []string
	index := func(of string) { t.indices = append(t.indices, fmt.Sprintf("CREATE INDEX ON %s %s", d, of)) }
	for _, f := range catalog.Fields(d) {
		if f.Query {
			weight := "D"
			if f.Headline {
				weight = "A"
			}
			words = append(words, fmt.Sprintf("setweight(to_tsvector('folded', plain(record->>'%s')), '%s')", f.Name, weight))
		}
		if f.Name == "id" || f.Derive != nil || f.Type == catalog.UUIDs || f.Kind == catalog.Plain && !f.Sort ||
			f.Kind == catalog.FullText && !f.Sort && !f.IsID() {
			continue
		}
		t.columns = append(t.columns, f)
		columns = append(columns, f.Name+" "+postgresType(f))
		switch {
		case f.List():
			index("USING gin (" + f.Name + ")")
		case f.Sort:
			index("(" + f.Name + " ASC NULLS LAST, id)")
			index("(" + f.Name + " DESC NULLS LAST, id)")
		default:
			index("(" + f.Name + ", id)")
		}
	}
	columns = append(columns, "words tsvector NOT NULL GENERATED ALWAYS AS ("+strings.Join(words, " || ")+") STORED")
	index("USING gin (words)")
	t.create = fmt.Sprintf("CREATE TABLE %s (%s)", d, strings.Join(columns, ", "))
	t.indices = append([]string{fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (id)", d)}, t.indices...)
	for _, r := range catalog.Relations {
		if f, _ := catalog.FieldNamed(r.Child, r.Link); r.Child == d && f.List() {
			t.links = append(t.links, r)
			t.create += fmt.Sprintf("; CREATE TABLE %s (parent uuid NOT NULL, child uuid NOT NULL)", linkTable(r))
			t.indices = append(
				t.indices, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (parent, child)", linkTable(r)),
				fmt.Sprintf("CREATE INDEX ON %s (child, parent)", linkTable(r)),
			)
		}
	}
	return t
}

func linkTable(r catalog.Relation) string { return string(r.Parent) + "_" + string(r.Child) }

// postgresType of a column. Texts that are sorted by are stored folded, in the order
// of their bytes, as Atlas sorts them.
func postgresType(f catalog.Field) string {
	switch {
	case f.List():
		return "text[]"
	case f.Type == catalog.Integer:
		return "bigint"
	case f.Type == catalog.Double:
		return "double precision"
	case f.Type == catalog.Time:
		return "timestamptz"
	case f.Type == catalog.UUID:
		return "uuid"
	default:
		return `text COLLATE "C"`
	}
}

// loaders is how many tables are filled and indexed at the same time.
const loaders = 2

// Load empties the database and fills it with the records of the folder: COPY, then
// indices, then VACUUM ANALYZE.
func (p Postgres) Load(ctx context.Context, dir string) error {
	if _, err := p.Exec(ctx, "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		return err
	}
	if _, err := p.Exec(ctx, postgresFolding); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	for _, d := range catalog.Datasets {
		t := tableOf(d)
		group.Go(func() error { return p.fill(ctx, dir, t) })
	}
	return group.Wait()
}

func (p Postgres) fill(ctx context.Context, dir string, t table) error {
	if _, err := p.Exec(ctx, t.create); err != nil {
		return err
	}
	links, err := p.copyRecords(ctx, dir, t)
	if err != nil {
		return err
	}
	for r, rows := range links {
		if _, err := p.CopyFrom(ctx, pgx.Identifier{linkTable(r)}, []string{"parent", "child"}, pgx.CopyFromRows(rows)); err != nil {
			return err
		}
	}
	statements := t.indices
	if t.dataset == catalog.Projects {
		statements = append(statements, strings.Split(forMeasured, ";")...)
	}
	statements = append(statements, "VACUUM ANALYZE "+string(t.dataset))
	for r := range links {
		statements = append(statements, "VACUUM ANALYZE "+linkTable(r))
	}
	for _, sql := range statements {
		if _, err := p.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// copyRecords copies the records and returns the rows of the relations' tables.
func (p Postgres) copyRecords(ctx context.Context, dir string, t table) (links map[catalog.Relation][][]any, err error) {
	names := []string{"id", "record"}
	for _, f := range t.columns {
		names = append(names, f.Name)
	}
	links = map[catalog.Relation][][]any{}
	rows := make(chan []any, 1000)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(rows)
		return ndjson.EachLine(dir, string(t.dataset), func(_ int64, line []byte) error {
			row, err := t.row(line, links)
			select {
			case rows <- row:
			case <-ctx.Done():
				err = errors.Join(err, ctx.Err())
			}
			return err
		})
	})
	group.Go(func() error {
		_, err := p.CopyFrom(ctx, pgx.Identifier{string(t.dataset)}, names, pgx.CopyFromFunc(func() ([]any, error) { return <-rows, nil }))
		return err
	})
	return links, group.Wait()
}

// row returns the values of a record's row, and adds those of its relations.
func (t table) row(line []byte, links map[catalog.Relation][][]any) ([]any, error) {
	var record map[string]any
	if err := json.Unmarshal(line, &record); err != nil {
		return nil, err
	}
	row := []any{record["id"], string(line)}
	for _, f := range t.columns {
		value := record[f.Name]
		switch v := value.(type) {
		case float64:
			if f.Type == catalog.Integer {
				value = int64(v)
			}
		case string:
			switch {
			case f.Type == catalog.Time:
				at, err := time.Parse(time.RFC3339Nano, v)
				if err != nil {
					return nil, err
				}
				value = at
			case f.Type == catalog.String && f.Sort:
				value = catalog.Fold(v)
			}
		}
		row = append(row, value)
	}
	for _, r := range t.links {
		parents, _ := record[r.Link].([]any) // null and missing are no parents
		for i, parent := range parents {
			if !slices.Contains(parents[:i], parent) {
				links[r] = append(links[r], []any{parent, record["id"]})
			}
		}
	}
	return row, nil
}

// Bytes is the size of all tables and indices.
func (p Postgres) Bytes(ctx context.Context) (n int64, err error) {
	err = p.QueryRow(ctx, `SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`).Scan(&n)
	return n, err
}
