package postgres_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/workspace/postgres/pgtest"
)

// docs/stored.md names each column of each table.
func TestStoredFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/stored.md")
	fatal(t, err)
	named := map[string][]string{}
	column := regexp.MustCompile("`(\\w+)`")
	row := regexp.MustCompile("(?m)^\\| `(\\w+)`(?: \\*\\*P\\*\\*)? \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\|$")
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		for _, c := range column.FindAllStringSubmatch(row[2], -1) {
			named[row[1]] = append(named[row[1]], c[1])
		}
		slices.Sort(named[row[1]])
	}
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).Admin)
	fatal(t, err)
	rows, err := conn.Query(t.Context(), `
		SELECT table_name::text, array_agg(column_name::text) FROM information_schema.columns
		WHERE table_schema = current_schema() GROUP BY table_name`)
	fatal(t, err)
	stored := map[string][]string{}
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		slices.Sort(columns)
		stored[table], columns = columns, nil
		return nil
	})
	fatal(t, err)
	fatal(t, conn.Close(t.Context()))
	if diff := cmp.Diff(stored, named); diff != "" || len(stored) < 30 {
		t.Errorf("stored (-) and documented (+):\n%s", diff)
	}
}
