//go:build faults

package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/scripts/experiments/rig"
)

// state is what a workspace has, by key; what is not there is "". The keys are
// those of overlayKey, memberKey, viewKey and favoritesKey.
type state map[string]string

func overlayKey(dataset, record string) string { return "overlay/" + dataset + "/" + record }
func memberKey(view, record string) string     { return "member/" + view + "/" + record }
func favoritesKey(user string) string          { return "favorites/" + user }

// viewKey is of a View by what its name begins with, which tells it from all
// others: the id of one whose creation was not answered is not known.
func viewKey(slot string) string { return "view/" + slot }

// overlay is what is said of a record. Each part tells the write that it is
// from, so that halves of two writes show.
type overlay struct{ status, notes, tags, tier string }

func (o overlay) String() string {
	return strings.Join([]string{o.status, o.notes, o.tags, o.tier}, "|")
}

func overlayOf(value string) (o overlay) {
	if parts := strings.Split(value, "|"); len(parts) == 4 {
		o = overlay{parts[0], parts[1], parts[2], parts[3]}
	}
	return o
}

// stored reads what Postgres has of a workspace: all of it, under the keys of a
// state.
func stored(ctx context.Context, r *rig.Rig, workspace string) (state, error) {
	all := state{}
	take := func(rows pgx.Rows) error {
		var key, value string
		err := rows.Scan(&key, &value)
		all[key] = value
		return err
	}
	err := r.Rows(ctx, take, `
		SELECT 'overlay/' || dataset || '/' || record_id, concat_ws('|', coalesce(workspace_status, ''), coalesce(notes, ''), array_to_string(tags, ','), coalesce(icp_tier, ''))
		FROM overlays WHERE workspace_id = $1
		UNION ALL SELECT 'member/' || view_id || '/' || record_id, 'in' FROM view_records WHERE workspace_id = $1
		UNION ALL SELECT 'view/' || split_part(name, ' ', 1), name FROM views WHERE workspace_id = $1 AND name LIKE 'slot-%'
		UNION ALL SELECT 'favorites/' || user_id, string_agg(view_id::text, ',' ORDER BY position, view_id) FROM favorites WHERE workspace_id = $1 GROUP BY user_id`, workspace)
	return all, err
}

// write is one request that was sent: what it was to make of which keys, and
// what became of it.
type write struct {
	to           map[string]string
	began, ended time.Time // ended: nothing of it can come later
	acknowledged bool
}

// history is the writes of several clients to the same keys.
type history struct {
	lock   sync.Mutex
	writes []write
}

func (h *history) add(w write) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.writes = append(h.writes, w)
}

// explains tells whether a key may have a value after all writes: one of them
// made it, and no acknowledged one began after that had ended.
func (h *history) explains(key, value string) error {
	newest := time.Time{} // of the beginnings of acknowledged writes
	for _, w := range h.writes {
		if _, about := w.to[key]; about && w.acknowledged && w.began.After(newest) {
			newest = w.began
		}
	}
	if value == "" && newest.IsZero() {
		return nil // as it was
	}
	for _, w := range h.writes {
		if to, about := w.to[key]; about && to == value && !w.ended.Before(newest) {
			return nil
		}
	}
	return fmt.Errorf("%s is %q, which no write explains", key, value)
}
