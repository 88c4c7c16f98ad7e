package rig

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"atlas/internal/devstack"
)

// Connections returns the number of connections that a backend itself counts, from
// all its clients.
func (r *Rig) Connections(ctx context.Context, b devstack.Backend) (n int64, err error) {
	switch b {
	case devstack.Elasticsearch:
		var stats struct {
			Nodes map[string]struct {
				HTTP struct {
					Open int64 `json:"current_open"`
				}
			}
		}
		err = r.Ask(ctx, "GET", "/_nodes/stats/http", "", &stats)
		for _, node := range stats.Nodes {
			n += node.HTTP.Open
		}
		return n - 1, err // this one
	case devstack.Postgres:
		err = r.Rows(ctx, func(rows pgx.Rows) error { return rows.Scan(&n) },
			"SELECT count(*) FROM pg_stat_activity WHERE usename IN ('atlas_app', 'atlas_system')")
		return n, err
	case devstack.Redis:
		client, err := r.redis()
		if err != nil {
			return 0, err
		}
		defer client.Close()
		list, err := client.ClientList(ctx).Result()
		return int64(strings.Count(list, "\n")) - 1, err // this one
	}
	return 0, errors.New("no such backend")
}
