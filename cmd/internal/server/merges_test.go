package server

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// noRecords has no global records.
type noRecords struct{}

func (noRecords) Lookup(context.Context, catalog.Dataset, []string) (map[string]jsontext.Value, error) {
	return nil, nil
}

// However many merges are due, a server soon returns to its other work.
func TestManyMerges(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	store, system := d.OpenApp(t, postgres.Options{}), d.OpenSystem(t, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), d.System)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), `
		INSERT INTO data_merge_moves (dataset, record_id, published_at, due_at)
		SELECT 'accounts', gen_random_uuid(), now(), now() FROM generate_series(1, 2 * $1)`, movesAtOnce)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{movesAtOnce, 0} {
		if err := moveMerged(t.Context(), noRecords{}, store, system, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
		if due, err := system.MergeMoves(t.Context(), 3*movesAtOnce); err != nil || len(due) != want {
			t.Errorf("%d are due, %v, want %d", len(due), err, want)
		}
	}
}
