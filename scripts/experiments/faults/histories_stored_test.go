//go:build faults

package faults

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// storedRecords reads the records of a workspace from Postgres, by id. Records without
// data are left out.
func storedRecords(ctx context.Context, r *rig.Rig, in string, d catalog.Dataset, records []string) (map[string]history.Stored, error) {
	all := map[string]history.Stored{}
	take := func(rows pgx.Rows) error {
		var id, views string
		var o history.Overlay
		err := rows.Scan(&id, &o.In, &o.Status, &o.Notes, &o.Tags, &o.Tier, &views)
		all[id] = history.Stored{Overlay: o, Views: history.List(strings.Fields(views))}
		return err
	}
	return all, r.Rows(ctx, take, `
		SELECT r.id::text, o.record_id IS NOT NULL, coalesce(o.workspace_status, ''), coalesce(o.notes, ''), coalesce(array_to_string(o.tags, ','), ''), coalesce(o.icp_tier, ''),
		       coalesce((SELECT string_agg(v.view_id::text, ' ') FROM view_records v WHERE v.workspace_id = $1 AND v.dataset = $2 AND v.record_id = r.id), '')
		FROM unnest($3::uuid[]) r (id) LEFT JOIN overlays o ON o.workspace_id = $1 AND o.dataset = $2 AND o.record_id = r.id`, in, string(d), records)
}

// storedView is a Static View in Postgres.
type storedView struct {
	id      string
	dataset catalog.Dataset
	view    history.View
}

// storedViews reads the Static Views of a workspace with a name or id; all of them if
// it is "".
func storedViews(ctx context.Context, r *rig.Rig, in, only string) (all []storedView, err error) {
	take := func(rows pgx.Rows) error {
		v := storedView{view: history.View{There: true}}
		err := rows.Scan(&v.id, &v.dataset, &v.view.Name, &v.view.Revision, &v.view.Records)
		v.view.Records = history.List(strings.Fields(v.view.Records))
		all = append(all, v)
		return err
	}
	return all, r.Rows(ctx, take, `
		SELECT v.id::text, v.dataset, v.name, v.revision, coalesce((SELECT string_agg(m.record_id::text, ' ') FROM view_records m WHERE m.workspace_id = v.workspace_id AND m.view_id = v.id), '')
		FROM views v WHERE v.workspace_id = $1 AND v.view_type = 'static' AND ($2 = '' OR v.name = $2 OR v.id::text = $2)`, in, only)
}

// storedFavorites reads a user's Favorites.
func storedFavorites(ctx context.Context, r *rig.Rig, in, user string) (order string, err error) {
	err = r.Rows(ctx, func(rows pgx.Rows) error { return rows.Scan(&order) },
		"SELECT coalesce(string_agg(view_id::text, ' ' ORDER BY position, view_id), '') FROM favorites WHERE workspace_id = $1 AND user_id = $2", in, user)
	return order, err
}
