package peers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/peers"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

// Postgres and Elasticsearch by hand, which share no code, find the same records.
func TestPeersAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, err := generate.Generate(t.Context(), generate.Options{Records: 2_000, Seed: 1, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	elasticsearch, postgres := newElasticsearch(t), newPostgres(t)
	if err := errors.Join(elasticsearch.Load(t.Context(), dir), postgres.Load(t.Context(), dir)); err != nil {
		t.Fatal(err)
	}
	from, err := peers.ReadProjects(dir, made.Records.Projects, 100)
	if err != nil {
		t.Fatal(err)
	}
	questions := peers.Pages(peers.Offset, 400, 3)
	for _, task := range []peers.Task{peers.Text, peers.Filter, peers.Related, peers.Facets} {
		drawn := peers.Draw(task, from, 10, 1)
		if len(drawn) != 10 || !slices.Equal(drawn, peers.Draw(task, from, 10, 1)) {
			t.Errorf("%s: drawn are %v", task, drawn)
		}
		questions = append(questions, drawn...)
	}
	found := 0
	for _, q := range questions {
		e, p := answer(t, elasticsearch.Call, q), answer(t, postgres.Call, q)
		found += len(e.IDs) + len(e.Facets)
		if q.Task != peers.Facets && e.Total != p.Total {
			t.Errorf("%+v: Elasticsearch finds %d, Postgres %d", q, e.Total, p.Total)
		}
		if q.Task != peers.Text && q.Task != peers.Related && !slices.Equal(e.IDs, p.IDs) {
			t.Errorf("%+v: Elasticsearch answers %v, Postgres %v", q, e.IDs, p.IDs)
		}
		if !maps.EqualFunc(e.Facets, p.Facets, maps.Equal) {
			t.Errorf("%+v: Elasticsearch counts %v, Postgres %v", q, e.Facets, p.Facets)
		}
		if q.Task == peers.Offset {
			q.Task = peers.Cursor
			if c := answer(t, postgres.Call, q); !slices.Equal(c.IDs, p.IDs) {
				t.Errorf("%+v: by cursor %v, by offset %v", q, c.IDs, p.IDs)
			}
		}
	}
	if found < len(questions)*5 {
		t.Errorf("%d questions find %d records", len(questions), found)
	}
	if _, err := elasticsearch.Call(t.Context(), peers.Question{Task: peers.Offset, Row: 10_000}); !errors.Is(err, peers.ErrCannot) {
		t.Errorf("a row beyond the result window: %v", err)
	}
}

func answer(t *testing.T, call func(context.Context, peers.Question) (peers.Call, error), q peers.Question) peers.Answer {
	t.Helper()
	c, err := call(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	raw, err := c.Send(t.Context(), nil)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	a, err := c.Read(raw)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return a
}

func newElasticsearch(t *testing.T) *peers.Elasticsearch {
	t.Helper()
	u, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	e := &peers.Elasticsearch{URL: u, Client: load.NewClient(2), Prefix: fmt.Sprintf("peers-test-%x-", rand.Uint64())}
	t.Cleanup(func() {
		if err := e.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		e.Client.CloseIdleConnections()
	})
	return e
}

func newPostgres(t *testing.T) peers.Postgres {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t).Admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return peers.Postgres{Pool: pool}
}
